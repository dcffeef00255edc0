package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

func countCases() []testCase {
	return []testCase{
		{"Counts", "Filters", 31, countFilters},
		{"Counts", "Edges", 31, countBetweenEdges},
		{"Counts", "Names", 31, countNames},
		{"Counts", "OneState", 6, countOneState},
		{"Counts", "Refused", 22, countsRefused},
	}
}

// countFilters counts by every field alone and by pairs.
func countFilters(b *bench) {
	rows := b.mixedLicenses()
	type query = store.LicenseQuery
	sweep[query, store.License]{
		slices.Concat(licenseFields(),
			by("Order", func(q *query, v store.LicenseOrder) { q.Order = v }, store.ByExpiresAt, store.ByStartsAt),
		), rows, func(store.License) string { return "license" },
		func(q query, l store.License) bool {
			_, in := placed(q.Order, l)
			return in && selects(q, l)
		},
		func(r store.Reader, q query) ([]string, error) {
			counts, err := r.CountLicenses(b.ctx, q)
			if err == nil && len(counts) != 1 {
				err = fmt.Errorf("%d numbers without edges", len(counts))
			}
			if err != nil {
				return nil, err
			}
			return slices.Repeat([]string{"license"}, int(counts[0])), nil
		},
	}.pairs(b)
}

// placed returns the position of l in an order, if it is in it.
func placed(order store.LicenseOrder, l store.License) (p store.Position, in bool) {
	p.ID = l.ID
	switch order {
	case store.ByExpiresAt:
		p.Time = l.ExpiresAt
	case store.ByStartsAt:
		p.Time = l.StartsAt
	}
	return p, order == store.ByID || !p.Time.IsZero()
}

// countBetweenEdges counts between positions, some of them those of licenses.
func countBetweenEdges(b *bench) {
	rows := b.mixedLicenses()
	before := func(p, q store.Position) bool {
		return p.Time.Before(q.Time) || p.Time.Equal(q.Time) && p.ID < q.ID
	}
	at := func(n int, id string) store.Position { return store.Position{Time: day(n), ID: id} }
	edges := map[store.LicenseOrder][][]store.Position{
		store.ByID: {
			{{}}, {{}, {ID: "z"}}, {{ID: rows[3].ID}, {ID: rows[3].ID}, {ID: rows[4].ID}, {ID: rows[30].ID}, {ID: rows[30].ID + "x"}}, {{ID: "x"}, {ID: "y"}, {ID: "z"}},
			{{ID: rows[5].ID, Time: day(3)}, {ID: rows[9].ID, Time: day(1)}}, // by id, only the id counts
		},
	}
	for _, order := range []store.LicenseOrder{store.ByExpiresAt, store.ByStartsAt} {
		edges[order] = [][]store.Position{
			{at(1, "")}, {{}, at(9, "")}, {at(0, ""), at(1, ""), at(2, ""), at(3, ""), at(4, "")}, {at(1, rows[7].ID), at(1, rows[30].ID), at(2, rows[9].ID), at(2, rows[9].ID)},
			{{}, {Time: day(2).Add(-time.Millisecond)}, {Time: day(2).In(elsewhere)}, {Time: day(2).Add(time.Millisecond)}},
		}
	}
	for order := range edges { // and as many as a query may have
		var most []store.Position
		for n := range store.MaxLimit {
			most = append(most, store.Position{Time: day(0).Add(time.Duration(n) * 6 * time.Minute), ID: word("lic", n/16)})
		}
		edges[order] = append(edges[order], most)
	}
	for order, lists := range edges {
		for _, list := range lists {
			for n, q := range []store.LicenseQuery{
				{}, {CustomerID: "customer_0001"}, {ProductID: "product_0002"}, {State: "state_0001"}, {CustomerID: "customer_0000", ProductID: "product_0000"},
				{ProductID: "product_0001", State: "state_0001"}, {Expires: store.TimeRange{From: day(1), Before: day(3)}}, {Starts: store.TimeRange{Before: day(2), OrNone: true}},
			} {
				if q.Order = order; len(list) == store.MaxLimit && n > 0 { // the query without filters is enough
					continue
				}
				want := make([]int64, len(list)-1)
				for i := range want {
					from, to := list[i], list[i+1]
					if order == store.ByID {
						from.Time, to.Time = time.Time{}, time.Time{}
					}
					for _, l := range rows {
						if p, in := placed(order, l); in && selects(q, l) && !before(p, from) && before(p, to) {
							want[i]++
						}
					}
				}
				b.readers(func(how string, r store.Reader) {
					got, err := r.CountLicenses(b.ctx, q, list...)
					if b.under(22).equal(err, nil, "CountLicenses with %d edges %s", len(list), how) {
						b.equal(slices.Concat(got), slices.Concat(want), "counts %s between %+v, for %+v", how, list, q)
					}
				})
			}
		}
	}
}

// countNames lists customers and products in pages.
func countNames(b *bench) {
	rows := b.mixedLicenses()
	for n, name := range slices.Concat([]string{"", "\x01", "a\x01", "a\x01\x01", "a\x1fa"}, awkward) {
		l := license(200 + n)
		l.CustomerID = name
		rows = append(rows, l)
		b.add(l)
	}
	for _, by := range []store.NameOrder{store.ByCustomer, store.ByProduct} {
		counts := map[string]int64{}
		for _, l := range rows {
			counts[map[store.NameOrder]string{store.ByCustomer: l.CustomerID, store.ByProduct: l.ProductID}[by]]++
		}
		delete(counts, "")
		var want []store.NameCount
		for name, n := range counts {
			want = append(want, store.NameCount{Name: name, Count: n})
		}
		slices.SortFunc(want, func(a, b store.NameCount) int { return strings.Compare(a.Name, b.Name) })
		b.readers(func(how string, r store.Reader) {
			for _, limit := range []int{0, 1, 7} {
				var got []store.NameCount
				for q := (store.NamesQuery{By: by, Limit: limit}); len(got) <= len(want); {
					page, err := r.LicenseNames(b.ctx, q)
					b.equal(err, nil, "LicenseNames %s", how)
					if len(page) == 0 {
						break
					}
					b.equal(len(page) <= store.Limit(limit), true, "at most %d names a page %s", limit, how)
					got = append(got, page...)
					q.After = page[len(page)-1].Name
				}
				b.equal(got, want, "names %s, By %d, %d a page", how, by, limit)
			}
		})
	}
}

// countOneState counts between edges, and by names, while a license moves from one part
// to another and back.
func countOneState(b *bench) {
	var rows []store.License
	for n := range 10 {
		l := license(n)
		l.ExpiresAt, l.CustomerID = day(1+n%2*2), word("customer", n%2)
		rows = append(rows, l)
	}
	b.add(anys(rows)...)
	stop := make(chan struct{})
	moves := b.start(func() {
		for l := rows[0]; ; {
			select {
			case <-stop:
				return
			default:
			}
			next := rows[map[string]int{rows[0].CustomerID: 1}[l.CustomerID]]
			l.ExpiresAt, l.CustomerID = next.ExpiresAt, next.CustomerID
			if err := b.try(func(tx store.Tx) error { return tx.UpdateLicense(b.ctx, l) }); err != nil {
				return
			}
		}
	})
	edges := []store.Position{{Time: day(0)}, {Time: day(2)}, {Time: day(4)}}
	for range 100 {
		counts, err := b.CountLicenses(b.ctx, store.LicenseQuery{Order: store.ByExpiresAt}, edges...)
		if err != nil || len(counts) != 2 || counts[0]+counts[1] != 10 {
			b.fail(fmt.Sprint(counts, " ", err), "10 licenses in all", "counts of both parts, while a license moves between them")
			break
		}
		names, err := b.LicenseNames(b.ctx, store.NamesQuery{})
		if err != nil || len(names) != 2 || names[0].Count+names[1].Count != 10 {
			b.fail(fmt.Sprint(names, " ", err), "10 licenses in all", "names of two customers, while a license moves between them")
			break
		}
	}
	close(stop)
	<-moves
}

// countsRefused asks for what CountLicenses and LicenseNames do not know.
func countsRefused(b *bench) {
	b.add(license(1))
	for _, q := range []store.LicenseQuery{
		{Text: []string{"x"}}, {KeyPart: "x"}, {Examine: 1}, {IDs: []string{license(1).ID}}, {Descending: true}, {After: store.Position{ID: "x"}}, {Limit: 1}, {Order: 7},
	} {
		b.refuses("CountLicenses", fmt.Sprintf("%+v", q), func(r store.Reader) error {
			_, err := r.CountLicenses(b.ctx, q)
			return err
		})
	}
	for _, edges := range [][]store.Position{{{ID: "b"}, {ID: "a"}}, make([]store.Position, store.MaxLimit+1)} {
		b.refuses("CountLicenses", fmt.Sprintf("%d edges", len(edges)), func(r store.Reader) error {
			_, err := r.CountLicenses(b.ctx, store.LicenseQuery{}, edges...)
			return err
		})
	}
	b.refuses("LicenseNames", "By 7", func(r store.Reader) error {
		_, err := r.LicenseNames(b.ctx, store.NamesQuery{By: 7})
		return err
	})
}
