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
		b.is(tx.Want(b.ctx, wants()[0]), store.ErrTxDone, "Want %s", when)
		b.is(tx.Want(ended, wants()[0]), store.ErrTxDone, "Want with a context that had ended %s", when)
		for _, c := range append([]writeCall{replaceEventCall(seq)}, writeCalls...) {
			b.is(c.call(ended, tx), store.ErrTxDone, "%s with a context that had ended %s", c.method, when)
			b.is(c.call(b.ctx, tx), store.ErrTxDone, "%s %s", c.method, when)
			after := b.dump()
			b.same(after, before, "%s %s", c.method, when)
			before = after
		}
	}
}

// overAfterTheEnd uses the Tx of an Update that has succeeded, and of one that failed.
func overAfterTheEnd(b *bench) {
	b.write(1)
	for _, end := range []error{nil, errOnPurpose} {
		var over store.Tx
		_ = b.try(func(tx store.Tx) error {
			over = tx
			return end
		})
		b.overCalls(over, nil, b.feed(store.EventQuery{})[0].Seq, fmt.Sprintf("after the function of the Update had returned %v", end))
	}
}

// overInTheNextAttempt has another Update change what an Update has read, so that
// the function of the latter may run again, and then uses the Tx of its earlier runs.
func overInTheNextAttempt(b *bench) {
	b.write(1)
	seq := b.feed(store.EventQuery{})[0].Seq
	var earlier []store.Tx
	wait := func() {}
	b.update(func(tx store.Tx) error {
		for _, over := range earlier {
			for _, c := range readCalls {
				b.is(c.call(b.ctx, over), store.ErrTxDone, "%s of an earlier run of the function", c.method)
			}
			for _, c := range append([]writeCall{replaceEventCall(seq)}, writeCalls...) {
				b.is(c.call(b.ctx, over), store.ErrTxDone, "%s of an earlier run of the function", c.method)
			}
		}
		e, err := tx.Entry(b.ctx, "version", entry("", 1).Key)
		if err != nil {
			return err
		}
		if len(earlier) == 0 {
			wait = b.during(func() { b.add(entry("version", 1)) })
		}
		earlier = append(earlier, tx)
		return tx.PutEntries(b.ctx, e)
	})
	wait()
	b.equal(len(b.seqs()), 1, "events after an Update that used the Tx of its earlier runs")
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
	value := new(int)
	b.endsIn("a panic", value, func() { panic(value) })
}

// goexitUndoes ends the goroutine after writing, as t.FailNow does.
func goexitUndoes(b *bench) { b.endsIn("runtime.Goexit", nil, runtime.Goexit) }

// endsIn ends the goroutine of an Update in its function, which has written.
func (b *bench) endsIn(what string, value any, end func()) {
	b.write(1)
	var caught any
	var returned bool
	done := b.start(func() {
		defer func() { caught = recover() }()
		_ = b.Update(b.ctx, func(tx store.Tx) error {
			if err := write(b.ctx, tx, 2); err != nil {
				return err
			}
			end()
			return nil
		})
		returned = true
	})
	if !b.answers(done) {
		b.stop("none", "an end", "Update whose function ended in %s", what)
	}
	if returned || caught != value {
		b.fail(fmt.Sprintf("panic with %v, returned: %v", caught, returned), "the end of the function", "Update whose function ended in %s", what)
	}
	b.usable(what)
}
