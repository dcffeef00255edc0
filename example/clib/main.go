// Command clib is the library of licensekit.h, for programs in any language:
//
//	go build -buildmode=c-shared -ldflags='-s -w' -o liblicensekit.so .
//	go build -buildmode=c-archive -ldflags='-s -w' -o liblicensekit.a .
//	GOOS=windows CGO_ENABLED=1 CC=x86_64-w64-mingw32-gcc go build -buildmode=c-shared -o licensekit.dll .
package main

/*
#include <stdlib.h>
#include "export.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

func main() {}

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

// say writes a code and a message.
func say(r *C.lk_reason, code api.Code, message string) {
	if r != nil {
		put(r.code[:], string(code))
		put(r.message[:], message)
	}
}

// do runs a call, and writes the reason of its error. A panic ends the call, not the
// process.
func do(r *C.lk_reason, otherwise api.Code, call func() error) (ok C.int) {
	defer func() {
		if p := recover(); p != nil {
			say(r, "internal", fmt.Sprint("The license library failed: ", p))
			ok = 0
		}
	}()
	if err := call(); err != nil {
		code, message := explain(err, otherwise)
		say(r, code, message)
		return 0
	}
	return 1
}

// with runs a call on an open license. The service may take ms milliseconds to answer.
func with(handle C.lk_license, ms C.int, r *C.lk_reason, call func(context.Context, *opened) error) C.int {
	return do(r, program.CodeUnreachable, func() error {
		l := find(uint64(handle))
		if l == nil {
			return errClosed
		}
		wait := 30 * time.Second
		if ms > 0 {
			wait = time.Duration(ms) * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		err := call(ctx, l)
		if err != nil && l.isClosed() {
			return errClosed
		}
		return err
	})
}

// online is with for a call that needs the service.
func online(handle C.lk_license, ms C.int, r *C.lk_reason, call func(context.Context, *opened) error) C.int {
	return with(handle, ms, r, func(ctx context.Context, l *opened) error {
		if l.offline {
			return errNoService
		}
		return call(ctx, l)
	})
}

//export goOpen
func goOpen(opts C.lk_in, r *C.lk_reason) (handle C.lk_license) {
	do(r, codeInvalidOption, func() error {
		text, err := argument(opts)
		if err != nil {
			return err
		}
		l, err := open(text)
		if err == nil {
			handle = C.lk_license(keep(l))
		}
		return err
	})
	return handle
}

//export goFixed
func goFixed(status C.lk_in, r *C.lk_reason) (handle C.lk_license) {
	do(r, codeInvalidOption, func() error {
		text, err := argument(status)
		if err != nil {
			return err
		}
		var s program.Status
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return err
		}
		l := newOpened()
		l.License = program.Fixed(s)
		handle = C.lk_license(keep(l))
		return nil
	})
	return handle
}

//export goClose
func goClose(handle C.lk_license) (ok C.int) {
	do(nil, "", func() error {
		if closeHandle(uint64(handle)) {
			ok = 1
		}
		return nil
	})
	return ok
}

//export goValid
func goValid(handle C.lk_license, r *C.lk_reason) C.int {
	l := find(uint64(handle))
	if l == nil {
		say(r, errClosed.code, errClosed.message)
		return 0
	}
	s := l.Status()
	say(r, s.Code, s.Message())
	return truth(s.Valid)
}

func truth(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

//export goValidUntil
func goValidUntil(handle C.lk_license) C.int64_t {
	if l := find(uint64(handle)); l != nil {
		if t := l.Status().ValidUntil; !t.IsZero() {
			return C.int64_t(t.Unix())
		}
	}
	return 0
}

//export goStatus
func goStatus(handle C.lk_license) (text *C.char) {
	do(nil, "", func() error {
		l := find(uint64(handle))
		if l == nil {
			return errClosed
		}
		s := l.Status()
		b, err := json.Marshal(struct {
			program.Status
			Message string `json:"message"`
		}{s, s.Message()})
		if err == nil {
			text = C.CString(string(b))
		}
		return err
	})
	return text
}

//export goHas
func goHas(handle C.lk_license, name C.lk_in) C.int {
	l := find(uint64(handle))
	return truth(l != nil && name != nil && l.Has(C.GoString((*C.char)(name))))
}

//export goNumber
func goNumber(handle C.lk_license, name C.lk_in, value *C.double) C.int {
	l := find(uint64(handle))
	if l == nil || name == nil {
		return 0
	}
	v, ok := l.Number(C.GoString((*C.char)(name)))
	if ok && value != nil {
		*value = C.double(v)
	}
	return truth(ok)
}

//export goText
func goText(handle C.lk_license, name C.lk_in) *C.char {
	l := find(uint64(handle))
	if l == nil || name == nil {
		return nil
	}
	v, ok := l.Text(C.GoString((*C.char)(name)))
	if !ok {
		return nil
	}
	return C.CString(v)
}

//export goWait
func goWait(handle C.lk_license, seen C.uint64_t, ms C.int) C.uint64_t {
	l := find(uint64(handle))
	if l == nil {
		return 0
	}
	return C.uint64_t(l.wait(uint64(seen), time.Duration(ms)*time.Millisecond))
}

//export goSetKey
func goSetKey(handle C.lk_license, key C.lk_in, ms C.int, r *C.lk_reason) C.int {
	return online(handle, ms, r, func(ctx context.Context, l *opened) error {
		text, err := argument(key)
		if err != nil {
			return err
		}
		return l.SetKey(ctx, text)
	})
}

//export goTakeOver
func goTakeOver(handle C.lk_license, ms C.int, r *C.lk_reason) C.int {
	return online(handle, ms, r, func(ctx context.Context, l *opened) error { return l.TakeOver(ctx) })
}

//export goRelease
func goRelease(handle C.lk_license, ms C.int, r *C.lk_reason) C.int {
	return online(handle, ms, r, func(ctx context.Context, l *opened) error { return l.Release(ctx) })
}

//export goRefresh
func goRefresh(handle C.lk_license, ms C.int, r *C.lk_reason) C.int {
	return with(handle, ms, r, func(ctx context.Context, l *opened) error { return l.Refresh(ctx) })
}

//export goLink
func goLink(handle C.lk_license, ms C.int, r *C.lk_reason) (text *C.char) {
	online(handle, ms, r, func(ctx context.Context, l *opened) error {
		k, err := l.Link(ctx)
		if err != nil {
			return err
		}
		b, err := json.Marshal(map[string]any{"url": k.URL, "code": k.Code, "expires_at": k.Expires})
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.link = &k
		l.mu.Unlock()
		text = C.CString(string(b))
		return nil
	})
	return text
}

//export goLinkWait
func goLinkWait(handle C.lk_license, ms C.int, r *C.lk_reason) C.int {
	return online(handle, ms, r, func(ctx context.Context, l *opened) error {
		l.mu.Lock()
		k := l.link
		l.mu.Unlock()
		if k == nil {
			return errNoLink
		}
		return k.Wait(ctx)
	})
}

//export goRequest
func goRequest(handle C.lk_license, r *C.lk_reason) (text *C.char) {
	with(handle, 0, r, func(_ context.Context, l *opened) error {
		s, err := l.Request()
		if err == nil {
			text = C.CString(s)
		}
		return err
	})
	return text
}

//export goInstall
func goInstall(handle C.lk_license, file C.lk_in, r *C.lk_reason) C.int {
	return do(r, "file_refused", func() error {
		l := find(uint64(handle))
		if l == nil {
			return errClosed
		}
		text, err := argument(file)
		if err != nil {
			return err
		}
		return l.Install(text)
	})
}

//export goUse
func goUse(handle C.lk_license, meter C.lk_in, n C.int64_t, ms C.int, r *C.lk_reason) C.int {
	return online(handle, ms, r, func(ctx context.Context, l *opened) error {
		name, err := argument(meter)
		if err != nil {
			return err
		}
		return l.Use(ctx, name, int64(n))
	})
}

//export goCount
func goCount(handle C.lk_license, meter C.lk_in, n C.int64_t) C.int {
	return do(nil, "", func() error {
		l := find(uint64(handle))
		if l == nil {
			return errClosed
		}
		name, err := argument(meter)
		if err == nil {
			l.Count(name, int64(n))
		}
		return err
	})
}

//export goVerify
func goVerify(keys, file, want C.lk_in, r *C.lk_reason) (text *C.char) {
	do(r, "file_refused", func() error {
		var in [3]string
		for i, p := range []C.lk_in{keys, file, want} {
			var err error
			if in[i], err = argument(p); err != nil {
				return err
			}
		}
		b, err := verify(in[0], in[1], in[2])
		if err == nil {
			text = C.CString(string(b))
		}
		return err
	})
	return text
}
