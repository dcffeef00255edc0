package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A tx is the Reader of a View or the Tx of an Update. Its methods are the contract's.
type tx struct {
	mu     sync.Mutex      // held during a call
	r      Reader          // w in an Update
	w      Tx              // nil in a View
	ctx    context.Context // of the call
	over   bool
	wrote  bool  // the call has written
	failed error // the error of a call after which nothing may be kept (rule 28)
}

// end makes every later call return ErrTxDone.
func (t *tx) end() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
}

// do runs a method, unless the transaction or the context of the call has ended.
func do[R any](ctx context.Context, t *tx, what string, f func() (R, error)) (r R, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		err = store.ErrTxDone
	} else if err = ctx.Err(); err == nil {
		t.ctx, t.wrote = ctx, false
		if r, err = whole(f); err == nil {
			return r, nil
		}
		if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrExists) && !errors.Is(err, errRefused) && (t.wrote || ctx.Err() == nil) {
			t.failed = fmt.Errorf("kv: %s: %w", what, err)
		}
	}
	var none R
	return none, fmt.Errorf("kv: %s: %w", what, err)
}

// whole calls f, and returns the error of an engine with which it panicked.
func whole[R any](f func() (R, error)) (r R, err error) {
	defer func() {
		if v := recover(); v != nil {
			failed, ok := v.(failure)
			if !ok {
				panic(v)
			}
			err = failed.error
		}
	}()
	return f()
}

// read returns the values at keys, nil where there is none. It panics with a failure.
func (t *tx) read(keys ...string) [][]byte {
	v, err := t.r.Get(t.ctx, keys...)
	if err != nil {
		panic(failure{err})
	}
	return v
}

// A failure is an error of the engine, with which the iterators panic.
type failure struct{ error }

func (t *tx) has(key string) bool { return t.read(key)[0] != nil }

// get returns the record at a key, or that of a row in an index.
func get[R any](t *tx, key string) (record R, err error) {
	b := t.read(key)[0]
	if b != nil && isIndex(key) {
		if b = t.read(string(b))[0]; b == nil {
			return record, fmt.Errorf("an index has a record that is missing: %w", store.ErrDamaged)
		}
	}
	if b == nil {
		return record, store.ErrNotFound
	}
	return decode[R](b)
}

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

// rows yields the rows of the spans in pages, each span in order or in reverse.
func (t *tx) rows(desc bool, page int, spans ...span) iter.Seq[[]Row] {
	return func(yield func([]Row) bool) {
		for _, s := range spans {
			for s.lo < s.hi {
				rows, err := t.r.Scan(t.ctx, s.lo, s.hi, desc, page)
				if err != nil {
					panic(failure{err})
				}
				if len(rows) > 0 && !yield(rows) {
					return
				}
				if len(rows) < page {
					break
				}
				s = s.after(rows[len(rows)-1].Key, desc)
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

func (t *tx) FindLicenses(ctx context.Context, q store.LicenseQuery) (found []store.License, next string, err error) {
	found, err = do(ctx, t, "find licenses", func() (found []store.License, err error) {
		if err := refused(q.CheckFind()); err != nil {
			return nil, err
		}
		prefix, s := indexOf(q)
		match, examined, at := filter(q), 0, ""
		for rows := range t.rows(q.Descending, 1000, s) {
			for i, b := range t.records(rows) {
				if examined == store.MaxExamined || len(found) == store.Limit(q.Limit) {
					next = at
					return found, nil
				}
				examined++
				at = strings.TrimSuffix(rows[i].Key[len(prefix):], "\x00")
				if l, err := decode[store.License](b); err != nil {
					return nil, err
				} else if match(l) {
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
	if q.Order != store.ByID {
		name, r := "expires", q.Expires
		if q.Order == store.ByStartsAt {
			name, r = "starts", q.Starts
		}
		prefix := key(name)
		if q.ProductID != "" {
			prefix = key("product-"+name, q.ProductID)
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

func (t *tx) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	return do(ctx, t, "activation of license "+licenseID, func() (store.Activation, error) {
		return get[store.Activation](t, key("fingerprint", fingerprint, licenseID))
	})
}

func (t *tx) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return do(ctx, t, "activations of license "+q.LicenseID, func() ([]store.Activation, error) {
		if err := refused(q.Check()); err != nil {
			return nil, err
		}
		return list(t, t.activationKeys(q), q.Limit, func(a store.Activation) bool {
			live := a.EndedAt.IsZero() && (a.LeaseEndsAt.IsZero() || a.LeaseEndsAt.After(q.LiveAt))
			return is(q.LicenseID, a.LicenseID) && isText(q.FingerprintPrefix) &&
				strings.HasPrefix(a.Fingerprint, q.FingerprintPrefix) && q.LeaseEnds.Contains(a.LeaseEndsAt) && (q.LiveAt.IsZero() || live)
		})
	})
}

func (t *tx) activationKeys(q store.ActivationQuery) walk {
	if q.FingerprintPrefix != "" {
		prefix := key("fingerprint")
		s := span{prefix + q.FingerprintPrefix, prefix + q.FingerprintPrefix + "\xff"} // no text has such a byte
		return walk{spans: []span{s.after(prefix+key(q.AfterFingerprint, q.AfterLicenseID), false)}}
	}
	if !q.LeaseEnds.IsZero() {
		prefix := key("lease", q.LicenseID)
		spans := []span{under(prefix).in(q.LeaseEnds)}
		if q.LeaseEnds.OrNone {
			spans = append([]span{under(prefix + key(instant(time.Time{})))}, spans...)
		}
		return walk{spans: spans}
	}
	prefix := key("A", q.LicenseID)
	if !q.LiveAt.IsZero() {
		prefix = key("live", q.LicenseID)
	}
	s := under(prefix)
	if q.After != "" {
		s = s.after(prefix+key(q.After), false)
	}
	return walk{spans: []span{s}}
}

func (t *tx) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return do(ctx, t, "events", func() ([]store.Event, error) {
		prefix := key("E")
		switch {
		case q.Subject != "":
			prefix = key("event-subject", q.Subject)
		case q.CustomerID != "":
			prefix = key("event-customer", q.CustomerID)
		case q.ProductID != "":
			prefix = key("event-product", q.ProductID)
		}
		s := under(prefix)
		if q.After != 0 {
			s = s.after(prefix+key(ordinal(q.After)), q.Descending)
		}
		return list(t, walk{desc: q.Descending, spans: []span{s}}, q.Limit, func(e store.Event) bool {
			return is(q.Subject, e.Subject) && is(q.CustomerID, e.CustomerID) && is(q.ProductID, e.ProductID)
		})
	})
}

func (t *tx) Entry(ctx context.Context, kind, k string) (store.Entry, error) {
	return do(ctx, t, kind+" "+k, func() (store.Entry, error) { return get[store.Entry](t, key("N", kind, k)) })
}

func (t *tx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return do(ctx, t, "entries of kind "+q.Kind, func() ([]store.Entry, error) {
		if err := refused(q.Check()); err != nil {
			return nil, err
		}
		return list(t, t.entryKeys(q), q.Limit, func(e store.Entry) bool {
			return is(q.Kind, e.Kind) && is(q.Owner, e.Owner) && q.Expires.Contains(e.ExpiresAt)
		})
	})
}

func (t *tx) entryKeys(q store.EntryQuery) walk {
	if q.Kind == "" {
		s := under(key("N"))
		if q.AfterKind != "" {
			s = s.after(key("N", q.AfterKind, q.After.ID), false)
		}
		return walk{spans: []span{s}}
	}
	if q.Order == store.ByExpiry {
		prefix := key("expiry", q.Kind)
		if q.Owner != "" {
			prefix = key("owner-expiry", q.Kind, q.Owner)
		}
		s := under(prefix).in(q.Expires)
		if !q.After.IsZero() {
			s = s.after(prefix+key(instant(q.After.Time), q.After.ID), false)
		}
		return walk{spans: []span{s}}
	}
	prefix := key("N", q.Kind)
	s := under(prefix)
	s.lo += q.From
	if q.Before != "" {
		s.hi = prefix + q.Before
	}
	if q.After.ID != "" {
		s = s.after(prefix+key(q.After.ID), q.Descending)
	}
	if q.Keys != nil {
		return walk{keys: these(s, q.Descending, prefix, q.Keys), given: true}
	}
	return walk{desc: q.Descending, spans: []span{s}}
}
