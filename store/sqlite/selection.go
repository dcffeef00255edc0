package sqlite

import (
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A selection is the SELECT of a list while it is put together.
type selection struct {
	text  strings.Builder
	args  []any
	where bool // whether text has a WHERE yet
	exact bool // every row that the index yields matches
	limit int  // set by order
}

func (s *selection) size() size {
	if s.exact {
		return exact
	}
	return scan
}

// results returns columns as the results of a SELECT, without names and types:
// the driver copies both for each result of each query. An expression has no
// type, and an empty name takes no copy.
func results(table, columns string) string {
	names := strings.Split(columns, ", ")
	for i, name := range names {
		names[i] = "+" + table + name + ` ""`
	}
	return strings.Join(names, ", ")
}

// add appends text, unchanged.
func (s *selection) add(text string, args ...any) {
	s.text.WriteString(text)
	s.args = append(s.args, args...)
}

// and appends a condition.
func (s *selection) and(condition string, args ...any) {
	if s.where {
		s.add(" AND ")
	} else {
		s.add(" WHERE ")
		s.where = true
	}
	s.add(condition, args...)
}

// order ends the SELECT. To a limit that is a bare parameter the engine would
// fit its plan, and make a new one for every run of the statement.
func (s *selection) order(descending bool, limit int, columns ...string) {
	s.limit = store.Limit(limit)
	direction := ""
	if descending {
		direction = " DESC"
	}
	s.add(" ORDER BY "+strings.Join(columns, direction+", ")+direction+" LIMIT ? + 0", s.limit)
}

// beyond narrows a list in the order of one text column to what lies behind
// after and up to last; an empty one is no bound.
func (s *selection) beyond(column, after, last string, descending bool) {
	behind, upTo := " > ?", " <= ?"
	if descending {
		behind, upTo = " < ?", " >= ?"
	}
	if after != "" {
		s.and(column+behind, after)
	}
	if last != "" {
		s.and(column+upTo, last)
	}
	if after == "" && (last == "" || !descending) {
		s.and(column + " >= ''")
	}
}

// between narrows a list in the order of one text column to from and above, to
// below before, and to what lies behind after; an empty one is no bound. Of two
// bounds on the side where the list begins it sets the closer one.
func (s *selection) between(column, from, before, after string, descending bool) {
	switch {
	case after != "" && !descending && after >= from:
		s.and(column+" > ?", after)
	default:
		s.and(column+" >= ?", from)
	}
	switch {
	case after != "" && descending && (before == "" || after < before):
		s.and(column+" < ?", after)
	case before != "":
		s.and(column+" < ?", before)
	}
}

// among leaves only rows whose column has one of some values. It repeats the
// last of them up to a power of two, so that there are few statements to keep.
func (s *selection) among(column string, values []string) {
	n := 1
	for n < len(values) {
		n *= 2
	}
	args := make([]any, n)
	for i := range args {
		if args[i] = []byte(nil); len(values) > 0 { // else NULL, which nothing equals
			args[i] = values[min(i, len(values)-1)]
		}
	}
	s.and(column+` IN (?`+strings.Repeat(`, ?`, n-1)+`)`, args...)
}

// span narrows a list in the order of (at, id), two columns, to the times in
// r and to what lies behind after and up to last, which is zero or in r. Of the
// two bounds on a side it sets only the closer one, since the engine walks an
// index from one of them only, and could choose the farther.
func (s *selection) span(at, id string, r store.TimeRange, after, last store.Position, descending bool) {
	switch {
	case last.IsZero():
	case descending:
		s.and("("+at+", "+id+") >= (?, ?)", last.Time.UnixMilli(), last.ID)
		r.From = time.Time{}
	default:
		s.and("("+at+", "+id+") <= (?, ?)", last.Time.UnixMilli(), last.ID)
		r.Before = time.Time{}
	}
	switch {
	case after.IsZero():
	case !descending && (r.From.IsZero() || !after.Time.Before(r.From)):
		s.and("("+at+", "+id+") > (?, ?)", after.Time.UnixMilli(), after.ID)
		r.From = time.Time{}
	case descending && (r.Before.IsZero() || after.Time.Before(r.Before)):
		s.and("("+at+", "+id+") < (?, ?)", after.Time.UnixMilli(), after.ID)
		r.Before = time.Time{}
	}
	if !r.From.IsZero() {
		s.and(at+" >= ?", ceiling(r.From))
	}
	if !r.Before.IsZero() {
		s.and(at+" < ?", ceiling(r.Before))
	}
}

// within leaves only rows whose column has a time in r. The column's index is
// not used: the unary + keeps it from the planner.
func (s *selection) within(column string, r store.TimeRange) {
	if r.IsZero() {
		return
	}
	s.exact = false
	s.and("(")
	if r.OrNone {
		s.add("+" + column + " IS NULL OR ")
	}
	switch {
	case r.Before.IsZero():
		s.add("+"+column+" >= ?)", ceiling(r.From))
	case r.From.IsZero():
		s.add("+"+column+" < ?)", ceiling(r.Before))
	default:
		s.add("+"+column+" >= ? AND +"+column+" < ?)", ceiling(r.From), ceiling(r.Before))
	}
}

// ceiling returns t in milliseconds, rounded up: a stored time, which has no
// fraction, is before t if and only if it is below ceiling(t).
func ceiling(t time.Time) int64 {
	return t.Add(time.Millisecond - 1).UnixMilli()
}
