// Command clib is the library of licensekit.h, for programs in any language. The script build
// builds it.
package main

/*
#include <stdlib.h>
#include "export.h"
*/
import "C"

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/version"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

func main() {}

// ask runs a call that may wait ms milliseconds for the service.
func ask(handle C.lk_license, ms C.int, call func(context.Context, *opened) error) error {
	l, err := find(uint64(handle))
	if err != nil {
		return err
	}
	wait := 30 * time.Second
	if ms > 0 {
		wait = time.Duration(ms) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return call(ctx, l)
}

// askWith is ask with a text of the caller.
func askWith(handle C.lk_license, text C.lk_in, ms C.int, call func(context.Context, *opened, string) error) error {
	return ask(handle, ms, func(ctx context.Context, l *opened) error {
		s, err := argument(text)
		if err != nil {
			return err
		}
		return call(ctx, l, s)
	})
}

// with runs a call on an open license with a text of the caller.
func with(handle C.lk_license, text C.lk_in, call func(l *opened, text string) error) error {
	l, err := find(uint64(handle))
	if err != nil {
		return err
	}
	s, err := argument(text)
	if err != nil {
		return err
	}
	return call(l, s)
}

func truth(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

var versionText = sync.OnceValue(func() *C.char { return C.CString(strings.TrimPrefix(version.Of(), "v")) })

//export goVersion
func goVersion() *C.char { return versionText() }

// begin returns the handle of a license that a function opens.
func begin(text C.lk_in, r *C.lk_reason, open func(string) (*opened, error)) (handle C.lk_license) {
	do(r, func() error {
		s, err := argument(text)
		if err != nil {
			return err
		}
		l, err := open(s)
		if err == nil {
			handle = C.lk_license(keep(l))
		}
		return err
	})
	return handle
}

//export goOpen
func goOpen(options C.lk_in, r *C.lk_reason) C.lk_license { return begin(options, r, open) }

//export goFixed
func goFixed(status C.lk_in, r *C.lk_reason) C.lk_license { return begin(status, r, fixed) }

//export goClose
func goClose(handle C.lk_license) C.int {
	return do(nil, func() error { return closeHandle(uint64(handle)) })
}

//export goValid
func goValid(handle C.lk_license, r *C.lk_reason) (valid C.int) {
	do(r, func() error {
		l, err := find(uint64(handle))
		if err == nil {
			s := l.Status()
			say(r, s.Code, s.Message())
			valid = truth(s.Valid)
		}
		return err
	})
	return valid
}

//export goValidUntil
func goValidUntil(handle C.lk_license) (seconds C.int64_t) {
	do(nil, func() error {
		l, err := find(uint64(handle))
		if err != nil {
			return err
		}
		if t := l.Status().ValidUntil; !t.IsZero() {
			seconds = C.int64_t(t.Unix())
		}
		return nil
	})
	return seconds
}

//export goStatus
func goStatus(handle C.lk_license) *C.char {
	return answer(nil, func() (string, error) {
		l, err := find(uint64(handle))
		if err != nil {
			return "", err
		}
		s := l.Status()
		return encode(shown{s, s.Message()})
	})
}

//export goHas
func goHas(handle C.lk_license, name C.lk_in) (has C.int) {
	do(nil, func() error {
		return with(handle, name, func(l *opened, name string) error {
			has = truth(l.Has(name))
			return nil
		})
	})
	return has
}

//export goNumber
func goNumber(handle C.lk_license, name C.lk_in, value *C.double) (has C.int) {
	do(nil, func() error {
		return with(handle, name, func(l *opened, name string) error {
			v, ok := l.Number(name)
			if has = truth(ok); ok && value != nil {
				*value = C.double(v)
			}
			return nil
		})
	})
	return has
}

//export goText
func goText(handle C.lk_license, name C.lk_in) (text *C.char) {
	do(nil, func() error {
		return with(handle, name, func(l *opened, name string) error {
			if v, ok := l.Text(name); ok {
				text = C.CString(v)
			}
			return nil
		})
	})
	return text
}

//export goWait
func goWait(handle C.lk_license, seen C.uint64_t, ms C.int) (number C.uint64_t) {
	do(nil, func() error {
		l, err := find(uint64(handle))
		if err == nil {
			number = C.uint64_t(l.wait(uint64(seen), time.Duration(ms)*time.Millisecond))
		}
		return err
	})
	return number
}

//export goSetKey
func goSetKey(handle C.lk_license, key C.lk_in, ms C.int, r *C.lk_reason) C.int {
	return do(r, func() error {
		return askWith(handle, key, ms, func(ctx context.Context, l *opened, key string) error { return l.SetKey(ctx, key) })
	})
}

//export goTakeOver
func goTakeOver(handle C.lk_license, ms C.int, r *C.lk_reason) C.int {
	return do(r, func() error {
		return ask(handle, ms, func(ctx context.Context, l *opened) error { return l.TakeOver(ctx) })
	})
}

//export goRelease
func goRelease(handle C.lk_license, ms C.int, r *C.lk_reason) C.int {
	return do(r, func() error {
		return ask(handle, ms, func(ctx context.Context, l *opened) error { return l.Release(ctx) })
	})
}

//export goRefresh
func goRefresh(handle C.lk_license, ms C.int, r *C.lk_reason) C.int {
	return do(r, func() error {
		return ask(handle, ms, func(ctx context.Context, l *opened) error { return l.Refresh(ctx) })
	})
}

//export goDevices
func goDevices(handle C.lk_license, ms C.int, r *C.lk_reason) *C.char {
	return answer(r, func() (text string, err error) {
		err = ask(handle, ms, func(ctx context.Context, l *opened) error {
			all, err := l.Devices(ctx)
			if err != nil {
				return err
			}
			text, err = encode(append([]program.Device{}, all...)) // [], not null
			return err
		})
		return text, err
	})
}

//export goFreeDevice
func goFreeDevice(handle C.lk_license, id C.lk_in, ms C.int, r *C.lk_reason) C.int {
	return do(r, func() error {
		return askWith(handle, id, ms, func(ctx context.Context, l *opened, id string) error { return l.Free(ctx, id) })
	})
}

//export goLink
func goLink(handle C.lk_license, ms C.int, r *C.lk_reason) *C.char {
	return answer(r, func() (text string, err error) {
		err = ask(handle, ms, func(ctx context.Context, l *opened) error {
			k, err := l.Link(ctx)
			if err != nil {
				return err
			}
			l.link.Store(&linking{Link: k})
			text, err = encode(map[string]any{"url": k.URL, "code": k.Code, "expires_at": k.Expires})
			return err
		})
		return text, err
	})
}

//export goLinkWait
func goLinkWait(handle C.lk_license, ms C.int, r *C.lk_reason) C.int {
	return do(r, func() error {
		return ask(handle, ms, func(ctx context.Context, l *opened) error {
			k := l.link.Load()
			if k == nil {
				return errNoLink
			}
			return k.wait(ctx)
		})
	})
}

//export goRequest
func goRequest(handle C.lk_license, r *C.lk_reason) *C.char {
	return answer(r, func() (string, error) {
		l, err := find(uint64(handle))
		if err != nil {
			return "", err
		}
		return l.Request()
	})
}

//export goInstall
func goInstall(handle C.lk_license, file C.lk_in, r *C.lk_reason) C.int {
	return do(r, func() error {
		return with(handle, file, func(l *opened, text string) error { return l.Install(text) })
	})
}

//export goUse
func goUse(handle C.lk_license, meter C.lk_in, n C.int64_t, ms C.int, r *C.lk_reason) C.int {
	return do(r, func() error {
		return askWith(handle, meter, ms, func(ctx context.Context, l *opened, meter string) error { return l.Use(ctx, meter, int64(n)) })
	})
}

//export goCount
func goCount(handle C.lk_license, meter C.lk_in, n C.int64_t) C.int {
	return do(nil, func() error {
		return with(handle, meter, func(l *opened, meter string) error {
			if n < 1 {
				return errArgument
			}
			l.Count(meter, int64(n))
			return nil
		})
	})
}

//export goVerify
func goVerify(keys, file, want C.lk_in, r *C.lk_reason) *C.char {
	return answer(r, func() (string, error) {
		var in [3]string
		for i, p := range []C.lk_in{keys, file, want} {
			var err error
			if in[i], err = argument(p); err != nil {
				return "", err
			}
		}
		return verify(in[0], in[1], in[2])
	})
}
