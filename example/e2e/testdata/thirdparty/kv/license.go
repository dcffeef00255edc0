package kv

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

func (t *tx) License(ctx context.Context, id string) (store.License, error) {
	return do(ctx, t, "license "+id, func() (store.License, error) { return get[store.License](t, key("L", id)) })
}

func (t *tx) LicenseByKey(ctx context.Context, k string) (store.License, error) {
	return do(ctx, t, "license by key", func() (store.License, error) { return get[store.License](t, key("key", k)) })
}

func (t *tx) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return do(ctx, t, "licenses", func() ([]store.License, error) {
		if err := refused(q.Check()); err != nil {
			return nil, err
		}
		prefix, s := indexOf(q)
		w := walk{desc: q.Descending, spans: []span{s}}
		if q.IDs != nil {
			w.keys, w.given = these(s, q.Descending, prefix, q.IDs), true
		}
		return list(t, w, q.Limit, filter(q))
	})
}

// contains reports whether a text contains a part. Half a character is no part.
func contains(text, part string) bool { return isText(part) && strings.Contains(text, part) }

// filter returns what q selects licenses by.
func filter(q store.LicenseQuery) func(store.License) bool {
	return func(l store.License) bool {
		return is(q.CustomerID, l.CustomerID) && is(q.ProductID, l.ProductID) && is(string(q.State), string(l.State)) &&
			q.Starts.Contains(l.StartsAt) && q.Expires.Contains(l.ExpiresAt) && contains(l.Key, q.KeyPart) &&
			!slices.ContainsFunc(q.Text, func(part string) bool { return !contains(l.Text, part) })
	}
}

func (t *tx) FindLicenses(ctx context.Context, q store.LicenseQuery) (found []store.License, next store.Position, err error) {
	found, err = do(ctx, t, "find licenses", func() (found []store.License, err error) {
		if err := refused(q.CheckFind()); err != nil {
			return nil, err
		}
		_, s := indexOf(q)
		match, examined, at := filter(q), 0, store.Position{}
		for rows := range t.rows(q.Descending, 1000, s) {
			for _, b := range t.records(rows) {
				if examined == store.Examined(q.Examine) || len(found) == store.Limit(q.Limit) {
					next = at
					return found, nil
				}
				examined++
				l, err := decode[store.License](b)
				if err != nil {
					return nil, err
				}
				if at = q.Position(l); match(l) {
					found = append(found, l)
				}
			}
		}
		return found, nil
	})
	return found, next, err
}

func (t *tx) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	return do(ctx, t, "count licenses", func() ([]int64, error) {
		if err := refused(q.CheckCount(edges)); err != nil {
			return nil, err
		}
		prefix, s := indexOf(q)
		counts := make([]int64, max(1, len(edges))) // by the last edge at or before a license
		if n := len(edges); n > 0 {
			s = span{max(s.lo, place(prefix, q.Order, edges[0])), min(s.hi, place(prefix, q.Order, edges[n-1]))}
		}
		match, i := filter(q), 0
		for rows := range t.rows(false, 1000, s) {
			for n, b := range t.records(rows) {
				for i+1 < len(edges) && place(prefix, q.Order, edges[i+1]) <= rows[n].Key {
					i++
				}
				if l, err := decode[store.License](b); err != nil {
					return nil, err
				} else if match(l) {
					counts[i]++
				}
			}
		}
		if len(edges) > 0 {
			counts = counts[:len(edges)-1]
		}
		return counts, nil
	})
}

func (t *tx) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	return do(ctx, t, "license names", func() (names []store.NameCount, err error) {
		if err := refused(q.Check()); err != nil {
			return nil, err
		}
		prefix := key("customer")
		if q.By == store.ByProduct {
			prefix = key("product")
		}
		for k := range t.keys(false, span{under(prefix + key(q.After)).hi, under(prefix).hi}) {
			name, _, _ := strings.Cut(k[len(prefix):], "\x00")
			if n := len(names); n == 0 || names[n-1].Name != name {
				if n == store.Limit(q.Limit) {
					break
				}
				names = append(names, store.NameCount{Name: name})
			}
			names[len(names)-1].Count++
		}
		return names, nil
	})
}

// place returns the key of a position in the index of an order, which begins with prefix.
func place(prefix string, by store.LicenseOrder, p store.Position) string {
	if by == store.ByID {
		return prefix + key(p.ID)
	}
	return prefix + key(instant(p.Time), p.ID)
}

// indexOf returns the index that q reads, as the beginning of its keys, and which of
// them.
func indexOf(q store.LicenseQuery) (prefix string, s span) {
	w := q.Walked()
	if q.Order != store.ByID {
		name, r := "expires", q.Expires
		if q.Order == store.ByStartsAt {
			name, r = "starts", q.Starts
		}
		prefix := key(name)
		if q.ProductID != "" {
			prefix = key("product-"+name, q.ProductID)
		} else if w.State != "" {
			prefix = key("ended-"+name, string(w.State))
		}
		s := under(prefix).in(r)
		if !q.After.IsZero() {
			s = s.after(place(prefix, q.Order, q.After), q.Descending)
		}
		return prefix, s
	}
	prefix = key("L")
	switch {
	case q.IDs != nil:
	case q.CustomerID != "" && q.ProductID != "":
		prefix = key("customer-product", q.CustomerID, q.ProductID)
	case q.CustomerID != "":
		prefix = key("customer", q.CustomerID)
	case q.ProductID != "" && w.State != "":
		prefix = key("ended-product", q.ProductID, string(w.State))
	case q.ProductID != "":
		prefix = key("product", q.ProductID)
	case q.State != "":
		prefix = key("state", string(q.State))
	}
	s = under(prefix)
	if q.After.ID != "" {
		s = s.after(prefix+key(q.After.ID), q.Descending)
	}
	return prefix, s
}
