package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const entryColumns = `e.kind, e.key, e.owner, e.data, e.expires_at, e.created_at, e.move`

// never is the stored value of an unset ExpiresAt: the zero time itself.
var never = time.Time{}.UnixMilli()

func scanEntry(rows *sql.Rows, more ...any) (e store.Entry, err error) {
	err = rows.Scan(append([]any{&e.Kind, &e.Key, &e.Owner, &e.Data, instant{&e.ExpiresAt}, instant{&e.CreatedAt}, &e.Move}, more...)...)
	return e, err
}

// Entry reads by the primary key.
func (r reader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := one(ctx, r, scanEntry, `SELECT `+entryColumns+` FROM licensing_entries e WHERE e.kind = $1 AND e.key = $2`, kind, key)
	return e, about(err, "%s entry", kind) // a key may be a credential
}

// Entries walks the kind's part of the primary key or, by expiry, the kind's or
// the owner's part of an index.
func (r reader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	s, err := selectEntries(q)
	if err != nil {
		return nil, about(err, "%s entries", q.Kind)
	}
	found, err := page(ctx, r, scanEntry, s, q.Limit)
	return found, about(err, "%s entries", q.Kind)
}

// selectEntries returns the selection of a list.
func selectEntries(q store.EntryQuery) (*selection, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	s := from(entryColumns, "licensing_entries e")
	if q.Kind != "" {
		s.and("e.kind = ?", q.Kind)
	}
	if q.Kind == "" {
		s.order(false, []any{q.AfterKind, q.After.ID}, "e.kind", "e.key")
	} else if q.Order == store.ByExpiry {
		s.leading("e.owner", q.Owner)
		if q.Owner != "" {
			s.and("e.owner <> ''") // the condition of the partial index
		}
		s.and("e.expires_at > -62135596800000")
		if !q.Expires.From.IsZero() {
			s.and("e.expires_at >= ?", ceiling(q.Expires.From))
		}
		if !q.Expires.Before.IsZero() {
			s.and("e.expires_at < ?", ceiling(q.Expires.Before))
		}
		s.order(false, afterTime(q.After), "e.expires_at", "e.key")
	} else {
		if q.Keys != nil {
			keys, err := textArray(q.Keys)
			if err != nil {
				return nil, err
			}
			s.and("e.key = ANY (ARRAY(SELECT json_array_elements_text(?::text::json)))", keys)
		}
		if q.From != "" {
			s.and("e.key >= ?", q.From)
		}
		if q.Before != "" {
			s.and("e.key < ?", q.Before)
		}
		s.order(q.Descending, after(q.After.ID), "e.key")
	}
	return s, nil
}

// textArray returns a JSON array of the texts that PostgreSQL can store.
func textArray(texts []string) (string, error) {
	texts = slices.DeleteFunc(append([]string{}, texts...), func(text string) bool { return !storable(text) })
	array, err := json.Marshal(texts)
	return string(array), err
}
