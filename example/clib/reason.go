package main

/*
#include <stdlib.h>
#include "export.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"log"
	"runtime/debug"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// A refusal is an error of the library, beside those of package program.
type refusal struct {
	code    api.Code
	message string
}

func (e *refusal) Error() string { return e.message }

var (
	errArgument = &refusal{"invalid_argument", "An argument is NULL, or a text that is not UTF-8."}
	errNoLink   = &refusal{"no_link", "No activation in the browser was started."}
	errClosed   = &refusal{program.CodeClosed, program.Status{Code: program.CodeClosed}.Message()}
)

// invalid returns the error for options that cannot be used.
func invalid(message string) error { return &refusal{program.CodeInvalidOption, message} }

// do runs the call of a function. It writes the reason of its error, and contains a panic.
func do(r *C.lk_reason, call func() error) (ok C.int) {
	defer func() {
		if p := recover(); p != nil {
			log.Printf("license: panic: %v\n%s", p, debug.Stack())
			say(r, api.CodeInternal, fmt.Sprint("The license library failed: ", p))
			ok = 0
		}
	}()
	err := call()
	if err == nil {
		return 1
	}
	if e, ok := errors.AsType[*program.Error](err); ok {
		say(r, e.Code, e.Message())
	} else if e, ok := errors.AsType[*refusal](err); ok {
		say(r, e.code, e.message)
	} else {
		say(r, api.CodeInternal, err.Error())
	}
	return 0
}

// answer is do for a call that returns a text, which the caller frees.
func answer(r *C.lk_reason, call func() (string, error)) (text *C.char) {
	do(r, func() error {
		s, err := call()
		if err == nil {
			text = C.CString(s)
		}
		return err
	})
	return text
}

// say writes a code and a message.
func say(r *C.lk_reason, code api.Code, message string) {
	if r != nil {
		put(r.code[:], string(code))
		put(r.message[:], message)
	}
}

// put writes a text into a field of a reason, cut to what fits.
func put(field []C.char, s string) {
	n := min(len(s), len(field)-1)
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	for i := range n {
		field[i] = C.char(s[i])
	}
	field[n] = 0
}

// argument returns a text of the caller.
func argument(p C.lk_in) (string, error) {
	if p == nil {
		return "", errArgument
	}
	s := C.GoString((*C.char)(p))
	if !utf8.ValidString(s) {
		return "", errArgument
	}
	return s, nil
}
