package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// FindLicenses first asks where the part of the index ends that it may examine,
// and then searches up to there. A license that is added or removed between the
// two changes how many it examines, but not which part of the order.
func (r reader) FindLicenses(ctx context.Context, q store.LicenseQuery) (found []store.License, next store.Position, err error) {
	if err := q.CheckFind(); err != nil {
		return nil, next, about(err, "find licenses")
	}
	// The part ends at the license before which as many are as a call may examine. Without
	// one, the whole rest may be examined.
	order := orders[q.Order]
	end := from(licenses)
	end.columns = strings.Join(order, ", ")
	end.licenses(q.Walked())
	end.tail += end.numbered(" OFFSET ?", []any{store.Examined(q.Examine) - 1})
	end.limit(1)
	ends, err := all(ctx, r, func(rows *sql.Rows) (p store.Position, err error) {
		columns := []any{instant{&p.Time}, &p.ID}
		err = rows.Scan(columns[2-len(order):]...)
		return p, err
	}, end.text(), end.args...)
	if err != nil {
		return nil, next, about(err, "find licenses")
	}

	s := from(licenses)
	for _, text := range q.Text {
		s.and("strpos(l.text, ?) > 0", text)
	}
	if q.KeyPart != "" {
		s.and("strpos(l.key, ?) > 0", q.KeyPart)
	}
	behind, upTo, rest := " > ", " <= ", q
	if q.Descending {
		behind, upTo = " < ", " >= "
	}
	if len(ends) > 0 {
		next = ends[0]
		s.bound(q, upTo, next)
		if q.After.ID != "" || q.Order != store.ByID && !q.After.IsZero() {
			s.bound(q, behind, q.After)
			rest.After = store.Position{}
		}
	}
	s.licenses(rest)
	found, err = list[store.License](ctx, r, s, q.Limit)
	if err != nil {
		return nil, store.Position{}, about(err, "find licenses")
	}
	if len(found) == store.Limit(q.Limit) {
		next = q.Position(found[len(found)-1])
	}
	return found, next, nil
}

// bound adds that licenses are on a side of a position. It compares all columns of the
// index that q walks, so that the planner does not walk another in the same order.
func (s *selection) bound(q store.LicenseQuery, side string, p store.Position) {
	var columns []string
	var values []any
	w := q.Walked()
	for _, c := range [][2]string{{"l.customer_id", w.CustomerID}, {"l.product_id", w.ProductID}, {"l.state", string(w.State)}} {
		if c[1] != "" {
			columns, values = append(columns, c[0]), append(values, c[1])
		}
	}
	columns, values = append(columns, orders[q.Order]...), append(values, position(q.Order, p)...)
	s.and("("+strings.Join(columns, ", ")+")"+side+places(len(columns)), values...)
}

// CountLicenses counts in one statement: from edge to edge, each part by itself.
func (r reader) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if err := q.CheckCount(edges); err != nil {
		return nil, about(err, "count licenses")
	}
	var texts []string
	var args []any
	part := func(edges ...store.Position) {
		s := from(licenses)
		s.columns = fmt.Sprintf("%d, count(*)", len(texts))
		s.args = args
		s.ended(q)
		s.filter(q)
		for i, edge := range edges {
			columns := orders[q.Order]
			s.and("("+strings.Join(columns, ", ")+")"+[]string{" >= ", " < "}[i]+places(len(columns)), position(q.Order, edge)...)
		}
		texts, args = append(texts, s.text()), s.args
	}
	switch len(edges) {
	case 0:
		part()
	case 1:
		err := r.query(ctx, "SELECT 1", nil, func(*sql.Rows) error { return nil })
		return []int64{}, about(err, "count licenses")
	}
	for i := 1; i < len(edges); i++ {
		part(edges[i-1], edges[i])
	}
	counts := make([]int64, len(texts))
	_, err := all(ctx, r, func(rows *sql.Rows) (none struct{}, err error) {
		var i int
		var n int64
		if err = rows.Scan(&i, &n); err == nil {
			counts[i] = n
		}
		return none, err
	}, strings.Join(texts, " UNION ALL "), args...)
	return counts, about(err, "count licenses")
}

// LicenseNames walks the index of the names.
func (r reader) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	if err := q.Check(); err != nil {
		return nil, about(err, "names of licenses")
	}
	column := "l.customer_id"
	if q.By == store.ByProduct {
		column = "l.product_id"
	}
	s := from(licenses)
	s.columns = column + ", count(*)"
	s.and(column+" > ?", q.After)
	s.tail = " GROUP BY " + column + " ORDER BY " + column
	s.limit(q.Limit)
	names, err := all(ctx, r, func(rows *sql.Rows) (n store.NameCount, err error) {
		err = rows.Scan(&n.Name, &n.Count)
		return n, err
	}, s.text(), s.args...)
	return names, about(err, "names of licenses")
}
