package storetest

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

func viewCases() []testCase {
	return []testCase{
		{"Views", "ReadsSeeOneState", 6, readsSeeOneState},
		{"Views", "NoPartOfAnUpdate", 4, noPartOfAnUpdate},
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

func viewOver(b *bench) {
	b.write(1)
	for _, end := range []error{nil, errOnPurpose} {
		var over store.Reader
		_ = b.View(b.ctx, func(r store.Reader) error {
			over = r
			return end
		})
		b.overCalls(nil, over, 0, fmt.Sprintf("after the function of the View had returned %v", end))
	}
}

// viewPanic ends many Views by a panic or runtime.Goexit, more than a store may have
// open, and then writes more than fits beside what an open one holds.
func viewPanic(b *bench) {
	b.write(1)
	value := new(int)
	for n := range 40 {
		var caught any
		ended := b.start(func() {
			defer func() { caught = recover() }()
			_ = b.View(b.ctx, func(r store.Reader) error {
				if _, err := r.License(b.ctx, license(1).ID); err != nil {
					return err
				}
				if n%2 == 0 {
					panic(value)
				}
				runtime.Goexit()
				return nil
			})
		})
		if !b.answers(ended) {
			b.stop("none", "an end", "View %d of some whose functions panic", n)
		}
		b.equal(caught == any(value), n%2 == 0, "the function's panic reaches the caller of View")
	}
	grown := b.start(func() {
		for n := range 8 {
			e := entry("large", n)
			e.Data = make([]byte, maxDocument)
			b.ok(b.tryAdd(e), "an Update after panics in Views")
		}
	})
	if !b.answers(grown) {
		b.stop("none", "an answer", "Update after panics in Views")
	}
	b.usable("panics in Views")
}
