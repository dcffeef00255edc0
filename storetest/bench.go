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

// A bench is what a case works at: a fresh store, and a place for what it
// finds. Functions passed to Update run more than once on some stores and fail
// for reasons of the store's own, so inside them a case returns errors, and
// judges them when Update has returned.
type bench struct {
	store.Store
	ctx    context.Context // ends when the case does
	rule   int             // what failures are laid to
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

// A failure is one thing found wrong.
type failure struct {
	rule            int
	where, what     string
	gotten, awaited string
}

func (f failure) String() string {
	return fmt.Sprintf("%s: %s\n\tgot  %s\n\twant %s\n\tbroken: rule %d. %s",
		f.where, f.what, f.gotten, f.awaited, f.rule, rules[f.rule])
}

// under returns b with failures laid to another rule.
func (b *bench) under(rule int) *bench {
	c := *b
	c.rule = rule
	return &c
}

// fail notes a failure.
func (b *bench) fail(got, want any, what string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, failure{b.rule, where(), fmt.Sprintf(what, args...), show(got), show(want)})
}

// stop notes a failure and ends the goroutine. Not for functions of an Update.
func (b *bench) stop(got, want any, what string, args ...any) {
	b.fail(got, want, what, args...)
	runtime.Goexit()
}

// equal notes a failure unless got is want, and reports whether it is.
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

// is notes a failure unless err is the target, and reports whether it is.
func (b *bench) is(err, target error, what string, args ...any) bool {
	if errors.Is(err, target) {
		return true
	}
	b.fail(err, target, what, args...)
	return false
}

// gone notes a failure if a get found a record. An answer that is neither a
// record nor ErrNotFound is laid to the rule on sentinels.
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

// tryAdd writes rows in one Update: records to create or put, events to
// append, tallies to add.
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

// readers calls fn with each way to read what is committed: the store itself,
// a View, and the Tx of a new Update. What fn notes in an Update counts only if
// it is not run again.
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

// answers waits for done as long as a rule's promise may take, and reports
// whether it came.
func (b *bench) answers(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(b.limits.answer):
		return false
	}
}

// where returns the places in the suite that led here, innermost first.
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
