package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A size is how many records the cases on long lists write.
type size struct {
	skipped int // rows that a filter leaves out before the first that matches
	listed  int // rows of one list
}

// The long form exceeds the internal bounds that backends may have: pages of
// store.MaxLimit, twice and half of that. go test -short runs the short form.
var (
	longForm  = size{skipped: 2*store.MaxLimit + 100, listed: store.MaxLimit/2 + 30}
	shortForm = size{skipped: 30, listed: 20}
)

func sizes() size {
	if testing.Short() {
		return shortForm
	}
	return longForm
}

func longListCases() []testCase {
	return []testCase{
		{"LongLists", "Filtered", 11, longFiltered},
		{"LongLists", "FilteredActivationsAndEvents", 11, longOthers},
		{"LongLists", "OneCustomer", 11, longCustomer},
		{"LongLists", "Removal", 21, longRemoval},
	}
}

// fill adds rows in Updates of 500, so that none takes long, each with one call for
// the rows of a kind.
func (b *bench) fill(rows []any) {
	for chunk := range slices.Chunk(rows, 500) {
		b.update(func(tx store.Tx) error {
			_, err := tx.AppendEvents(b.ctx, only[store.Event](chunk)...)
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
	n := sizes()
	var rows []any
	var want, owned []string
	for i := range n.skipped + 20 {
		l, e := license(i), entry("kind", i)
		l.CustomerID, l.ProductID, l.State = "customer", "product", "skipped"
		l.StartsAt, l.ExpiresAt = day(1), day(2)
		e.Owner = "skipped"
		if i >= n.skipped/2 && i%2 == 0 && len(want) < 10 || i >= n.skipped+10 {
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
			b.equal(slices.Sorted(slices.Values(licenseIDs(found))), want, "licenses, of which %d of %d match, for %+v", len(want), n.skipped+20, q)
		}
	}
	found, err := b.Entries(b.ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, Owner: "wanted", Limit: many})
	b.equal(err, nil, "Entries")
	b.equal(slices.Sorted(slices.Values(entryKeys(found))), owned, "entries, of which %d of %d match", len(owned), n.skipped+20)
}

// longOthers lists activations and events that come after many that do not match.
func longOthers(b *bench) {
	n := sizes().skipped
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

// longCustomer lists every license of a customer and every activation of a
// license in one page.
func longCustomer(b *bench) {
	n := sizes().listed
	one := license(n)
	one.CustomerID = "other"
	rows := []any{one}
	for i := range n {
		l := license(i)
		l.CustomerID = "customer"
		rows = append(rows, l, activation(one.ID, i))
	}
	b.fill(rows)
	for _, limit := range []int{0, n, n - 1} {
		want := min(n, store.Limit(limit))
		found, err := b.Licenses(b.ctx, store.LicenseQuery{CustomerID: "customer", Limit: limit})
		b.equal(err, nil, "Licenses")
		b.equal(len(found), want, "licenses of one customer, who has %d, with a Limit of %d", n, limit)
		seats, err := b.Activations(b.ctx, store.ActivationQuery{LicenseID: one.ID, Limit: limit})
		b.equal(err, nil, "Activations")
		b.equal(len(seats), want, "activations of one license, which has %d, with a Limit of %d", n, limit)
	}
}

// longRemoval removes more events in one call than a list returns.
func longRemoval(b *bench) {
	n := sizes().skipped
	b.fill(manyEvents(n))
	var removed int
	b.update(func(tx store.Tx) (err error) {
		removed, err = tx.DeleteEvents(b.ctx, 1<<62, n-1)
		return err
	})
	b.equal(removed, n-1, "DeleteEvents with a limit of %d, of %d events", n-1, n)
	b.equal(eventIDs(b.feed(store.EventQuery{})), []string{event(n - 1).ID}, "events after DeleteEvents with a limit of %d, of %d", n-1, n)
}
