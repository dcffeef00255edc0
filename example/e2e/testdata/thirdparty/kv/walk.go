package kv

import (
	"github.com/seed-d8a106b4/licensekit/store"
)

// A walk is what a query reads: the rows of spans, or the records at keys if they are
// given.
type walk struct {
	desc  bool
	spans []span
	keys  []string
	given bool
}

// list returns the first records that match, at most limit.
func list[R any](t *tx, w walk, limit int, match func(R) bool) (found []R, err error) {
	limit = store.Limit(limit)
	add := func(values [][]byte) bool {
		for _, b := range values {
			if b == nil {
				continue
			}
			var v R
			if v, err = decode[R](b); err != nil {
				return false
			}
			if match(v) {
				if found = append(found, v); len(found) == limit {
					return false
				}
			}
		}
		return true
	}
	if w.given {
		if len(w.keys) > 0 {
			add(t.read(w.keys...))
		}
		return found, err
	}
	for rows := range t.rows(w.desc, limit, w.spans...) {
		if !add(t.records(rows)) {
			break
		}
	}
	return found, err
}

// records returns the records of rows, which may be those of an index.
func (t *tx) records(rows []Row) [][]byte {
	values := make([][]byte, len(rows))
	if isIndex(rows[0].Key) {
		keys := make([]string, len(rows))
		for i, r := range rows {
			keys[i] = string(r.Value)
		}
		return t.read(keys...)
	}
	for i, r := range rows {
		values[i] = r.Value
	}
	return values
}

// is reports whether a filter selects the value v.
func is(filter, v string) bool { return filter == "" || filter == v }
