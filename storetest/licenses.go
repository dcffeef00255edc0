package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

func licenseCases() []testCase {
	list := licenses.cases()
	for _, order := range []store.LicenseOrder{store.ByID, store.ByExpiresAt, store.ByStartsAt} {
		list = append(list, licenseListing(order, false).cases()...)
		list = append(list, licenseListing(order, true).cases()...)
	}
	return append(list,
		testCase{"Licenses", "Filters", 11, licenseFilters},
		testCase{"Licenses", "PagingIDs", 12, pageOfIDs},
		testCase{"Licenses", "Rekeyed", 9, licenseRekeyed},
		testCase{"Licenses", "LeavesActivations", 19, licenseLeavesActivations},
		testCase{"Licenses", "LeavesActivationsAmongOthers", 19, licenseLeavesActivationsAmongOthers},
		testCase{"Licenses", "KeyIsFree", 19, licenseKeyIsFree},
	)
}

var licenses = kind[store.License]{
	area:     "Licenses",
	plain:    license,
	identity: []string{"ID"},
	unique:   []string{"Key"},
	same:     func(a, b store.License) bool { return a.ID == b.ID },
	replace: func(ctx context.Context, tx store.Tx, _, row store.License) error {
		return tx.UpdateLicense(ctx, row)
	},
	reads: []read[store.License]{
		{"License", func(ctx context.Context, r store.Reader, want store.License) ([]store.License, error) {
			return get(r.License(ctx, want.ID))
		}, true},
		{"LicenseByKey", func(ctx context.Context, r store.Reader, want store.License) ([]store.License, error) {
			return get(r.LicenseByKey(ctx, want.Key))
		}, true},
		{"Licenses", func(ctx context.Context, r store.Reader, want store.License) ([]store.License, error) {
			return r.Licenses(ctx, store.LicenseQuery{Limit: many})
		}, false},
		{"Licenses by CustomerID", func(ctx context.Context, r store.Reader, want store.License) ([]store.License, error) {
			return r.Licenses(ctx, store.LicenseQuery{CustomerID: want.CustomerID, Limit: many})
		}, true},
		{"Licenses by ProductID", func(ctx context.Context, r store.Reader, want store.License) ([]store.License, error) {
			return r.Licenses(ctx, store.LicenseQuery{ProductID: want.ProductID, Limit: many})
		}, true},
		{"Licenses by State", func(ctx context.Context, r store.Reader, want store.License) ([]store.License, error) {
			return r.Licenses(ctx, store.LicenseQuery{State: want.State, Limit: many})
		}, true},
		{"FindLicenses", func(ctx context.Context, r store.Reader, want store.License) ([]store.License, error) {
			rows, _, err := r.FindLicenses(ctx, store.LicenseQuery{Limit: many})
			return rows, err
		}, false},
		{"Licenses by IDs", func(ctx context.Context, r store.Reader, want store.License) ([]store.License, error) {
			return r.Licenses(ctx, store.LicenseQuery{IDs: []string{want.ID}, Limit: many})
		}, true},
	},
	sortedBy: "ID",
	ids: func(ctx context.Context, r store.Reader) ([]string, error) {
		rows, err := r.Licenses(ctx, store.LicenseQuery{Limit: many})
		return licenseIDs(rows), err
	},
}

func licenseIDs(rows []store.License) []string {
	var ids []string
	for _, l := range rows {
		ids = append(ids, l.ID)
	}
	return ids
}

// licenseListing lists one customer's licenses.
func licenseListing(order store.LicenseOrder, descending bool) listing {
	name := map[store.LicenseOrder]string{store.ByID: "ByID", store.ByExpiresAt: "ByExpiresAt", store.ByStartsAt: "ByStartsAt"}[order]
	if descending {
		name += "Descending"
	}
	row := func(rank int) store.License {
		if descending {
			rank = ranks - 1 - rank
		}
		l := license(rank)
		l.CustomerID = "customer"
		// A list in a different order would show.
		pair := rank / 2
		mixed := pair * 7 % ranks
		switch order {
		case store.ByID:
			l.StartsAt, l.ExpiresAt = day(mixed), day(ranks-mixed)
		case store.ByExpiresAt:
			l.ID = fmt.Sprintf("lic_%02d_%02d", mixed, rank)
			l.StartsAt, l.ExpiresAt = day(ranks-pair), day(pair)
		case store.ByStartsAt:
			l.ID = fmt.Sprintf("lic_%02d_%02d", mixed, rank)
			l.StartsAt, l.ExpiresAt = day(pair), day(ranks-pair)
		}
		return l
	}
	var noise []any
	for i := range 3 {
		l := row(i * 20)
		l.ID, l.Key, l.CustomerID = l.ID+"_noise", l.Key+"_noise", "other"
		noise = append(noise, l)
		if order != store.ByID { // a license without the time is not in the order
			l.ID, l.Key, l.CustomerID = l.ID+"_none", l.Key+"_none", "customer"
			if order == store.ByExpiresAt {
				l.ExpiresAt = time.Time{}
			} else {
				l.StartsAt = time.Time{}
			}
			noise = append(noise, l)
		}
	}
	rank := rankOf(func(rank int) string { return row(rank).ID })
	return listing{
		area: "Licenses", name: name, noise: noise,
		row: func(rank int) any { return row(rank) },
		list: func(ctx context.Context, r store.Reader, after, limit int) ([]int, error) {
			q := store.LicenseQuery{CustomerID: "customer", Order: order, Descending: descending, Limit: limit}
			if after >= 0 {
				l := row(after)
				q.After = store.Position{Time: l.StartsAt, ID: l.ID} // by ID, only the ID counts
				switch order {
				case store.ByExpiresAt:
					q.After.Time = l.ExpiresAt.In(elsewhere)
				case store.ByStartsAt:
					q.After.Time = l.StartsAt.In(elsewhere)
				}
			}
			rows, err := r.Licenses(ctx, q)
			var got []int
			for _, l := range rows {
				got = append(got, rank(l.ID))
			}
			return got, err
		},
	}
}

// licenseFilters lists licenses with values from small sets, some of which
// were replaced and some removed.
func licenseFilters(b *bench) {
	rows := b.mixedLicenses()
	type query = store.LicenseQuery
	s := sweep[query, store.License]{
		slices.Concat(licenseFields(),
			by("IDs", func(q *query, v []string) { q.IDs = v }, []string{}, []string{word("lic", 20)}, []string{word("lic", 31), word("lic", 0), word("lic", 12), word("lic", 31)}, licenseIDs(rows)),
			by("Descending", func(q *query, v bool) { q.Descending = v }, true),
		), rows, licenseID,
		func(q query, l store.License) bool {
			p, in := placed(q.Order, l)
			c := cmp.Or(p.Time.Compare(q.After.Time), strings.Compare(p.ID, q.After.ID))
			return in && selects(q, l) && (q.After.IsZero() || c != 0 && c < 0 == q.Descending)
		},
		func(r store.Reader, q query) ([]string, error) {
			q.Limit = many
			rows, err := r.Licenses(b.ctx, q)
			return licenseIDs(rows), err
		},
	}
	s.pairs(b)
	someRanges := []store.TimeRange{{From: day(1)}, {Before: day(2)}, {From: day(1), Before: day(3)}, {Before: day(2), OrNone: true}}
	names := slices.Concat(
		by("CustomerID", func(q *query, v string) { q.CustomerID = v }, "customer_0001"),
		by("ProductID", func(q *query, v string) { q.ProductID = v }, "product_0002"),
		by("State", func(q *query, v store.State) { q.State = v }, store.StateActive, "state_0001"),
	)
	starts := by("Starts", func(q *query, v store.TimeRange) { q.Starts = v }, someRanges...)
	expires := by("Expires", func(q *query, v store.TimeRange) { q.Expires = v }, someRanges...)
	orders := by("Order", func(q *query, v store.LicenseOrder) { q.Order = v }, store.ByExpiresAt, store.ByStartsAt)
	descending := by("Descending", func(q *query, v bool) { q.Descending = v }, true)
	afterID := by("After", func(q *query, v store.Position) { q.After = v }, store.Position{ID: word("lic", 33)})
	afterTime := by("After", func(q *query, v store.Position) { q.Order, q.After = store.ByExpiresAt, v }, store.Position{Time: day(2), ID: word("lic", 33)})
	for _, s.filters = range [][]filter[query]{
		slices.Concat(names, starts, expires, orders, descending),
		slices.Concat(names, descending, afterID),
		slices.Concat(names, expires, descending, afterTime),
	} {
		s.threes(b)
	}
}

// mixedLicenses adds licenses that have few different values, changes and deletes
// some of them, and returns the others in order of ID.
func (b *bench) mixedLicenses() []store.License {
	rnd := rand.New(rand.NewPCG(11, 1))
	draw := func(n int) store.License {
		l := license(n)
		l.CustomerID = word("customer", rnd.IntN(3))
		l.ProductID = word("product", rnd.IntN(3))
		l.State = []store.State{store.StateActive, "state_0001"}[rnd.IntN(2)]
		l.StartsAt, l.ExpiresAt = day(rnd.IntN(4)), day(rnd.IntN(4))
		if rnd.IntN(4) == 0 {
			l.StartsAt = time.Time{}
		}
		return l
	}
	var rows []store.License
	for n := range 60 {
		rows = append(rows, draw(n))
	}
	b.add(anys(rows)...)
	for n := range 20 {
		old := rows[n]
		rows[n] = draw(n)
		rows[n].Key = old.Key
		b.update(func(tx store.Tx) error { return tx.UpdateLicense(b.ctx, rows[n]) })
	}
	for range 10 {
		b.update(func(tx store.Tx) error { return tx.DeleteLicense(b.ctx, rows[0].ID) })
		rows = rows[1:]
	}
	return rows
}

// licenseFields are filters of the fields that all methods know.
func licenseFields() []filter[store.LicenseQuery] {
	type query = store.LicenseQuery
	return slices.Concat(
		by("CustomerID", func(q *query, v string) { q.CustomerID = v }, "customer_0000", "customer_0001", "nothing"),
		by("ProductID", func(q *query, v string) { q.ProductID = v }, "product_0000", "product_0002", "nothing"),
		by("State", func(q *query, v store.State) { q.State = v }, store.StateActive, "state_0001"),
		by("Starts", func(q *query, v store.TimeRange) { q.Starts = v }, ranges()...),
		by("Expires", func(q *query, v store.TimeRange) { q.Expires = v }, ranges()...),
	)
}

// selects reports whether l matches the filters of q.
func selects(q store.LicenseQuery, l store.License) bool {
	return (q.IDs == nil || slices.Contains(q.IDs, l.ID)) && (q.CustomerID == "" || l.CustomerID == q.CustomerID) && (q.ProductID == "" || l.ProductID == q.ProductID) &&
		(q.State == "" || l.State == q.State) && q.Starts.Contains(l.StartsAt) && q.Expires.Contains(l.ExpiresAt) &&
		!slices.ContainsFunc(q.Text, func(part string) bool { return !strings.Contains(l.Text, part) }) && strings.Contains(l.Key, q.KeyPart)
}

func licenseID(l store.License) string { return l.ID }

// pageOfIDs continues after a position in a list of IDs.
func pageOfIDs(b *bench) {
	for n := range 9 {
		b.add(license(n))
	}
	ids := []string{word("lic", 7), word("lic", 2), word("lic", 4), "missing", word("lic", 5)}
	for _, c := range []struct {
		after      string
		descending bool
		want       []string
	}{
		{word("lic", 4), false, []string{word("lic", 5), word("lic", 7)}},
		{word("lic", 3), false, []string{word("lic", 4), word("lic", 5), word("lic", 7)}},
		{word("lic", 4), true, []string{word("lic", 2)}},
		{word("lic", 6), true, []string{word("lic", 5), word("lic", 4), word("lic", 2)}},
	} {
		rows, err := b.Licenses(b.ctx, store.LicenseQuery{IDs: ids, After: store.Position{ID: c.after}, Descending: c.descending, Limit: many})
		b.equal(err, nil, "Licenses of IDs")
		b.equal(licenseIDs(rows), c.want, "licenses of IDs after %s, descending %v", c.after, c.descending)
	}
}

// licenseRekeyed replaces a key: the old key must no longer find a license.
func licenseRekeyed(b *bench) {
	l := license(1)
	b.add(l)
	old := l.Key
	l.Key = "another"
	b.update(func(tx store.Tx) error { return tx.UpdateLicense(b.ctx, l) })
	b.readers(func(how string, r store.Reader) {
		got, err := r.LicenseByKey(b.ctx, old)
		b.gone(got.ID, err, "LicenseByKey by the old key %s", how)
		got, err = r.LicenseByKey(b.ctx, l.Key)
		if b.equal(err, nil, "LicenseByKey by the new key %s", how) {
			b.equal(got.ID, l.ID, "LicenseByKey by the new key %s", how)
		}
	})
	next := license(2)
	next.Key = old
	b.ok(b.tryAdd(next), "creating a license with the former key of another")
}
