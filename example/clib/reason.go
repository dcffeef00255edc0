package main

import (
	"context"
	"errors"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// A coded error has a code of its own.
type coded struct {
	code    api.Code
	message string
}

func (e *coded) Error() string { return e.message }

var (
	errArgument  = &coded{"invalid_argument", "An argument is NULL, or a text that is not UTF-8."}
	errClosed    = &coded{"closed", "The license is closed."}
	errNoService = &coded{"no_service", "The program has no licensing service; install a license file."}
	errTimeout   = &coded{"timeout", "The licensing service did not answer in time."}
	errNoLink    = &coded{"no_link", "No activation in the browser was started."}
)

// fileCodes are the codes of what package licensefile refuses.
var fileCodes = []struct {
	code api.Code
	errs []error
}{
	{"file_unreadable", []error{
		licensefile.ErrTooLarge, licensefile.ErrTruncated, licensefile.ErrEncoding, licensefile.ErrMalformed, licensefile.ErrDuplicate, licensefile.ErrType,
		licensefile.ErrCritical, licensefile.ErrCompressed, licensefile.ErrUnencoded, licensefile.ErrNoKeyID,
	}},
	{"file_untrusted", []error{
		licensefile.ErrUnknownKey, licensefile.ErrCondemnedKey, licensefile.ErrAlgorithm, licensefile.ErrSignature, licensefile.ErrLent,
	}},
	{"file_other_request", []error{licensefile.ErrNonce}},
	{api.VerdictProductMismatch, []error{licensefile.ErrProduct}},
	{program.CodeFingerprintChanged, []error{licensefile.ErrFingerprint}},
	{api.VerdictRevoked, []error{licensefile.ErrRevoked}},
	{program.CodeFileOutdated, []error{licensefile.ErrOldGeneration}},
	{program.CodeClockChanged, []error{licensefile.ErrClock}},
	{api.VerdictScheduled, []error{licensefile.ErrEarly}},
	{program.CodeFileExpired, []error{licensefile.ErrExpired}},
	{api.VerdictUpdatesEnded, []error{licensefile.ErrUpdatesEnded}},
	{program.CodeListStale, []error{licensefile.ErrStaleList}},
}

// explain returns the code and the message of an error; otherwise is the code of one that
// has none.
func explain(err error, otherwise api.Code) (code api.Code, message string) {
	var known api.Code
	if e, ok := errors.AsType[*coded](err); ok {
		return e.code, e.message
	}
	if e, ok := errors.AsType[*program.Error](err); ok {
		return e.Status.Code, e.Error()
	}
	if errors.As(err, &known) { // of Use
		return known, program.Status{Code: known}.Message()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errTimeout.code, errTimeout.message
	}
	message = err.Error()
	for _, prefix := range []string{"program: ", "install: ", "request: ", "licensefile: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	message = strings.ToUpper(message[:1]) + message[1:] + "."
	for _, f := range fileCodes {
		for _, known := range f.errs {
			if errors.Is(err, known) {
				return f.code, message
			}
		}
	}
	return otherwise, message
}
