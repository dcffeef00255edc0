package storetest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

func contextCases() []testCase {
	return []testCase{
		{"Context", "EndedBefore", 18, contextEndedBefore},
		{"Context", "EndsTheWait", 18, contextEndsTheWait},
		{"Context", "EndsBetweenCalls", 18, contextEndsBetweenCalls},
		{"Context", "EndsAfterTheLastCall", 18, contextEndsAfterTheLastCall},
	}
}

// contextEndedBefore makes every call on the store with a context that has
// ended.
func contextEndedBefore(b *bench) {
	b.write(1)
	before := b.dump()
	canceled, end := context.WithCancelCause(b.ctx)
	end(errOnPurpose)
	late, cancel := context.WithDeadline(b.ctx, day(-20000))
	defer cancel()
	for _, ctx := range []context.Context{canceled, late} {
		for _, c := range readCalls {
			b.is(c.call(ctx, b.Store), ctx.Err(), "%s on the store", c.method)
		}
		called := false
		b.is(b.View(ctx, func(r store.Reader) error {
			called = true
			return nil
		}), ctx.Err(), "View")
		b.is(b.Update(ctx, func(tx store.Tx) error {
			called = true
			return put(ctx, tx, entry("call", 1))
		}), ctx.Err(), "Update")
		b.is(b.Update(ctx, func(tx store.Tx) error {
			called = true
			return nil // and so has nothing to commit
		}), ctx.Err(), "Update")
		b.equal(called, false, "the function of a View or an Update was called")
		b.under(4).same(b.dump(), before, "calls with a context that had ended")
	}
}

// A watched context reports when a caller first waits for its end.
type watched struct {
	context.Context
	once    sync.Once
	waiting chan struct{}
}

func (w *watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.waiting) })
	return w.Context.Done()
}

// contextEndsTheWait ends the context of an Update while another Update runs, and
// checks that it gives up before the other has ended. In a store where the two
// do not wait for each other, the call that it makes must fail.
func contextEndsTheWait(b *bench) {
	cancelled := func() (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(b.ctx)
		return ctx, func() { cancel(errOnPurpose) }
	}
	timed := func() (context.Context, func()) {
		ctx, cancel := context.WithTimeout(b.ctx, window/2)
		return ctx, func() {
			<-ctx.Done()
			cancel()
		}
	}
	for _, begin := range []func() (context.Context, func()){cancelled, timed} {
		holding, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		over := b.start(func() {
			b.update(func(tx store.Tx) error {
				err := put(b.ctx, tx, entry("call", 1))
				once.Do(func() { close(holding) })
				<-release
				return err
			})
		})
		select {
		case <-holding:
		case <-over:
			return
		}

		inner, end := begin()
		ctx := &watched{Context: inner, waiting: make(chan struct{})}
		var err error
		var returned, late atomic.Bool
		done := b.start(func() {
			err = b.Update(ctx, func(tx store.Tx) error {
				late.Store(returned.Load())
				<-inner.Done()
				return put(ctx, tx, entry("call", 2))
			})
			returned.Store(true)
		})
		windowOr(ctx.waiting)
		end()
		if b.answers(done) {
			b.is(err, inner.Err(), "Update whose context ended while another Update was running")
		} else {
			b.fail("none", inner.Err(), "answer of an Update whose context ended while another Update was running")
		}
		close(release)
		<-over
		<-done
		windowOr(nil)
		b.equal(late.Load(), false, "the function of an Update was called after the Update had returned")
	}
	_, err := b.Entry(b.ctx, "call", entry("call", 1).Key)
	b.equal(err, nil, "Entry written by the Update that was running")
}

// contextEndsBetweenCalls ends the context in the function of an Update and
// makes each of the calls after that.
func contextEndsBetweenCalls(b *bench) {
	b.write(1)
	seq := b.feed(store.EventQuery{})[0].Seq
	attempt := func(method string, call func(context.Context, store.Tx) error) {
		ctx, cancel := context.WithCancelCause(b.ctx)
		defer cancel(nil)
		var got error
		err := b.Update(ctx, func(tx store.Tx) error {
			if got = put(b.ctx, tx, entry("call", 1)); got != nil {
				return got
			}
			cancel(errOnPurpose)
			if got = call(ctx, tx); got == nil {
				return errOnPurpose // or the next attempt has not what it needs
			}
			return got
		})
		b.is(got, context.Canceled, "%s in an Update whose context has ended", method)
		if got != nil {
			b.is(err, context.Canceled, "Update in which %s failed because its context had ended", method)
		}
	}
	for _, c := range readCalls {
		attempt(c.method, func(ctx context.Context, tx store.Tx) error { return c.call(ctx, tx) })
	}
	for _, c := range append([]writeCall{replaceEventCall(seq)}, writeCalls...) {
		attempt(c.method, func(ctx context.Context, tx store.Tx) error { return c.call(ctx, tx) })
	}
	attempt("Want", func(ctx context.Context, tx store.Tx) error { return tx.Want(ctx, wants()[0]) })
}

// contextEndsAfterTheLastCall ends the context after the last write. The store
// may run the function again, and it then fails; but if the function's last
// result is nil, the Update must have committed. A View returns nil.
func contextEndsAfterTheLastCall(b *bench) {
	for n := 1; n <= 3; n++ {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		var last error
		err := b.Update(ctx, func(tx store.Tx) error {
			if last = write(ctx, tx, n); last == nil {
				cancel()
			}
			return last
		})
		if last != nil {
			b.write(n)
			continue
		}
		if !b.equal(err, nil, "Update whose context ended after the last call of its function, which returned nil") {
			return
		}
		b.sees(b.Store, n, n, "on the store, after an Update whose context ended after its last call")
	}
	ctx, cancel := context.WithCancel(b.ctx)
	err := b.View(ctx, func(r store.Reader) error {
		defer cancel()
		return readCalls[0].call(ctx, r)
	})
	b.equal(err, nil, "View whose context ended after the last call of its function, which returned nil")
}
