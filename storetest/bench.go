package storetest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A bench is the environment of a case: a fresh store, and the failures it has
// found. Some stores run a function passed to Update more than once, or fail it
// for their own reasons, so a case returns errors from such a function and checks
// them after Update has returned.
type bench struct {
	store.Store
	ctx    context.Context // ends when the case does
	rule   int             // the rule that failures cite
	limits limits
	*findings

	// Only under RunDurable:
	close  func()                                       // closes the store
	reopen func(between ...func())                      // closes the store, calls the functions, and opens it again
	child  func(job string, kill int) ([]answer, error) // does a job in another process
}

// findings are shared by all benches of a case.
type findings struct {
	mu   sync.Mutex
	list []failure
}

func (f *findings) found() []failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]failure(nil), f.list...)
}

// A failure is one violation of a rule.
type failure struct {
	rule            int
	where, what     string
	gotten, awaited string
	late            bool // the case did not end in time
}

func (f failure) String() string {
	text := fmt.Sprintf("%s: %s\n\tgot  %s\n\twant %s\n\tbroken: rule %d. %s",
		f.where, f.what, f.gotten, f.awaited, f.rule, rules[f.rule])
	return strings.ToValidUTF8(text, "\uFFFD")
}

// under returns b with failures that cite another rule.
func (b *bench) under(rule int) *bench {
	c := *b
	c.rule = rule
	return &c
}

// fail records a failure.
func (b *bench) fail(got, want any, what string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, failure{b.rule, where(), fmt.Sprintf(what, args...), show(got), show(want), false})
}

// stop records a failure and ends the goroutine. The function of an Update must
// not call it.
func (b *bench) stop(got, want any, what string, args ...any) {
	b.fail(got, want, what, args...)
	runtime.Goexit()
}

// equal records a failure unless got equals want, and reports whether it does.
func (b *bench) equal(got, want any, what string, args ...any) bool {
	if reflect.DeepEqual(got, want) {
		return true
	}
	b.fail(got, want, what, args...)
	return false
}

// ok stops the case if there is an error.
func (b *bench) ok(err error, what string, args ...any) {
	if err != nil {
		b.stop(err, "no error", what, args...)
	}
}

// is records a failure unless err is the target, and reports whether it is.
func (b *bench) is(err, target error, what string, args ...any) bool {
	if errors.Is(err, target) {
		return true
	}
	b.fail(err, target, what, args...)
	return false
}

// gone records a failure if a get found a record. If the get returned neither a
// record nor ErrNotFound, the failure cites the rule on sentinels.
func (b *bench) gone(id string, err error, what string, args ...any) {
	if err == nil && id != "" {
		b.fail("record "+id, "none", what, args...)
	} else {
		b.under(14).is(err, store.ErrNotFound, what, args...)
	}
}

// try runs fn in an Update, again after each ErrConflict.
func (b *bench) try(fn func(tx store.Tx) error) error {
	for {
		err := b.Update(b.ctx, fn)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// update runs fn in an Update and stops the case if that fails.
func (b *bench) update(fn func(tx store.Tx) error) {
	b.ok(b.try(fn), "Update")
}

// tryAdd writes rows in one Update: records to create or put, and events to
// append.
func (b *bench) tryAdd(rows ...any) error {
	return b.try(func(tx store.Tx) error {
		for _, row := range rows {
			if err := put(b.ctx, tx, row); err != nil {
				return fmt.Errorf("adding %s: %w", show(row), err)
			}
		}
		return nil
	})
}

// add writes rows in one Update and stops the case if that fails.
func (b *bench) add(rows ...any) {
	b.ok(b.tryAdd(rows...), "Update that adds %d rows", len(rows))
}

// view runs fn in a View and stops the case if that fails.
func (b *bench) view(fn func(store.Reader) error) {
	b.ok(b.View(b.ctx, fn), "View")
}

// readers calls fn with each way to read committed data: the store itself, a
// View, and the Tx of a new Update. Failures that fn records in an Update count
// only if the Update is not run again.
func (b *bench) readers(fn func(how string, r store.Reader)) {
	fn("on the store", b.Store)
	b.view(func(r store.Reader) error {
		fn("in a View", r)
		return nil
	})
	noted := len(b.found())
	b.update(func(tx store.Tx) error {
		b.mu.Lock()
		b.list = b.list[:noted]
		b.mu.Unlock()
		fn("in an Update", tx)
		return nil
	})
}

// answers waits for done, at most as long as a rule allows, and reports whether
// it was closed.
func (b *bench) answers(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(b.limits.answer):
		return false
	}
}

// where returns the call sites in the suite, innermost first.
func where() string {
	var places []string
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		file := path.Base(frame.File)
		if strings.Contains(frame.Function, "/storetest.") && file != "bench.go" && file != "storetest.go" && file != "meeting.go" {
			places = append(places, fmt.Sprintf("%s:%d", file, frame.Line))
		}
		if !more || len(places) == 3 {
			break
		}
	}
	if len(places) == 0 {
		return "storetest"
	}
	return strings.Join(places, " from ")
}

// show renders a value for a failure.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case error:
		return v.Error()
	case string:
		return v
	case []byte:
		return fmt.Sprintf("%q", v)
	case []string:
		return fmt.Sprintf("%q", v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	text := fmt.Sprintf("%+v", v)
	if reflect.ValueOf(v).Kind() == reflect.Struct && len(text) > 300 {
		text = text[:300] + "…"
	}
	return text
}
