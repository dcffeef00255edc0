package kv

import (
	"iter"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A span is the keys from lo up to and without hi.
type span struct{ lo, hi string }

// under returns the keys that begin with a prefix that key has made.
func under(prefix string) span { return span{prefix, prefix[:len(prefix)-1] + "\x01"} }

// in returns the keys of s, in which an instant comes next, whose instant is in r. Those
// without one are left out.
func (s span) in(r store.TimeRange) span {
	bound := func(t time.Time) string { return s.lo + instant(t.Add(time.Millisecond-1)) } // rule 8
	in := span{s.lo + instant(time.Time{}) + "\x01", s.hi}
	if !r.From.IsZero() {
		in.lo = bound(r.From)
	}
	if !r.Before.IsZero() {
		in.hi = bound(r.Before)
	}
	return in
}

// after returns the keys of s after a key, in the direction.
func (s span) after(key string, desc bool) span {
	if desc {
		return span{s.lo, min(s.hi, key)}
	}
	return span{max(s.lo, key+"\x00"), s.hi}
}

func (s span) has(key string) bool { return s.lo <= key && key < s.hi }

// rows yields the rows of the spans in pages, each span in order or in reverse. Pages after
// the first have at least 100 rows: a filter has skipped some.
func (t *tx) rows(desc bool, page int, spans ...span) iter.Seq[[]Row] {
	return func(yield func([]Row) bool) {
		for _, s := range spans {
			for s.lo < s.hi {
				rows, err := t.r.Scan(t.ctx, s.lo, s.hi, desc, page)
				if err != nil {
					panic(failure{err})
				}
				seen, n := s, len(rows)
				if n == page {
					last := rows[n-1].Key
					if s = s.after(last, desc); desc {
						seen.lo = last
					} else {
						seen.hi = s.lo
					}
				}
				if rows = t.withOwn(rows, seen, desc); len(rows) > 0 && !yield(rows) {
					return
				}
				if n < page {
					break
				}
				page = max(page, 100)
			}
		}
	}
}

// keys yields the keys of the spans.
func (t *tx) keys(desc bool, spans ...span) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rows := range t.rows(desc, 1000, spans...) {
			for _, r := range rows {
				if !yield(r.Key) {
					return
				}
			}
		}
	}
}

// these returns the keys in s of the records with the ids, in order.
func these(s span, desc bool, prefix string, ids []string) []string {
	var keys []string
	for _, id := range ids {
		if k := prefix + key(id); s.has(k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	if desc {
		slices.Reverse(keys)
	}
	return slices.Compact(keys)
}
