package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

func updateCases() []testCase {
	return []testCase{
		{"Updates", "ReadYourWrites", 2, readYourWrites},
		{"Updates", "ReadYourWritesAfterMisses", 2, readYourWritesAfterMisses},
		{"Updates", "ReadYourWritesElsewhere", 2, readYourWritesElsewhere},
		{"Updates", "OwnWrites", 3, ownWrites},
		{"Updates", "OwnWritesToTheFeed", 3, ownWritesToTheFeed},
		{"Updates", "Rollback", 4, rollback},
		{"Updates", "RollbackOfDeletion", 4, rollbackOfDeletion},
		{"Updates", "RollbackFreesWhatWasTaken", 4, rollbackFrees},
		{"Updates", "ErrorComesBack", 4, errorComesBack},
		{"Updates", "NotSeenBeforeItsEnd", 4, notSeenBeforeItsEnd},
		{"Updates", "Sentinels", 14, sentinels},
		{"Updates", "SentinelsDoNothing", 14, sentinelsDoNothing},
		{"Updates", "UsableAfterSentinels", 15, usableAfterSentinels},
		{"Updates", "OverAfterSuccess", 16, overAfterSuccess},
		{"Updates", "OverAfterFailure", 16, overAfterFailure},
		{"Updates", "Panic", 17, panicUndoes},
		{"Updates", "Goexit", 17, goexitUndoes},
	}
}

// errOnPurpose is what functions of Updates return to have them undone.
var errOnPurpose = errors.New("on purpose")

// undo runs fn in an Update that returns errOnPurpose.
func (b *bench) undo(fn func(tx store.Tx) error) error {
	return b.try(func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errOnPurpose
	})
}

// write moves the store to version n, which must follow on the one it has.
func (b *bench) write(n int) {
	b.update(func(tx store.Tx) error { return write(b.ctx, tx, n) })
}

// readYourWrites looks at once after each Update.
func readYourWrites(b *bench) {
	for n := 1; n <= 3; n++ {
		b.write(n)
		b.sees(b.Store, n, n, "on the store, after version %d was written", n)
	}
	b.update(func(tx store.Tx) error { return erase(b.ctx, tx, 3) })
	b.sees(b.Store, 0, 3, "on the store, after all but events was deleted")
}

// readYourWritesAfterMisses looks before anything is there, and by all ways.
func readYourWritesAfterMisses(b *bench) {
	for n := range 3 {
		if n > 0 {
			b.write(n)
		}
		b.readers(func(how string, r store.Reader) {
			b.sees(r, n, n, "%s, at version %d", how, n)
		})
	}
}

// readYourWritesElsewhere looks from another goroutine.
func readYourWritesElsewhere(b *bench) {
	for n := 1; n <= 3; n++ {
		b.write(n)
		together(1, func(int) { b.sees(b.Store, n, n, "from another goroutine, after version %d was written", n) })
	}
}

// ownWrites looks after each write within an Update.
func ownWrites(b *bench) {
	var looks [5][]sighting
	writes := func(first, last int) {
		b.update(func(tx store.Tx) (err error) {
			for n := first; n <= last; n++ {
				if err := write(b.ctx, tx, n); err != nil {
					return err
				}
				if looks[n], err = look(b.ctx, tx); err != nil {
					return err
				}
			}
			return nil
		})
		for n := first; n <= last; n++ {
			b.compare(looks[n], n, n, "in the Update that wrote version %d", n)
		}
	}
	writes(1, 3) // on nothing
	writes(4, 4) // on what was committed
	b.update(func(tx store.Tx) (err error) {
		if err := erase(b.ctx, tx, 4); err != nil {
			return err
		}
		looks[0], err = look(b.ctx, tx)
		return err
	})
	b.compare(looks[0], 0, 4, "in the Update that deleted all but events")
}

// ownWritesToTheFeed looks after changing and removing events.
func ownWritesToTheFeed(b *bench) {
	b.append(event(1), event(2))
	seqs := b.seqs()
	var changed, left []store.Event
	b.update(func(tx store.Tx) (err error) {
		e := event(3)
		e.Seq = seqs[0]
		if err := tx.ReplaceEvent(b.ctx, e); err != nil {
			return err
		}
		if changed, err = tx.Events(b.ctx, store.EventQuery{Limit: many}); err != nil {
			return err
		}
		if _, err := tx.DeleteEvents(b.ctx, math.MaxInt64, many); err != nil {
			return err
		}
		left, err = tx.Events(b.ctx, store.EventQuery{Limit: many})
		return err
	})
	var seen []string
	for _, e := range changed {
		if e.Seq == seqs[0] {
			seen = append(seen, string(e.Data), e.CustomerID)
		}
	}
	if len(seen) == 0 || seen[0] != string(event(3).Data) && seen[1] != event(3).CustomerID { // one alone is rule 9
		b.fail(seen, []string{string(event(3).Data), event(3).CustomerID}, "event in the Update that replaced it")
	}
	b.equal(eventIDs(left), eventIDs(nil), "events in the Update that removed them")
}

// rollback fails after writing.
func rollback(b *bench) {
	for n := 1; n <= 3; n++ {
		err := b.undo(func(tx store.Tx) error { return write(b.ctx, tx, n) })
		b.is(err, errOnPurpose, "Update whose function failed")
		b.readers(func(how string, r store.Reader) {
			b.sees(r, n-1, n-1, "%s, after the Update to version %d had failed", how, n)
		})
		b.write(n)
	}
}

// rollbackOfDeletion fails after deleting.
func rollbackOfDeletion(b *bench) {
	b.write(1)
	b.write(2)
	err := b.undo(func(tx store.Tx) error {
		if err := erase(b.ctx, tx, 2); err != nil {
			return err
		}
		_, err := tx.DeleteEvents(b.ctx, 1<<62, many)
		return err
	})
	b.is(err, errOnPurpose, "Update whose function failed")
	b.readers(func(how string, r store.Reader) {
		b.sees(r, 2, 2, "%s, after the Update that deleted it had failed", how)
	})
}

// rollbackFrees takes ids, keys and fingerprints in an Update that fails, and
// again.
func rollbackFrees(b *bench) {
	l := license(1)
	for range 3 {
		err := b.undo(func(tx store.Tx) error {
			return errors.Join(put(b.ctx, tx, l), put(b.ctx, tx, activation(l.ID, 1)))
		})
		b.is(err, errOnPurpose, "Update that takes what a failed one took")
	}
	next := license(2)
	next.Key = l.Key
	b.ok(b.tryAdd(next), "creating a licence with a key that a failed Update took")
	next = license(1)
	next.Key = "another"
	b.ok(b.tryAdd(next, activation(l.ID, 1)), "creating a licence with an ID that a failed Update took")
}

// errorComesBack returns errors of several sorts.
func errorComesBack(b *bench) {
	for _, want := range []error{
		errOnPurpose, store.ErrNotFound, store.ErrUnavailable, fmt.Errorf("wrapped: %w", store.ErrExists),
	} {
		b.is(b.Update(b.ctx, func(store.Tx) error { return want }), want, "Update whose function returned %q, having done nothing", want)
		b.is(b.Update(b.ctx, func(tx store.Tx) error {
			if err := write(b.ctx, tx, 1); err != nil {
				return err
			}
			return want
		}), want, "Update whose function returned %q, having written", want)
	}
}

// notSeenBeforeItsEnd reads on other goroutines while an Update is writing.
// Where readers wait for it, they do so until it has failed.
func notSeenBeforeItsEnd(b *bench) {
	for n := 1; n <= 2; n++ {
		var seen [2][]sighting
		var failed [2]error
		read := make(chan struct{})
		first := true
		err := b.undo(func(tx store.Tx) error {
			if err := write(b.ctx, tx, n); err != nil || !first {
				return err
			}
			first = false
			go func() {
				defer close(read)
				seen[0], failed[0] = look(b.ctx, b.Store)
				failed[1] = b.View(b.ctx, func(r store.Reader) (err error) {
					seen[1], err = look(b.ctx, r)
					return err
				})
			}()
			windowOr(read)
			return nil
		})
		<-read
		b.is(err, errOnPurpose, "Update whose function failed")
		for i, where := range []string{"on the store", "in a View"} {
			if n == 1 {
				b.under(14).ok(failed[i], "reading %s", where)
			}
			b.ok(failed[i], "reading %s", where)
			b.compare(seen[i], n-1, n-1, "%s, while an Update was writing version %d", where, n)
		}
		b.write(n)
	}
}

// A refusal is a call that must return a sentinel.
type refusal struct {
	name string
	want error
	call func(ctx context.Context, tx store.Tx) error
}

// fixture is what refusals are refused by.
func fixture() []any {
	one, two := license(1), license(2)
	return []any{
		one, two, activation(one.ID, 1), activation(one.ID, 2), activation(two.ID, 5),
		event(1), entry("call", 1), delivery(1), store.Tally{Kind: "call", Name: "tally", N: 1},
	}
}

func refusals() []refusal {
	one, two := license(1), license(2)
	missing := "missing"
	create := func(id, key string) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error {
			l := license(3)
			l.ID, l.Key = id, key
			return tx.CreateLicense(ctx, l)
		}
	}
	update := func(id, key string) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error {
			l := license(3)
			l.ID, l.Key = id, key
			return tx.UpdateLicense(ctx, l)
		}
	}
	seat := func(licenseID, id, fingerprint string) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error {
			a := activation(licenseID, 3)
			a.ID, a.Fingerprint = id, fingerprint
			return tx.PutActivation(ctx, a)
		}
	}
	first, second := activation(one.ID, 1), activation(one.ID, 2)
	list := []refusal{
		{"CreateLicense with an ID that is taken", store.ErrExists, create(one.ID, "new")},
		{"CreateLicense with a Key that is taken", store.ErrExists, create("new", one.Key)},
		{"CreateLicense of what is there", store.ErrExists, create(one.ID, one.Key)},
		{"UpdateLicense to the Key of another", store.ErrExists, update(two.ID, one.Key)},
		{"UpdateLicense of a missing licence", store.ErrNotFound, update(missing, "new")},
		{"DeleteLicense of a missing licence", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteLicense(ctx, missing)
		}},
		{"PutActivation of a missing licence", store.ErrNotFound, seat(missing, "new", "new")},
		{"PutActivation with a Fingerprint that is taken", store.ErrExists, seat(one.ID, "new", first.Fingerprint)},
		{"PutActivation that replaces, with the Fingerprint of another", store.ErrExists, seat(one.ID, second.ID, first.Fingerprint)},
		{"DeleteActivation of a missing activation", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteActivation(ctx, one.ID, missing)
		}},
		{"DeleteActivation of another licence's activation", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteActivation(ctx, two.ID, first.ID)
		}},
		{"DeleteActivation of a missing licence", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteActivation(ctx, missing, first.ID)
		}},
		{"ReplaceEvent of a missing event", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			e := event(3)
			e.Seq = 1 << 40
			return tx.ReplaceEvent(ctx, e)
		}},
		{"DeleteEntry of a missing entry", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteEntry(ctx, "call", missing)
		}},
		{"DeleteEntry of another kind", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteEntry(ctx, missing, entry("call", 1).Key)
		}},
		{"DeleteDelivery of a missing delivery", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteDelivery(ctx, missing)
		}},
	}
	for _, m := range misses() {
		list = append(list, refusal{m.method, store.ErrNotFound, func(ctx context.Context, tx store.Tx) error { return m.call(ctx, tx) }})
	}
	return list
}

// misses are the gets that find nothing in the fixture.
func misses() []readCall {
	one, two := license(1), license(2)
	var list []readCall
	for _, id := range []string{"missing", "", one.ID + "_", "lic_000", "%"} {
		list = append(list,
			readCall{fmt.Sprintf("License(%q)", id), func(ctx context.Context, r store.Reader) error {
				_, err := r.License(ctx, id)
				return err
			}},
			readCall{fmt.Sprintf("LicenseByKey(%q)", id), func(ctx context.Context, r store.Reader) error {
				_, err := r.LicenseByKey(ctx, id)
				return err
			}},
			readCall{fmt.Sprintf("Activation(%q) of a licence", id), func(ctx context.Context, r store.Reader) error {
				_, err := r.Activation(ctx, one.ID, id)
				return err
			}},
			readCall{fmt.Sprintf("Entry(%q)", id), func(ctx context.Context, r store.Reader) error {
				_, err := r.Entry(ctx, "call", id)
				return err
			}},
			readCall{fmt.Sprintf("Delivery(%q)", id), func(ctx context.Context, r store.Reader) error {
				_, err := r.Delivery(ctx, id)
				return err
			}},
		)
	}
	return append(list,
		readCall{"Activation of another licence", func(ctx context.Context, r store.Reader) error {
			_, err := r.Activation(ctx, two.ID, activation("", 1).Fingerprint)
			return err
		}},
		readCall{"Activation of a missing licence", func(ctx context.Context, r store.Reader) error {
			_, err := r.Activation(ctx, "missing", activation("", 1).Fingerprint)
			return err
		}},
		readCall{"Activation by an ID", func(ctx context.Context, r store.Reader) error {
			_, err := r.Activation(ctx, one.ID, activation("", 1).ID)
			return err
		}},
		readCall{"License by a key", func(ctx context.Context, r store.Reader) error {
			_, err := r.License(ctx, one.Key)
			return err
		}},
		readCall{"LicenseByKey by an ID", func(ctx context.Context, r store.Reader) error {
			_, err := r.LicenseByKey(ctx, one.ID)
			return err
		}},
		readCall{"Entry of another kind", func(ctx context.Context, r store.Reader) error {
			_, err := r.Entry(ctx, "missing", entry("call", 1).Key)
			return err
		}},
	)
}

// sentinels makes each call in an Update of its own, which then fails.
func sentinels(b *bench) {
	b.add(fixture()...)
	for _, c := range refusals() {
		var got error
		_ = b.undo(func(tx store.Tx) error {
			got = c.call(b.ctx, tx)
			return nil
		})
		b.is(got, c.want, "%s", c.name)
		for _, other := range []error{store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrUnavailable, store.ErrTxDone} {
			if other != c.want && errors.Is(got, other) {
				b.fail(got, fmt.Sprintf("%v and no other sentinel", c.want), "%s", c.name)
			}
		}
	}
	for _, c := range misses() {
		b.is(c.call(b.ctx, b.Store), store.ErrNotFound, "%s on the store", c.method)
		b.view(func(r store.Reader) error {
			b.is(c.call(b.ctx, r), store.ErrNotFound, "%s in a View", c.method)
			return nil
		})
	}
}

// sentinelsDoNothing commits after each call, and compares all there is.
func sentinelsDoNothing(b *bench) {
	b.add(fixture()...)
	before := b.dump()
	for _, c := range refusals() {
		b.update(func(tx store.Tx) error {
			_ = c.call(b.ctx, tx) // what it returns is another case's
			return nil
		})
		after := b.dump()
		b.same(after, before, "%s", c.name)
		before = after
	}
}

// same compares two dumps, and shows the lines that differ.
func (b *bench) same(got, want, what string, args ...any) {
	if got == want {
		return
	}
	only := func(a, z string) string {
		var lines []string
		for line := range strings.SplitSeq(a, "\n") {
			if !strings.Contains("\n"+z+"\n", "\n"+line+"\n") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n\t     ")
	}
	b.fail(only(got, want), only(want, got), "what is stored, after "+what, args...)
}

// usableAfterSentinels writes before and after each call.
func usableAfterSentinels(b *bench) {
	b.add(fixture()...)
	n := 100
	for _, c := range refusals() {
		n++
		var got error
		err := b.try(func(tx store.Tx) error {
			if err := put(b.ctx, tx, entry("before", n)); err != nil {
				return err
			}
			if got = c.call(b.ctx, tx); got == nil {
				return errOnPurpose // rule 14
			}
			if _, err := tx.Entry(b.ctx, "before", entry("before", n).Key); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err // what was not found is rule 3's affair
			}
			if err := put(b.ctx, tx, license(n)); err != nil {
				return err
			}
			return put(b.ctx, tx, entry("after", n))
		})
		if got == nil {
			continue
		}
		if !b.equal(err, nil, "Update that went on after %s returned %q", c.name, got) {
			continue
		}
		for _, kind := range []string{"before", "after"} {
			_, err := b.Entry(b.ctx, kind, entry(kind, n).Key)
			b.equal(err, nil, "Entry written %s %s returned %q", kind, c.name, got)
		}
	}
}

// overCalls makes every call on a Tx that is over, and on a Reader.
func (b *bench) overCalls(tx store.Tx, r store.Reader, seq int64, when string) {
	before := b.dump()
	if r == nil {
		r = tx
	}
	for _, c := range readCalls {
		b.is(c.call(b.ctx, r), store.ErrTxDone, "%s %s", c.method, when)
	}
	if tx != nil {
		for _, c := range append([]writeCall{replaceEventCall(seq)}, writeCalls...) {
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

// usable looks that the store still does its work, and leaves it at version 2.
func (b *bench) usable(after string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.sees(b.Store, 1, 1, "on the store, after %s", after)
		b.ok(b.try(func(tx store.Tx) error { return write(b.ctx, tx, 2) }), "the next Update after %s", after)
	}()
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
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { caught = recover() }()
		_ = b.Update(b.ctx, func(tx store.Tx) error {
			if err := write(b.ctx, tx, 2); err != nil {
				return err
			}
			panic(value)
		})
		returned = true
	}()
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
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Update(b.ctx, func(tx store.Tx) error {
			if err := write(b.ctx, tx, 2); err != nil {
				return err
			}
			runtime.Goexit()
			return nil
		})
		returned = true
	}()
	if !b.answers(done) {
		b.stop("none", "the end of the goroutine", "Update whose function called runtime.Goexit")
	}
	b.equal(returned, false, "Update returned, though its function called runtime.Goexit")
	b.usable("runtime.Goexit")
}
