package sqlite

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
)

// FindLicenses first asks where the part of the index ends that it may examine,
// and then searches up to there. A license that is added or removed between the
// two changes how many it examines, but not which part of the order.
func (r reader) FindLicenses(ctx context.Context, q store.LicenseQuery) (found []store.License, next store.Position, err error) {
	if err := q.CheckFind(); err != nil {
		return nil, next, wrap(err, "find licenses")
	}
	end := &selection{}
	end.add(`SELECT ` + results(``, strings.Join(orders[q.Order], `, `)) + ` FROM licenses l`)
	end.licenses(q.Walked(), store.Position{})
	end.order(q.Descending, 1, orders[q.Order]...)
	end.add(` OFFSET ?`, store.Examined(q.Examine)-1)
	err = r.from.query(ctx, search, end.text.String(), end.args, func(r *row) {
		if q.Order != store.ByID {
			next.Time = r.time()
		}
		next.ID = r.text()
	})
	if err != nil {
		return nil, store.Position{}, wrap(err, "find licenses")
	}

	s := &selection{}
	s.add(selectLicenses)
	s.licenses(q, next)
	for _, text := range q.Text {
		s.contains(`l.text`, text)
	}
	if q.KeyPart != "" {
		s.contains(`l.key`, q.KeyPart)
	}
	s.order(q.Descending, q.Limit, orders[q.Order]...)
	err = r.from.query(ctx, search, s.text.String(), s.args, func(r *row) { found = append(found, scanLicense(r)) })
	if err != nil {
		return nil, store.Position{}, wrap(err, "find licenses")
	}
	if len(found) == store.Limit(q.Limit) {
		next = q.Position(found[len(found)-1])
	}
	return found, next, nil
}

// contains leaves only rows whose column contains part.
func (s *selection) contains(column, part string) {
	s.and(`instr(`+column+`, ?)`, whole(part))
}

// whole returns text, or NULL if it is not valid UTF-8: its bytes could be a part of
// a character.
func whole(text string) any {
	if !utf8.ValidString(text) {
		return []byte(nil)
	}
	return text
}

// CountLicenses walks the index that a list walks, in one statement: from edge to
// edge, each part by itself.
func (r reader) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if err := q.CheckCount(edges); err != nil {
		return nil, wrap(err, "count licenses")
	}
	s := &selection{}
	counts := make([]int64, 1)
	switch {
	case len(edges) == 1:
		counts = counts[:0]
		s.add(`SELECT 0, 0`)
	case len(edges) > 1:
		counts = make([]int64, len(edges)-1)
		s.countBetween(q, edges)
	case all(q):
		s.add(`SELECT 0, count(*) FROM licenses`) // which the engine counts by pages
	default:
		s.add(`SELECT 0, count(*) FROM licenses l`)
		s.licenses(q, store.Position{})
	}
	err := r.from.query(ctx, search, s.text.String(), s.args, func(r *row) {
		if i := r.integer(); i < int64(len(counts)) {
			counts[i] = r.integer()
		}
	})
	if err != nil {
		return nil, wrap(err, "count licenses")
	}
	return counts, nil
}

// all reports whether q selects all licenses.
func all(q store.LicenseQuery) bool {
	return q.CustomerID == "" && q.ProductID == "" && q.State == "" && q.Starts.IsZero() && q.Expires.IsZero() && q.Order == store.ByID
}

// countBetween makes s the SELECT of the counts between edges, each with its number.
func (s *selection) countBetween(q store.LicenseQuery, edges []store.Position) {
	s.add(`WITH part (n, since, first, till, last) AS (VALUES (?, ?, ?, ?, ?)` + strings.Repeat(`, (?, ?, ?, ?, ?)`, len(edges)-2) + `)`)
	for i := range edges[1:] {
		from, to := edges[i], edges[i+1]
		s.args = append(s.args, i, from.Time.UnixMilli(), from.ID, to.Time.UnixMilli(), to.ID)
	}
	s.add(` SELECT part.n, (SELECT count(*) FROM licenses l`)
	s.walk(q)
	s.within(`l.starts_at`, q.Starts)
	s.within(`l.expires_at`, q.Expires)
	if q.Order == store.ByID {
		s.and(`l.id >= part.first AND l.id < part.last`)
	} else {
		order := `(` + strings.Join(orders[q.Order], `, `) + `)`
		s.and(order + ` >= (part.since, part.first) AND ` + order + ` < (part.till, part.last)`)
	}
	s.add(`) FROM part`)
}

// LicenseNames walks the index of the names.
func (r reader) LicenseNames(ctx context.Context, q store.NamesQuery) (names []store.NameCount, err error) {
	if err := q.Check(); err != nil {
		return nil, wrap(err, "names of licenses")
	}
	column, index := `l.customer_id`, `licenses_customer`
	if q.By == store.ByProduct {
		column, index = `l.product_id`, `licenses_product`
	}
	s := &selection{}
	s.add(`SELECT +` + column + ` "", count(*) "" FROM licenses l INDEXED BY ` + index)
	s.and(column+` > ?`, q.After)
	s.add(` GROUP BY ` + column)
	s.order(false, q.Limit, column)
	err = r.from.query(ctx, search, s.text.String(), s.args, func(r *row) {
		names = append(names, store.NameCount{Name: r.text(), Count: r.integer()})
	})
	if err != nil {
		return nil, wrap(err, "names of licenses")
	}
	return names, nil
}
