package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// never is the stored value of an unset ExpiresAt: the zero time itself.
var never = time.Time{}.UnixMilli()

// Entry reads by the primary key.
func (r reader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := get[store.Entry](ctx, r, place{entryAt, kind, key})
	return e, about(err, "%s entry", kind) // a key may be a credential
}

// Entries walks the kind's part of the primary key or, by expiry, the kind's or
// the owner's part of an index.
func (r reader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	s := from(entries)
	s.err = q.Check()
	s.part, s.touches = place{kindAt, q.Kind, ""}, func(p place, _ any) bool {
		return p.kind == entryAt && (q.Kind == "" || q.Kind == p.a && p.b >= q.From && (q.Before == "" || p.b < q.Before) &&
			(q.Keys == nil || slices.Contains(q.Keys, p.b)))
	}
	if q.Kind != "" {
		s.and("e.kind = ?", q.Kind)
	}
	if q.Kind == "" {
		s.order(false, []any{q.AfterKind, q.After.ID}, "e.kind", "e.key")
	} else if q.Order == store.ByExpiry {
		s.partial("e.owner", q.Owner)
		s.and("e.expires_at > -62135596800000")
		q.Expires.OrNone = false
		s.within("e.expires_at", q.Expires)
		var start []any
		if !q.After.IsZero() {
			start = position(store.ByExpiresAt, q.After)
		}
		s.order(false, start, "e.expires_at", "e.key")
	} else {
		if q.Keys != nil {
			s.among("e.key", q.Keys)
		}
		if q.From != "" {
			s.and("e.key >= ?", q.From)
		}
		if q.Before != "" {
			s.and("e.key < ?", q.Before)
		}
		s.order(q.Descending, after(q.After.ID), "e.key")
	}
	found, err := list[store.Entry](ctx, r, s, q.Limit)
	return found, about(err, "%s entries", q.Kind)
}
