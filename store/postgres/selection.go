package postgres

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A selection builds the SELECT of a list.
type selection struct {
	table      table
	columns    string
	conditions []string
	args       []any
	lead       string // the column that the order begins with, if lead was called
	tail       string // ORDER BY … LIMIT …
	err        error  // the contract does not know the query

	// For Updates.
	part    place                 // which the list is a part of
	whole   bool                  // it is all of the part, up to its limit
	touches func(place, any) bool // matches the rows that it may have, before or after a write
}

// from begins a selection of rows without their versions.
func from(t table) *selection {
	return &selection{table: t, columns: fmt.Sprintf(t.columns, "0::bigint")}
}

// and adds a condition.
func (s *selection) and(condition string, args ...any) {
	s.conditions = append(s.conditions, s.numbered(condition, args))
}

// numbered returns text with each ? replaced by the next parameter.
func (s *selection) numbered(text string, args []any) string {
	for _, arg := range args {
		s.args = append(s.args, arg)
		text = strings.Replace(text, "?", "$"+strconv.Itoa(len(s.args)), 1)
	}
	return text
}

// equal adds the condition that a column has a value, if the value is set.
func (s *selection) equal(column, value string) {
	if value != "" {
		s.and(column+" = ?", value)
	}
}

// among adds the condition that a column has one of the values.
func (s *selection) among(column string, values []string) {
	values = slices.DeleteFunc(append([]string{}, values...), func(v string) bool { return !storable(v) })
	array, err := json.Marshal(values)
	s.err = cmp.Or(s.err, err)
	s.and(column+" = ANY (ARRAY(SELECT json_array_elements_text(?::text::json)))", string(array))
}

// leading is equal for a column that begins an index in the order of the list.
// The first such column selects that index: ORDER BY begins with the column too,
// and its value is passed as an array, from which the planner does not infer a
// constant. So the planner cannot walk all rows in the order of their ids and
// assume that matching rows are spread evenly, which the licenses of one
// customer, for example, are not.
func (s *selection) leading(column, value string) {
	if value == "" || s.lead != "" {
		s.equal(column, value)
		return
	}
	s.and(column+" = ANY (ARRAY[?::text])", value)
	s.lead = column
}

// partial is leading for a column of a partial index, which has no empty values.
func (s *selection) partial(column, value string) {
	if s.leading(column, value); value != "" {
		s.and(column + " <> ''")
	}
}

// within adds the condition that a column, NULL meaning none, is in r.
func (s *selection) within(column string, r store.TimeRange) {
	if r.IsZero() {
		return
	}
	inside := column + " IS NOT NULL"
	var bounds []any
	if !r.From.IsZero() {
		inside += " AND " + column + " >= ?"
		bounds = append(bounds, ceiling(r.From))
	}
	if !r.Before.IsZero() {
		inside += " AND " + column + " < ?"
		bounds = append(bounds, ceiling(r.Before))
	}
	if r.OrNone {
		inside = "(" + column + " IS NULL OR " + inside + ")"
	}
	s.and(inside, bounds...)
}

// order sets the order to columns, and starts the list after position, which is
// nil at the beginning of a list and otherwise has a value for each column.
func (s *selection) order(descending bool, position []any, columns ...string) {
	ahead, direction := " > ", ""
	if descending {
		ahead, direction = " < ", " DESC"
	}
	if position != nil {
		s.and("("+strings.Join(columns, ", ")+")"+ahead+places(len(columns)), position...)
	}
	if s.lead != "" {
		columns = append([]string{s.lead}, columns...)
	}
	s.tail = " ORDER BY " + strings.Join(columns, direction+", ") + direction
}

// places returns the parameters of a row.
func places(columns int) string { return "(" + strings.Repeat(", ?", columns)[2:] + ")" }

// after returns the position of an order by one column: none for the zero value.
func after[T comparable](v T) []any {
	var none T
	if v == none {
		return nil
	}
	return []any{v}
}

// text returns the statement.
func (s *selection) text() string {
	text := "SELECT " + s.columns + " FROM " + s.table.name
	if len(s.conditions) > 0 {
		text += " WHERE " + strings.Join(s.conditions, " AND ")
	}
	return text + s.tail
}

// forTheseValues is a condition that is always true, but only a custom plan,
// made for known parameter values, can tell. After five custom plans of a
// statement, PostgreSQL compares their cost to that of a generic plan and keeps
// the generic plan if it estimates it to be cheaper. A generic plan may walk all
// licenses in the order of their ids until fifty have matched, which is slow when
// few match. The estimated cost of this condition rules the generic plan out.
const forTheseValues = `(? OR (SELECT count(*) FROM generate_series(1, 1000000000)) > 0)`

// limit ends a selection.
func (s *selection) limit(limit int) {
	s.and(forTheseValues, true)
	s.tail += s.numbered(" LIMIT ?", []any{store.Limit(limit)})
}
