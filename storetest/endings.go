package storetest

import (
	"context"
	"fmt"
	"runtime"

	"github.com/seed-d8a106b4/licensekit/store"
)

// overCalls makes every call on a Tx and a Reader whose function has returned.
func (b *bench) overCalls(tx store.Tx, r store.Reader, seq int64, when string) {
	before := b.dump()
	if r == nil {
		r = tx
	}
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	for _, c := range readCalls {
		b.is(c.call(b.ctx, r), store.ErrTxDone, "%s %s", c.method, when)
		b.is(c.call(ended, r), store.ErrTxDone, "%s with a context that had ended %s", c.method, when)
	}
	if tx != nil {
		for _, c := range append([]writeCall{replaceEventCall(seq)}, writeCalls...) {
			b.is(c.call(ended, tx), store.ErrTxDone, "%s with a context that had ended %s", c.method, when)
			b.is(c.call(b.ctx, tx), store.ErrTxDone, "%s %s", c.method, when)
			after := b.dump()
			b.same(after, before, "%s %s", c.method, when)
			before = after
		}
	}
}

func overAfterSuccess(b *bench) {
	b.write(1)
	var over store.Tx
	b.update(func(tx store.Tx) error {
		over = tx
		return nil
	})
	b.overCalls(over, nil, b.feed(store.EventQuery{})[0].Seq, "after the function of the Update had returned nil")
}

func overAfterFailure(b *bench) {
	b.write(1)
	var over store.Tx
	_ = b.undo(func(tx store.Tx) error {
		over = tx
		return nil
	})
	b.overCalls(over, nil, b.feed(store.EventQuery{})[0].Seq, "after the function of the Update had failed")
}

// usable checks that the store still works, and leaves it at version 2.
func (b *bench) usable(after string) {
	done := b.start(func() {
		b.sees(b.Store, 1, 1, "on the store, after %s", after)
		b.ok(b.try(func(tx store.Tx) error { return write(b.ctx, tx, 2) }), "the next Update after %s", after)
	})
	if !b.answers(done) {
		b.stop("none", "an answer", "reading and writing after %s", after)
	}
	b.sees(b.Store, 2, 2, "on the store, after the next Update after %s", after)
}

// panicUndoes panics after writing.
func panicUndoes(b *bench) {
	b.write(1)
	value := new(int)
	var caught any
	var returned bool
	done := b.start(func() {
		defer func() { caught = recover() }()
		_ = b.Update(b.ctx, func(tx store.Tx) error {
			if err := write(b.ctx, tx, 2); err != nil {
				return err
			}
			panic(value)
		})
		returned = true
	})
	if !b.answers(done) {
		b.stop("none", "a panic", "Update whose function panicked")
	}
	if returned || caught != any(value) {
		b.fail(fmt.Sprintf("panic with %v, returned: %v", caught, returned), "the function's panic", "Update whose function panicked")
	}
	b.usable("a panic")
}

// goexitUndoes ends the goroutine after writing, as t.FailNow does.
func goexitUndoes(b *bench) {
	b.write(1)
	var returned bool
	done := b.start(func() {
		_ = b.Update(b.ctx, func(tx store.Tx) error {
			if err := write(b.ctx, tx, 2); err != nil {
				return err
			}
			runtime.Goexit()
			return nil
		})
		returned = true
	})
	if !b.answers(done) {
		b.stop("none", "the end of the goroutine", "Update whose function called runtime.Goexit")
	}
	b.equal(returned, false, "Update returned, though its function called runtime.Goexit")
	b.usable("runtime.Goexit")
}
