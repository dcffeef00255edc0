package sqlite

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const entryColumns = `kind, key, owner, data, expires_at, created_at`

// In this table alone the zero time is a number like any other, the lowest
// there is, so that entries which never expire are first in the order of the
// index and a page can go on from one of them.
var never = time.Time{}.UnixMilli()

func scanEntry(r *row) store.Entry {
	return store.Entry{
		Kind: r.text(), Key: r.text(), Owner: r.text(), Data: r.bytes(), ExpiresAt: r.time(), CreatedAt: r.time(),
	}
}

// Entry looks in the table itself.
func (r reader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := one(ctx, r, scanEntry, `SELECT `+entryColumns+` FROM entry WHERE kind = ? AND key = ?`, kind, key)
	return e, wrap(err, "%s entry", kind) // a key may be a credential
}

// Entries walks the kind's part of an index, or the owner's part of that. If
// entries that never expire are wanted and some of the others are not, those
// lie in two parts of it.
func (r reader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	s := &selection{}
	part := func() {
		s.where = false
		s.add(`SELECT ` + entryColumns + ` FROM entry INDEXED BY `)
		if q.Owner == "" {
			s.add(`entry_expiry`)
			s.and(`kind = ?`, q.Kind)
		} else {
			s.add(`entry_owner`)
			s.and(`kind = ? AND owner = ? AND owner <> ''`, q.Kind, q.Owner)
		}
	}
	if q.Expires.OrNone && !q.Expires.From.IsZero() && q.After.Time.IsZero() {
		part()
		s.and(`expires_at = ?`, never)
		s.beyond(`key`, q.After.ID, false)
		s.add(` UNION ALL `)
	}
	part()
	if !q.Expires.OrNone && !q.Expires.Before.IsZero() {
		s.and(`expires_at > ?`, never)
	}
	s.span(`expires_at`, `key`, q.Expires, q.After, false)
	s.exact = true
	s.order(false, q.Limit, `expires_at`, `key`)
	found, err := list(ctx, r, scanEntry, s)
	return found, wrap(err, "%s entries", q.Kind)
}

// PutEntry adds a row or replaces it.
func (t *tx) PutEntry(ctx context.Context, e store.Entry) error {
	_, err := t.exec(ctx, `
		INSERT INTO entry (`+entryColumns+`) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (kind, key) DO UPDATE SET owner = excluded.owner, data = excluded.data,
			expires_at = excluded.expires_at, created_at = excluded.created_at`,
		e.Kind, e.Key, e.Owner, e.Data, e.ExpiresAt.UnixMilli(), e.CreatedAt)
	return wrap(err, "put %s entry", e.Kind)
}

// DeleteEntry removes one row.
func (t *tx) DeleteEntry(ctx context.Context, kind, key string) error {
	err := t.change(ctx, `DELETE FROM entry WHERE kind = ? AND key = ?`, kind, key)
	return wrap(err, "delete %s entry", kind)
}
