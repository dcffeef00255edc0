package storetest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
)

// bulkCases check the methods that take several records.
func bulkCases() []testCase {
	return []testCase{
		{"Bulk", "Together", 14, func(b *bench) { b.inOneCall(40, "", 1, 20, 39) }},
		{"Bulk", "ManyTogether", 14, func(b *bench) {
			if !testing.Short() {
				b.inOneCall(5000, "(Key taken)", 4999)
			}
		}},
		{"Bulk", "ManyUndone", 4, manyUndone},
		{"Bulk", "TwiceInACall", 14, twiceInACall},
	}
}

// A holding is the number of licenses, of activations of the first license, of
// events and of entries of a kind, and a digest of each.
type holding [4]struct {
	records int
	digest  uint64
}

// held reads everything that a batch writes, however much that is.
func (b *bench) held() (h holding) {
	b.view(func(r store.Reader) (failed error) {
		h = holding{}
		pages := func(i int, page func() (rows any, n int, err error)) {
			for n := store.MaxLimit; n == store.MaxLimit && h[i].records < 10*store.MaxLimit && failed == nil; {
				var rows any
				if rows, n, failed = page(); failed == nil {
					hash := fnv.New64a()
					fmt.Fprintf(hash, "%x %+v", h[i].digest, rows)
					h[i].records, h[i].digest = h[i].records+n, hash.Sum64()
				}
			}
		}
		var licenses store.LicenseQuery
		pages(0, func() (any, int, error) {
			rows, err := r.Licenses(b.ctx, licenses)
			for _, l := range rows {
				licenses.After.ID = l.ID
			}
			return rows, len(rows), err
		})
		seats := store.ActivationQuery{LicenseID: license(1).ID}
		pages(1, func() (any, int, error) {
			rows, err := r.Activations(b.ctx, seats)
			for _, a := range rows {
				seats.After = a.ID
			}
			return rows, len(rows), err
		})
		var events store.EventQuery
		pages(2, func() (any, int, error) {
			rows, err := r.Events(b.ctx, events)
			for _, e := range rows {
				events.After = e.Seq
			}
			return rows, len(rows), err
		})
		entries := store.EntryQuery{Kind: "kind"}
		pages(3, func() (any, int, error) {
			rows, err := r.Entries(b.ctx, entries)
			for _, e := range rows {
				entries.After.ID = e.Key
			}
			return rows, len(rows), err
		})
		return failed
	})
	return h
}

// holds compares the numbers of licenses, activations, events and entries.
func (b *bench) holds(when string, want ...int) {
	var got []int
	for _, of := range b.held() {
		got = append(got, of.records)
	}
	b.under(24).equal(got, want, "licenses, activations, events and entries %s", when)
}

// inOneCall gives each method n records, and then others of which the one at a place
// must be refused: the call returns the sentinel and does nothing. Creating licenses and
// activations can be refused for several reasons, of which only some may be tried.
func (b *bench) inOneCall(n int, reasons string, places ...int) {
	one, all := license(1).ID, newBatch(n)
	b.under(24).update(func(tx store.Tx) error {
		return errors.Join(tx.AppendEvents(b.ctx), tx.CreateLicenses(b.ctx), tx.PutActivations(b.ctx), tx.PutEntries(b.ctx),
			tx.DeleteActivations(b.ctx, one), tx.DeleteEntries(b.ctx, "kind"), all.add(b.ctx, tx))
	})
	b.holds(fmt.Sprintf("after %d of each were written in one call", n), n, n, n, n)
	before := b.held()
	refused := func(want error, place int, what string, call func(tx store.Tx) error) {
		var err error
		b.update(func(tx store.Tx) error {
			err = call(tx)
			return nil
		})
		b.is(err, want, "%s with %d records, of which number %d is refused", what, n, place)
		b.equal(b.held(), before, "what is held after %s with %d records, of which number %d is refused", what, n, place)
	}
	var fresh batch
	for i := range n {
		l, a, e := license(n+i+1), activation(one, n+i+1), entry("kind", n+i+1)
		fresh.licenses, fresh.seats, fresh.entries = append(fresh.licenses, l), append(fresh.seats, a), append(fresh.entries, e)
	}
	for _, place := range places {
		ids, _ := all.ids()
		ids[place] = "missing"
		refused(store.ErrNotFound, place, "DeleteActivations", func(tx store.Tx) error { return tx.DeleteActivations(b.ctx, one, ids...) })
		first := 0 // another record of the call
		for what, spoil := range map[string]func(l *store.License){
			"CreateLicenses (ID taken)":               func(l *store.License) { l.ID = one },
			"CreateLicenses (Key taken)":              func(l *store.License) { l.Key = all.licenses[n-1].Key },
			"CreateLicenses (ID of one in the call)":  func(l *store.License) { l.ID = fresh.licenses[first].ID },
			"CreateLicenses (Key of one in the call)": func(l *store.License) { l.Key = fresh.licenses[first].Key },
		} {
			if !strings.Contains(what, reasons) {
				continue
			}
			rows := slices.Clone(fresh.licenses)
			spoil(&rows[place])
			refused(store.ErrExists, place, what, func(tx store.Tx) error { return tx.CreateLicenses(b.ctx, rows...) })
		}
		for what, spoil := range map[string]func(a *store.Activation) error{
			"PutActivations (license missing)": func(a *store.Activation) error { a.LicenseID = "missing"; return store.ErrNotFound },
			"PutActivations (Key taken)":       func(a *store.Activation) error { a.Fingerprint = all.seats[n-1].Fingerprint; return store.ErrExists },
			"PutActivations (fingerprint of one in the call)": func(a *store.Activation) error {
				a.Fingerprint = fresh.seats[first].Fingerprint
				return store.ErrExists
			},
		} {
			if !strings.Contains(what, reasons) {
				continue
			}
			rows := slices.Clone(fresh.seats)
			want := spoil(&rows[place])
			refused(want, place, what, func(tx store.Tx) error { return tx.PutActivations(b.ctx, rows...) })
		}
		rows := slices.Clone(fresh.entries)
		rows[place].Kind = strings.Repeat("k", store.MaxKind+1)
		b.update(func(tx store.Tx) error {
			_ = tx.PutEntries(b.ctx, rows...) // its error is for rule 24
			return nil
		})
		b.under(24).equal(b.held(), before, "what is held after PutEntries with %d records, of which number %d has a kind that is too long", n, place)
		before = b.held()
	}
	ids, keys := all.ids()
	removed := 0
	b.update(func(tx store.Tx) (err error) {
		removed, err = tx.DeleteEvents(b.ctx, 1<<62, n-1)
		return errors.Join(err, tx.DeleteActivations(b.ctx, one, ids[1:]...), tx.DeleteEntries(b.ctx, "kind", append(keys[1:], "missing", keys[1])...)) // one that is missing, and one twice
	})
	b.under(21).equal(removed, n-1, "DeleteEvents with a limit of %d, of %d events", n-1, n)
	b.holds(fmt.Sprintf("after all but one of %d were deleted in one call", n), n, 1, n-removed, 1)
}

// manyUndone undoes Updates that write and delete many records in each call.
func manyUndone(b *bench) {
	n := 3000
	if testing.Short() {
		n = 30
	}
	s := newBatch(n)
	empty := b.held()
	_ = b.undo(func(tx store.Tx) error { return s.add(b.ctx, tx) })
	b.equal(b.held(), empty, "what is held after an Update failed that wrote %d records of each type", n)
	b.addBatch(s)
	full := b.held()
	ids, keys := s.ids()
	_ = b.undo(func(tx store.Tx) error {
		_, err := tx.DeleteEvents(b.ctx, 1<<62, n)
		return errors.Join(err, tx.DeleteActivations(b.ctx, license(1).ID, ids...), tx.DeleteEntries(b.ctx, "kind", keys...))
	})
	b.equal(b.held(), full, "what is held after an Update failed that deleted %d records of each type", n)
}

// twiceInACall puts records several times in one call: the last counts, and a
// fingerprint that an earlier one has given up is free.
func twiceInACall(b *bench) {
	var one string
	seat := func(id, print string) store.Activation {
		a := activation(one, 1)
		a.ID, a.Fingerprint, a.Document = id, print, []byte(id+" "+print)
		return a
	}
	e, last := entry("kind", 1), entry("kind", 1)
	last.Owner = "last"
	for n, together := range []bool{true, false} {
		one = license(2 * n).ID
		b.add(license(2*n), seat("old", "old"), license(2*n+1), store.Activation{LicenseID: license(2*n + 1).ID, ID: "a", Fingerprint: "f"}) // of another license
		var err error
		b.update(func(tx store.Tx) error {
			err = nil // it may run again
			if seats := []store.Activation{seat("a", "f"), seat("a", "g"), seat("b", "f"), seat("old", "new"), seat("c", "old"), seat("b", "h"), seat("d", "f")}; together {
				err = tx.PutActivations(b.ctx, seats...)
			} else {
				for _, a := range seats {
					err = errors.Join(err, tx.PutActivations(b.ctx, a))
				}
			}
			return tx.PutEntries(b.ctx, slices.Concat([]store.Entry{e}, newBatch(200).entries[1:], []store.Entry{last})...)
		})
		b.equal(err, nil, "PutActivations of some that take what others in the call, or in the Update, have given up")
		for _, want := range []store.Activation{seat("a", "g"), seat("b", "h"), seat("c", "old"), seat("d", "f"), seat("old", "new")} {
			got, err := b.Activation(b.ctx, one, want.Fingerprint)
			b.equal(err, nil, "Activation %q", want.Fingerprint)
			b.equal(string(got.Document), string(want.Document), "Document of the activation with a fingerprint that another had given up")
		}
		got, err := b.Entry(b.ctx, e.Kind, e.Key)
		b.equal(err, nil, "Entry")
		b.equal(got.Owner, last.Owner, "Owner of an entry that was put twice in one call")
	}
}
