package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// skipped returns how many rows a filter leaves out before the first that matches:
// more than the internal bounds that backends may have, such as pages of
// store.MaxLimit, twice and half of that, or a few with go test -short.
func skipped() int {
	if testing.Short() {
		return 30
	}
	return 2*store.MaxLimit + 100
}

func longListCases() []testCase {
	return []testCase{
		{"LongLists", "Filtered", 11, longFiltered},
		{"LongLists", "FilteredActivationsAndEvents", 11, longOthers},
	}
}

// fill adds rows in Updates of 500, so that none takes long, each with one call for
// the rows of a kind.
func (b *bench) fill(rows []any) {
	for chunk := range slices.Chunk(rows, 500) {
		b.update(func(tx store.Tx) error {
			err := tx.AppendEvents(b.ctx, only[store.Event](chunk)...)
			return errors.Join(tx.CreateLicenses(b.ctx, only[store.License](chunk)...),
				tx.PutActivations(b.ctx, only[store.Activation](chunk)...), tx.PutEntries(b.ctx, only[store.Entry](chunk)...), err)
		})
	}
}

// only returns the rows of one type.
func only[R any](rows []any) (list []R) {
	for _, row := range rows {
		if row, ok := row.(R); ok {
			list = append(list, row)
		}
	}
	return list
}

// longFiltered lists matching rows that come after many others. A page must be
// full however many rows the store has to skip.
func longFiltered(b *bench) {
	n := skipped()
	var rows []any
	var want, owned []string
	for i := range n + 20 {
		l, e := license(i), entry("kind", i)
		l.CustomerID, l.ProductID, l.State = "customer", "product", "skipped"
		l.StartsAt, l.ExpiresAt = day(1), day(2)
		e.Owner = "skipped"
		if i >= n/2 && i%2 == 0 && len(want) < 10 || i >= n+10 {
			l.State, e.Owner = "wanted", "wanted"
			want, owned = append(want, l.ID), append(owned, e.Key)
		}
		rows = append(rows, l, e)
	}
	b.fill(rows)
	for _, q := range []store.LicenseQuery{
		{}, {CustomerID: "customer"}, {ProductID: "product"}, {CustomerID: "customer", ProductID: "product"},
		{Order: store.ByExpiresAt}, {Order: store.ByStartsAt, CustomerID: "customer"},
	} {
		q.State, q.Limit = "wanted", many
		for _, q.Descending = range []bool{false, true} {
			found, err := b.Licenses(b.ctx, q)
			b.equal(err, nil, "Licenses")
			b.equal(slices.Sorted(slices.Values(licenseIDs(found))), want, "licenses, of which %d of %d match, for %+v", len(want), n+20, q)
		}
	}
	found, err := b.Entries(b.ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, Owner: "wanted", Limit: many})
	b.equal(err, nil, "Entries")
	b.equal(slices.Sorted(slices.Values(entryKeys(found))), owned, "entries, of which %d of %d match", len(owned), n+20)
}

// longOthers lists activations and events that come after many that do not match.
func longOthers(b *bench) {
	n := skipped()
	rows := []any{license(1)}
	for i := range n + 3 {
		a, e := activation(license(1).ID, i), event(i)
		e.Subject, e.CustomerID, e.ProductID = "subject", "customer", "skipped"
		if i >= n {
			a.EndedAt, a.LeaseEndsAt, e.ProductID = time.Time{}, time.Time{}, "wanted"
		}
		rows = append(rows, a, e)
	}
	b.fill(rows)
	seats, err := b.Activations(b.ctx, store.ActivationQuery{LicenseID: license(1).ID, LiveAt: day(1), Limit: many})
	b.equal(err, nil, "Activations")
	b.equal(len(seats), 3, "active activations after %d that have ended", n)
	for _, q := range []store.EventQuery{{Subject: "subject"}, {CustomerID: "customer"}} {
		q.ProductID = "wanted"
		b.equal(len(b.feed(q)), 3, "events after %d that do not match, for %+v", n, q)
	}
}
