package kv

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

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
			prefix = key("oe", q.Kind, q.Owner)
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
