package program

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// calls are the methods that return an error, with a context that ends.
func calls(ctx context.Context, l *License) map[string]func() error {
	return map[string]func() error{
		"SetKey":   func() error { return l.SetKey(ctx, "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA") },
		"TakeOver": func() error { return l.TakeOver(ctx) },
		"Release":  func() error { return l.Release(ctx) },
		"Refresh":  func() error { return l.Refresh(ctx) },
		"Use":      func() error { return l.Use(ctx, "exports", 1) },
		"Link":     func() error { _, err := l.Link(ctx); return err },
		"Devices":  func() error { _, err := l.Devices(ctx); return err },
		"Free":     func() error { return l.Free(ctx, "act_x") },
		"Install":  func() error { return l.Install("x") },
		"Request":  func() error { _, err := l.Request(); return err },
	}
}

// TestErrors: every error of a method has a code, a sentence, the status of that moment and
// its cause.
func TestErrors(t *testing.T) {
	const none = api.Code("")
	for _, tt := range []struct {
		name   string
		before func(*box)
		after  func(*stage, *License, context.CancelFunc)
		code   api.Code            // of each
		but    map[string]api.Code // of these
		cause  error
	}{
		{name: "unreachable", after: func(s *stage, _ *License, _ context.CancelFunc) { s.vendor.Die() }, code: CodeUnreachable},
		{name: "timeout", after: func(s *stage, _ *License, _ context.CancelFunc) { s.vendor.Stall() }, code: CodeTimeout, cause: context.DeadlineExceeded},
		{name: "canceled", after: func(_ *stage, _ *License, cancel context.CancelFunc) { cancel() }, code: CodeCanceled, cause: context.Canceled},
		{name: "closed", after: func(_ *stage, l *License, _ context.CancelFunc) { l.Close() }, code: CodeClosed, cause: errClosed},
		{
			name: "offline", before: func(b *box) { b.opts.URL, b.opts.Key = "", "" }, code: CodeNoService, cause: errNoService,
			but: map[string]api.Code{"Refresh": none},
		},
		{
			name: "without a key", before: func(b *box) { b.opts.Key = "" }, code: CodeNoKey,
			but: map[string]api.Code{"SetKey": "not_found", "Link": none, "Release": none, "Refresh": none},
		},
		{
			name: "refused", after: func(s *stage, _ *License, _ context.CancelFunc) {
				s.vendor.Lie(429, "application/problem+json", `{"code":"rate_limited"}`)
			}, code: api.CodeRateLimited,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				b := s.box("pc-1")
				if tt.before != nil {
					tt.before(b)
				}
				l := b.open()
				ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
				defer cancel()
				if tt.after != nil {
					tt.after(s, l, cancel)
				}
				for name, call := range calls(ctx, l) {
					err := call()
					want, ok := tt.but[name]
					if !ok {
						want = tt.code
					}
					switch name {
					case "Install":
						want = CodeFileUnreadable
					case "Request":
						want = none
					}
					if err == nil {
						s.Equal(want, none)
						continue
					}
					e, ok := errors.AsType[*Error](err)
					if !ok || e.Code != want || !errors.Is(err, want) || e.Status.Code != l.Status().Code || e.Status.Valid != l.Status().Valid {
						s.Errorf("%s: %v, want the code %s: %+v", name, err, want, e)
						continue
					}
					if want == tt.code && tt.cause != nil && !errors.Is(err, tt.cause) {
						s.Errorf("%s: the cause is lost: %v", name, err)
					}
					if text := e.Message(); !strings.HasSuffix(text, ".") || strings.Contains(text, "(") || strings.Contains(text, "program:") {
						s.Errorf("%s: %q is no sentence for the user", name, text)
					}
				}
			})
		})
	}
}

// TestErrorsOfFiles: each error of package licensefile has a code, and is its cause.
func TestErrorsOfFiles(t *testing.T) {
	is := is.New(t)
	for _, f := range fileCodes {
		for _, cause := range f.errs {
			err := FileError(cause)
			is.True(errors.Is(err, cause) && errors.Is(err, f.code))
			is.Equal(err.Error(), cause.Error())
			is.True(messages[err.Code] != "") // err.Code
		}
	}
	e := FileError(licensefile.ErrOffice)
	is.Equal(e.Code, CodeFileRefused)
	is.Equal(e.Message(), "This license file cannot be used here: for an office, which lends the license to programs; install it there.")
	_, err := Open(Options{})
	require.ErrorIs(t, err, CodeInvalidOption)
	is.Equal(errors.Unwrap(err).Error(), err.Error())
}

// TestEveryCodeHasASentence reads the constants of code.go.
func TestEveryCodeHasASentence(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		found++
		code := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
		if messages[api.Code(code)] == "" || spec.Comment == nil {
			t.Errorf("%s has no sentence, or no comment", code)
		}
		return false
	})
	if found < 20 {
		t.Errorf("%d codes were found", found)
	}
}

// TestErrorOfUse: a license that is not valid says so, with the code of the verdict.
func TestErrorOfUse(t *testing.T) {
	onStage(t, func(s *stage) {
		s.meter("exports", api.MeterChange{})
		l := s.box("pc-1").open()
		_, err := s.service().Suspend(s.Context(), api.ChangeStateParams{ID: s.license.ID})
		s.NoErr(err)
		err = l.Use(s.Context(), "exports", 1)
		e, ok := errors.AsType[*Error](err)
		s.True(ok && e.Status.Valid) // from its file, until it asks
		s.Equal(e.Code, api.VerdictSuspended)
		s.Equal(e.Message(), "The license is suspended.")
		err = l.Use(s.Context(), "exports", 0)
		require.ErrorIs(s.T, err, api.CodeInvalidParameters)
		s.Equal(err.Error(), "The licensing service has refused this (invalid_parameters).")
	})
}
