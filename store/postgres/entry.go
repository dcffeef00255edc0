package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const entryColumns = `e.kind, e.key, e.owner, e.data, e.expires_at, e.created_at`

// never is what is stored for an ExpiresAt that is not set: the zero time
// itself, since such entries come first.
var never = time.Time{}.UnixMilli()

func scanEntry(rows *sql.Rows) (e store.Entry, err error) {
	err = rows.Scan(&e.Kind, &e.Key, &e.Owner, &e.Data, instant{&e.ExpiresAt}, instant{&e.CreatedAt})
	return e, err
}

// Entry reads by the primary key.
func (r reader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := one(ctx, r, scanEntry, `SELECT `+entryColumns+` FROM licensing_entry e WHERE e.kind = $1 AND e.key = $2`, kind, key)
	return e, about(err, "%s entry", kind) // a key may be a credential
}

// Entries walks the kind's or the owner's part of an index.
func (r reader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	s := from(entryColumns, "licensing_entry e")
	s.and("e.kind = ?", q.Kind)
	s.leading("e.owner", q.Owner)
	if q.Owner != "" {
		s.and("e.owner <> ''") // what the index is of
	}
	if e := q.Expires; !e.From.IsZero() && e.OrNone {
		s.and("(e.expires_at = ? OR e.expires_at >= ?)", never, ceiling(e.From))
	} else if !e.From.IsZero() {
		s.and("e.expires_at >= ?", ceiling(e.From))
	} else if !e.Before.IsZero() && !e.OrNone {
		s.and("e.expires_at > ?", never)
	}
	if !q.Expires.Before.IsZero() {
		s.and("e.expires_at < ?", ceiling(q.Expires.Before)) // never is before any instant
	}
	s.order(false, behind(q.After), "e.expires_at", "e.key")
	found, err := page(ctx, r, scanEntry, s, q.Limit)
	return found, about(err, "%s entries", q.Kind)
}

// PutEntry adds or replaces by the primary key.
func (t tx) PutEntry(ctx context.Context, e store.Entry) error {
	_, err := t.write(ctx, `
		INSERT INTO licensing_entry VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (kind, key) DO UPDATE SET
			owner = excluded.owner, data = excluded.data, expires_at = excluded.expires_at, created_at = excluded.created_at`,
		e.Kind, e.Key, e.Owner, document(e.Data), e.ExpiresAt.UnixMilli(), millis(e.CreatedAt))
	return about(err, "put %s entry", e.Kind)
}

// DeleteEntry deletes by the primary key.
func (t tx) DeleteEntry(ctx context.Context, kind, key string) error {
	n, err := t.write(ctx, `DELETE FROM licensing_entry WHERE kind = $1 AND key = $2`, kind, key)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "delete %s entry", kind)
}
