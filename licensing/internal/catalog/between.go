package catalog

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A unit is a unit of time that licenses are counted by.
type unit struct {
	length time.Duration
	suffix string // of what they are counted by
	layout string // of names
}

// units are the units that starts and ends are counted by. A range of time is
// divided into days, the hours before and after them, and the rest. The first
// release did not count by hours.
var units = []unit{
	{24 * time.Hour, "", Day},
	{time.Hour, "_hour", "2006-01-02T15"},
	{time.Millisecond, "_at", "2006-01-02T15:04:05.000Z"},
}

// Between returns the number of licenses that start or expire in [from, before);
// the zero time is no bound. It reads a count for each day, and for each hour or
// instant of the days that are only in part in the range.
func (s Snapshot) Between(ctx context.Context, by string, from, before time.Time) (int64, error) {
	some := units
	if s.g.isFirst() {
		some = []unit{units[0], units[2]}
	}
	return s.between(ctx, by, some, from, before)
}

func (s Snapshot) between(ctx context.Context, by string, units []unit, from, before time.Time) (int64, error) {
	u := units[0]
	first, last := from.Truncate(u.length), before.Truncate(u.length)
	if first.Before(from) {
		first = first.Add(u.length)
	}
	if !before.IsZero() && !first.Before(last) && len(units) > 1 { // no whole unit in the range
		return s.between(ctx, by, units[1:], from, before)
	}
	n, err := s.sum(ctx, by+u.suffix, u.name(first), u.name(last))
	for _, part := range [][2]time.Time{{from, first}, {last, before}} {
		if err != nil || !part[0].Before(part[1]) || len(units) == 1 {
			continue
		}
		var more int64
		more, err = s.between(ctx, by, units[1:], part[0], part[1])
		n += more
	}
	return n, err
}

// name returns the name of the unit that begins at t; empty for no bound.
func (u unit) name(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(u.layout)
}

func (s Snapshot) sum(ctx context.Context, by, from, before string) (n int64, err error) {
	list, err := s.AllCounts(ctx, by, from, before)
	for _, c := range list {
		n += c.N
	}
	return n, err
}

// AllCounts returns the counts by something with names in [from, before); an empty
// bound is open.
func (s Snapshot) AllCounts(ctx context.Context, by, from, before string) (all []Count, err error) {
	q := store.EntryQuery{From: from, Before: before, Limit: store.MaxLimit}
	for {
		page, err := s.Counts(ctx, by, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			return all, nil
		}
		q.After.ID = page[len(page)-1].Name
	}
}
