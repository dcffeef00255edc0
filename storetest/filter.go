package storetest

import (
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A filter sets one field of a query.
type filter[Q any] struct {
	field string
	value any
	set   func(*Q)
}

// by makes a filter for each of the values of a field.
func by[Q, V any](field string, set func(*Q, V), values ...V) []filter[Q] {
	var list []filter[Q]
	for _, v := range values {
		list = append(list, filter[Q]{field, v, func(q *Q) { set(q, v) }})
	}
	return list
}

// ranges are time ranges around day 0 to 3.
func ranges() []store.TimeRange {
	return []store.TimeRange{
		{From: day(1)}, {Before: day(2)}, {From: day(1), Before: day(2)}, {From: day(1), Before: day(1)},
		{From: day(2), OrNone: true}, {Before: day(2), OrNone: true}, {From: day(1), Before: day(3), OrNone: true},
		{From: day(2).In(elsewhere), Before: day(3).In(elsewhere)},
		{OrNone: true}, // open at both ends, and so no range at all
	}
}

// sweep runs queries with each filter alone and with each pair of filters, and
// compares the results with the rows that match, the documentation in Go, selects.
func sweep[Q, R any](b *bench, filters []filter[Q], rows []R, id func(R) string, match func(Q, R) bool,
	list func(r store.Reader, q Q) ([]string, error),
) {
	ask := func(how string, r store.Reader, set ...filter[Q]) {
		var q Q
		text := "query"
		for _, f := range set {
			f.set(&q)
			text += fmt.Sprintf(" %s=%v", f.field, f.value)
		}
		var want []string
		for _, row := range rows {
			if match(q, row) {
				want = append(want, id(row))
			}
		}
		got, err := list(r, q)
		b.equal(err, nil, "error of %s %s", text, how)
		slices.Sort(got)
		slices.Sort(want)
		b.equal(slices.Concat(got), slices.Concat(want), "%s %s", text, how)
	}
	b.readers(func(how string, r store.Reader) {
		ask(how, r)
		for _, f := range filters {
			ask(how, r, f)
		}
	})
	for i, f := range filters {
		for _, g := range filters[i+1:] {
			if f.field != g.field {
				ask("on the store", b.Store, f, g)
			}
		}
	}
}
