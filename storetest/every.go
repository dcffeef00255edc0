package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
)

// everyCases check a rule with every question.
func everyCases() []testCase {
	return []testCase{
		{"Every", "OwnWrites", 3, everyOwnWrites},
		{"Every", "Undone", 4, everyUndone},
		{"Every", "Snapshot", 6, everySnapshot},
		{"Every", "Decision", 5, everyDecision},
		{"Every", "Edit", 5, everyEdit},
		{"Every", "Limit", 11, everyLimit},
		{"Every", "EndsWithin", 18, everyEndsWithin},
	}
}

// change reads, and then rewrites.
func change(b *bench, tx store.Tx, feed bool) error {
	if _, err := answers(b.ctx, tx); err != nil {
		return err
	}
	return rewrite(b, tx, feed)
}

// rewrite changes, removes and adds records of each type, so that every question has
// another answer than after a batch of three. If feed is false, it neither adds nor
// removes events.
func rewrite(b *bench, tx store.Tx, feed bool) error {
	events, err := tx.Events(b.ctx, store.EventQuery{Limit: many})
	if err != nil || len(events) < 2 {
		return err
	}
	s := newBatch(5)
	s.licenses[0].Document, s.seats[0].Document, s.entries[0].Data, events[1].Data = []byte("changed"), []byte("changed"), []byte("changed"), []byte("changed")
	added := batch{s.licenses[3:], s.seats[3:], nil, s.entries[3:]}
	if feed {
		added.events = s.events[3:]
		_, err = tx.DeleteEvents(b.ctx, events[0].Seq, 1)
	}
	return errors.Join(err, tx.ReplaceEvent(b.ctx, events[1]), tx.UpdateLicense(b.ctx, s.licenses[0]), tx.DeleteLicense(b.ctx, s.licenses[1].ID),
		tx.PutActivations(b.ctx, s.seats[0]), tx.DeleteActivations(b.ctx, s.seats[1].LicenseID, s.seats[1].ID),
		tx.PutEntries(b.ctx, s.entries[0]), tx.DeleteEntries(b.ctx, s.entries[1].Kind, s.entries[1].Key), added.add(b.ctx, tx))
}

// changes are functions of Updates that follow each other.
func (b *bench) changes() []func(tx store.Tx) error {
	return []func(tx store.Tx) error{
		func(tx store.Tx) error { return newBatch(3).add(b.ctx, tx) },
		func(tx store.Tx) error { return change(b, tx, true) },
	}
}

func (b *bench) addBatch(s batch) {
	b.under(24).update(func(tx store.Tx) error { return s.add(b.ctx, tx) })
}

// everyOwnWrites compares the answers in the Update that writes with those after it.
func everyOwnWrites(b *bench) {
	var within map[string]string
	for _, write := range b.changes() {
		b.update(func(tx store.Tx) (err error) {
			if err := write(tx); err != nil {
				return err
			}
			within, err = answers(b.ctx, tx)
			return err
		})
		after, err := answers(b.ctx, b.Store)
		b.ok(err, "reading")
		b.sameAnswers(within, after, "in the Update that wrote it")
	}
}

// everyUndone compares the answers before an Update that fails with those after it.
func everyUndone(b *bench) {
	for _, write := range b.changes() {
		before, err := answers(b.ctx, b.Store)
		b.under(14).ok(err, "reading")
		b.is(b.undo(write), errOnPurpose, "Update whose function failed")
		b.readers(func(how string, r store.Reader) {
			after, err := answers(b.ctx, r)
			b.under(14).equal(err, nil, "reading %s", how)
			b.sameAnswers(after, before, how+", after an Update had failed")
		})
		b.update(write)
	}
}

// everySnapshot has an Update commit between two answers in one View, and then reads more
// than 1,000 times.
func everySnapshot(b *bench) {
	b.addBatch(newBatch(3))
	wait := func() {}
	var before, after map[string]string
	b.under(14).view(func(r store.Reader) (err error) {
		if before, err = answers(b.ctx, r); err != nil {
			return err
		}
		wait = b.during(func() { b.update(func(tx store.Tx) error { return change(b, tx, true) }) })
		for n := 0; n < 1100 && err == nil; n++ {
			_, err = r.License(b.ctx, license(1).ID)
		}
		if err == nil {
			after, err = answers(b.ctx, r)
		}
		return err
	})
	wait()
	b.sameAnswers(after, before, "in a View, after an Update had changed it")
}

// everyDecision has Updates meet, each of which writes only if a question finds
// nothing: one of them writes. With -short, it asks every eighth question.
func everyDecision(b *bench) {
	for i, q := range questions {
		if testing.Short() && i%8 != 0 {
			continue
		}
		if _, seat := q.row(1).(store.Activation); seat {
			b.add(license(1))
		}
		meet := newMeeting(crowd)
		var in atomic.Int32
		var written atomic.Value
		b.together(crowd, func(i int) {
			wrote, row := false, q.row(i+2)
			b.update(func(tx store.Tx) error {
				wrote = false
				_, found, err := q.ask(b.ctx, tx, many)
				if err != nil {
					return err
				}
				meet.wait()
				if found > 0 {
					return nil
				}
				wrote = true
				return put(b.ctx, tx, row)
			})
			if wrote {
				in.Add(1)
				written.Store(row)
			}
		})
		if !b.equal(in.Load(), int32(1), "Updates that wrote, of %d that write if %s finds nothing", crowd, q.shape) {
			return
		}
		b.update(func(tx store.Tx) error {
			row := written.Load()
			if _, ok := row.(store.Event); ok {
				_, err := tx.DeleteEvents(b.ctx, 1<<62, many)
				return err
			}
			err := remove(b.ctx, tx, row)
			if _, seat := row.(store.Activation); seat {
				err = errors.Join(err, tx.DeleteLicense(b.ctx, license(1).ID))
			}
			return err
		})
	}
}

// everyEdit has Updates read a record and make its document one byte longer.
func everyEdit(b *bench) {
	const rounds = 5
	l, a, e := license(1), activation(license(1).ID, 1), entry("kind", 1)
	b.add(l, a, e, event(1))
	type read func(r store.Reader, more ...byte) (row any, length int, err error)
	for what, read := range map[string]read{
		"a license": func(r store.Reader, more ...byte) (any, int, error) {
			l, err := r.License(b.ctx, l.ID)
			l.Document = append(l.Document, more...)
			return l, len(l.Document), err
		},
		"an activation": func(r store.Reader, more ...byte) (any, int, error) {
			a, err := r.Activation(b.ctx, a.LicenseID, a.Fingerprint)
			a.Document = append(a.Document, more...)
			return a, len(a.Document), err
		},
		"an entry": func(r store.Reader, more ...byte) (any, int, error) {
			e, err := r.Entry(b.ctx, e.Kind, e.Key)
			e.Data = append(e.Data, more...)
			return e, len(e.Data), err
		},
		"an event": func(r store.Reader, more ...byte) (any, int, error) {
			rows, err := r.Events(b.ctx, store.EventQuery{Limit: 1})
			if err != nil || len(rows) == 0 {
				return nil, 0, fmt.Errorf("the event: %w", errors.Join(err, store.ErrNotFound))
			}
			rows[0].Data = append(rows[0].Data, more...)
			return rows[0], len(rows[0].Data), nil
		},
	} {
		_, before, err := read(b.Store)
		b.ok(err, "reading %s", what)
		meet := newMeeting(crowd)
		b.together(crowd, func(int) {
			for range rounds {
				b.update(func(tx store.Tx) error {
					row, _, err := read(tx, 'x')
					if err != nil {
						return err
					}
					meet.wait()
					return replace(b.ctx, tx, row)
				})
			}
		})
		_, after, err := read(b.Store)
		b.ok(err, "reading %s", what)
		b.equal(after-before, crowd*rounds, "bytes that %d Updates, each of which added one, added to %s", crowd*rounds, what)
	}
}

// everyLimit lists one record more than any list may return, with various Limits, or
// with three of them with -short.
func everyLimit(b *bench) {
	const n = store.MaxLimit + 1
	limits := []int{0, 101, n, -1, 1, store.MaxLimit - 1, store.MaxLimit}
	if testing.Short() {
		limits = limits[:3]
	}
	s := newBatch(n)
	b.addBatch(s)
	full := func(names bool) {
		for _, q := range questions {
			if named := q.shape == "LicenseNames: ByCustomer" || q.shape == "LicenseNames: ByProduct"; !q.limited || named != names {
				continue
			}
			for _, limit := range limits {
				_, got, err := q.ask(b.ctx, b.Store, limit)
				b.under(q.rule).equal(err, nil, "%s", q.shape)
				b.under(q.rule).equal(got, store.Limit(limit), "records of %s with a Limit of %d, of %d", q.shape, limit, n)
			}
		}
	}
	full(false)
	b.update(func(tx store.Tx) error { // to licenses with names of their own
		for i := range s.licenses {
			if err := tx.UpdateLicense(b.ctx, license(i+1)); err != nil {
				return err
			}
		}
		return nil
	})
	full(true)
}

// A fading context ends when its Err has been called a number of times.
type fading struct {
	context.Context
	left atomic.Int32
}

func (f *fading) Err() error {
	if f.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// everyEndsWithin ends the context of a call while the call runs, at every point at
// which it looks.
func everyEndsWithin(b *bench) {
	b.addBatch(newBatch(60))
	for _, q := range questions {
		_, want, err := q.ask(b.ctx, b.Store, many)
		b.ok(err, "%s", q.shape)
		whole := 0 // since a call has not looked any further
		for n := int32(0); n <= 70 && whole < 3; n++ {
			ctx := &fading{Context: b.ctx}
			ctx.left.Store(n)
			b.view(func(r store.Reader) error {
				_, got, err := q.ask(ctx, r, many)
				if err == nil && got != want {
					b.fail(got, want, "records of %s, whose context ended within the call, and which returned no error", q.shape)
				}
				if n == 0 {
					b.is(err, context.Canceled, "%s in a View, with a context that has ended", q.shape)
				}
				if err == nil && ctx.left.Load() > 0 {
					whole++
				}
				return nil
			})
		}
	}
}
