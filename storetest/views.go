package storetest

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

func viewCases() []testCase {
	return []testCase{
		{"Views", "Snapshot", 6, viewSnapshot},
		{"Views", "SnapshotOfLists", 6, viewSnapshotOfLists},
		{"Views", "ReadsSeeOneState", 6, readsSeeOneState},
		{"Views", "NoPartOfAnUpdate", 4, noPartOfAnUpdate},
		{"Views", "ErrorComesBack", 6, viewErrorComesBack},
		{"Views", "Over", 16, viewOver},
		{"Views", "Panic", 17, viewPanic},
	}
}

// during starts fn and waits briefly for it: in a store whose Updates wait for
// Views, it cannot end before the View does. The returned function waits until fn
// has ended.
func (b *bench) during(fn func()) (wait func()) {
	done := b.start(fn)
	windowOr(done)
	return func() { <-done }
}

// viewSnapshot has an Update commit between the reads of a View.
func viewSnapshot(b *bench) {
	b.write(1)
	wait := func() {}
	var before, after []sighting
	b.view(func(r store.Reader) (err error) {
		if before, err = look(b.ctx, r); err != nil {
			return err
		}
		wait = b.during(func() { b.write(2) })
		after, err = look(b.ctx, r)
		return err
	})
	wait()
	b.compare(before, 1, 1, "in a View")
	b.compare(after, 1, 1, "in the same View, after version 2 was written")
	seen, err := look(b.ctx, b.Store)
	b.ok(err, "on the store")
	b.under(2).compare(seen, 2, 2, "on the store, after the View")

	b.view(func(r store.Reader) (err error) { // the same with what goes away
		if before, err = look(b.ctx, r); err != nil {
			return err
		}
		wait = b.during(func() { b.update(func(tx store.Tx) error { return erase(b.ctx, tx, 2) }) })
		after, err = look(b.ctx, r)
		return err
	})
	wait()
	b.compare(before, 2, 2, "in a View")
	b.compare(after, 2, 2, "in the same View, after everything except the events was deleted")
}

// viewSnapshotOfLists adds a row and deletes another between two lists.
func viewSnapshotOfLists(b *bench) {
	b.add(license(1), license(2), license(3))
	wait := func() {}
	var before, after []store.License
	b.view(func(r store.Reader) (err error) {
		if before, err = r.Licenses(b.ctx, store.LicenseQuery{Limit: many}); err != nil {
			return err
		}
		wait = b.during(func() {
			b.update(func(tx store.Tx) error {
				if err := remove(b.ctx, tx, license(2)); err != nil {
					return err
				}
				return put(b.ctx, tx, license(4))
			})
		})
		after, err = r.Licenses(b.ctx, store.LicenseQuery{Limit: many})
		return err
	})
	wait()
	b.equal(licenseIDs(after), licenseIDs(before), "licenses in the second list of one View")
}

// torn runs Updates that give two licenses the same revision, one higher each
// time, and concurrently calls read, which returns a revision that it saw and
// whether it found no failure.
func torn(b *bench, read func(first, second string) (revision int, ok bool)) {
	first, second := license(1), license(2)
	first.Document, second.Document = []byte("0"), []byte("0")
	b.add(first, second)
	var over atomic.Bool
	b.together(2, func(i int) {
		if i == 1 {
			defer over.Store(true)
			revision, ok := 0, true
			for n := 0; ok && (n < 50 || n < 5000 && revision < 5); n++ {
				revision, ok = read(first.ID, second.ID)
				runtime.Gosched()
			}
			return
		}
		for n := 1; !over.Load(); n++ {
			b.update(func(tx store.Tx) error {
				first, second := first, second
				first.Document, second.Document = fmt.Appendf(nil, "%d", n), fmt.Appendf(nil, "%d", n)
				if err := tx.UpdateLicense(b.ctx, first); err != nil {
					return err
				}
				runtime.Gosched()
				return tx.UpdateLicense(b.ctx, second)
			})
		}
	})
}

// readsSeeOneState lists what Updates change together. Where the first of two
// gets in a View shows an older state than the second, an Update came between
// them; the other way round, part of an Update was seen, which the
// next case covers.
func readsSeeOneState(b *bench) {
	torn(b, func(first, second string) (int, bool) {
		rows, err := b.Licenses(b.ctx, store.LicenseQuery{Limit: many})
		b.ok(err, "Licenses")
		if len(rows) == 2 && !b.equal(numberIn(rows[0].Document), numberIn(rows[1].Document), "revisions in one list, always written together") {
			return 0, false
		}
		var one, two store.License
		b.view(func(r store.Reader) (err error) {
			if one, err = r.License(b.ctx, first); err != nil {
				return err
			}
			runtime.Gosched()
			two, err = r.License(b.ctx, second)
			return err
		})
		if one, two := numberIn(one.Document), numberIn(two.Document); one < two {
			b.fail(two, one, "revision of the second license in a View, always written with the first")
			return 0, false
		}
		return numberIn(two.Document), true
	})
}

// noPartOfAnUpdate checks that the first of two licenses is never ahead of the
// second, which is read later.
func noPartOfAnUpdate(b *bench) {
	torn(b, func(first, second string) (int, bool) {
		one, err := b.License(b.ctx, first)
		b.ok(err, "License")
		two, err := b.License(b.ctx, second)
		b.ok(err, "License")
		if one, two := numberIn(one.Document), numberIn(two.Document); one > two {
			b.fail(two, one, "revision of the second license, read after the first and always written with it")
			return 0, false
		}
		return numberIn(two.Document), true
	})
}

func viewErrorComesBack(b *bench) {
	b.is(b.View(b.ctx, func(store.Reader) error { return errOnPurpose }), errOnPurpose, "View whose function failed")
	b.equal(b.View(b.ctx, func(store.Reader) error { return nil }), nil, "View whose function returned nil")
}

func viewOver(b *bench) {
	b.write(1)
	var over store.Reader
	b.view(func(r store.Reader) error {
		over = r
		return nil
	})
	b.overCalls(nil, over, 0, "after the function of the View had returned nil")
	_ = b.View(b.ctx, func(r store.Reader) error {
		over = r
		return errOnPurpose
	})
	b.overCalls(nil, over, 0, "after the function of the View had failed")
}

// viewPanic panics in a View.
func viewPanic(b *bench) {
	b.write(1)
	value := new(int)
	var caught any
	func() {
		defer func() { caught = recover() }()
		_ = b.View(b.ctx, func(store.Reader) error { panic(value) })
	}()
	b.equal(caught == any(value), true, "the function's panic reaches the caller of View")
	b.together(1, func(int) {
		_ = b.View(b.ctx, func(store.Reader) error {
			runtime.Goexit()
			return nil
		})
	})
	b.usable("panics in Views")
}
