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

// A sweep is a series of queries, each with some filters, which are compared with
// the rows that match, the documentation in Go, selects.
type sweep[Q, R any] struct {
	filters []filter[Q]
	rows    []R
	id      func(R) string
	match   func(Q, R) bool
	list    func(r store.Reader, q Q) ([]string, error)
}

// pairs runs the queries with each filter alone and with each pair of filters.
func (s sweep[Q, R]) pairs(b *bench) {
	b.readers(func(how string, r store.Reader) {
		s.ask(b, how, r)
		for _, f := range s.filters {
			s.ask(b, how, r, f)
		}
	})
	for i, f := range s.filters {
		for _, g := range s.filters[i+1:] {
			if f.field != g.field {
				s.ask(b, "on the store", b.Store, f, g)
			}
		}
	}
}

// threes runs the queries with every three filters of different fields.
func (s sweep[Q, R]) threes(b *bench) {
	for i, f := range s.filters {
		for j, g := range s.filters[i+1:] {
			for _, h := range s.filters[i+j+2:] {
				if f.field != g.field && g.field != h.field && f.field != h.field {
					s.ask(b, "on the store", b.Store, f, g, h)
				}
			}
		}
	}
}

func (s sweep[Q, R]) ask(b *bench, how string, r store.Reader, set ...filter[Q]) {
	var q Q
	text := "query"
	for _, f := range set {
		f.set(&q)
		text += fmt.Sprintf(" %s=%v", f.field, f.value)
		if f.field == "After" && b.rule == 11 {
			b = b.under(12)
		}
	}
	var want []string
	for _, row := range s.rows {
		if s.match(q, row) {
			want = append(want, s.id(row))
		}
	}
	got, err := s.list(r, q)
	b.equal(err, nil, "error of %s %s", text, how)
	slices.Sort(got)
	slices.Sort(want)
	b.equal(slices.Concat(got), slices.Concat(want), "%s %s", text, how)
}

// beyond reports whether a list by id that continues after a position shows id.
func beyond(after string, descending bool, id string) bool {
	return after == "" || !descending && id > after || descending && id < after
}
