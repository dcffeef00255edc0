package sqlite

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	entryColumns = `kind, key, ` + entryValues
	entryValues  = `owner, data, expires_at, created_at, move`
)

var (
	selectEntries = `SELECT ` + results(``, entryColumns) + ` FROM entries`
	entryByKey    = `SELECT ` + results(``, entryValues) + ` FROM entries WHERE kind = ? AND key = ?`
)

// In this table alone the zero time is a number like any other, the lowest
// there is.
var never = time.Time{}.UnixMilli()

// expires is the condition of the indexes by expiry.
const expires = `expires_at > -62135596800000`

func scanEntry(r *row) store.Entry { return scanValues(r, r.text(), r.text()) }

func scanValues(r *row, kind, key string) store.Entry {
	return store.Entry{
		Kind: kind, Key: key, Owner: r.text(), Data: r.bytes(), ExpiresAt: r.time(), CreatedAt: r.time(), Move: store.Move(r.integer()),
	}
}

// Entry looks in the table itself.
func (r reader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := one(ctx, r, func(r *row) store.Entry { return scanValues(r, kind, key) }, entryByKey, kind, key)
	return e, wrap(err, "%s entry", kind) // a key may be a credential
}

// Entries walks the kind's part of the table or, by expiry, the kind's or the
// owner's part of an index.
func (r reader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if err := q.Check(); err != nil {
		return nil, wrap(err, "%s entries", q.Kind)
	}
	s := &selection{exact: true}
	s.add(selectEntries)
	switch {
	case q.Order == store.ByExpiry && q.Owner != "":
		s.add(` INDEXED BY entries_owner`)
		s.and(`kind = ? AND owner = ? AND owner <> ''`, q.Kind, q.Owner)
	case q.Order == store.ByExpiry:
		s.add(` INDEXED BY entries_expiry`)
		s.and(`kind = ?`, q.Kind)
	case q.Kind == "":
		s.and(`(kind, key) > (?, ?)`, q.AfterKind, q.After.ID)
	default:
		s.and(`kind = ?`, q.Kind)
	}
	switch {
	case q.Kind == "":
		s.order(false, q.Limit, `kind`, `key`)
	case q.Order == store.ByExpiry:
		s.span(`expires_at`, `key`, q.Expires, q.After, store.Position{}, false)
		s.and(expires) // after the span: the planner begins at the first bound that it reads
		s.order(false, q.Limit, `expires_at`, `key`)
	case q.Keys != nil:
		s.among(`key`, q.Keys)
		s.order(q.Descending, q.Limit, `key`)
	default:
		s.between(`key`, q.From, q.Before, q.After.ID, q.Descending)
		s.order(q.Descending, q.Limit, `key`)
	}
	found, err := list(ctx, r, scanEntry, s)
	return found, wrap(err, "%s entries", q.Kind)
}

// putEntries skips the rows that exist with another owner or expiry, which putIndexed
// replaces. A statement that sets a column of an index writes the index again, whether or
// not the value changes.
var (
	putEntries = forRows(places(7), func(rows string) string {
		return putRows(rows) + ` WHERE owner = excluded.owner AND expires_at = excluded.expires_at`
	})
	putIndexed = forRows(places(7), func(rows string) string {
		return putRows(rows) + `, owner = excluded.owner, expires_at = excluded.expires_at`
	})
)

func putRows(rows string) string {
	return `INSERT INTO entries (` + entryColumns + `) VALUES ` + rows + `
		ON CONFLICT (kind, key) DO UPDATE SET data = excluded.data, created_at = excluded.created_at, move = excluded.move`
}

// PutEntries adds rows or replaces them. The engine writes them in order, so
// that the last of those with one key stays.
func (t *tx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		if err := e.Check(); err != nil {
			return wrap(cmp.Or(t.ready(ctx), err), "put entries")
		}
	}
	t.adds(entries)
	args := make([]any, 0, 7*min(len(entries), rowsPerStatement))
	return together(ctx, t, entries, func(ctx context.Context, chunk []store.Entry) error {
		args = args[:0]
		for _, e := range chunk {
			args = append(args, e.Kind, e.Key, e.Owner, e.Data, e.ExpiresAt.UnixMilli(), e.CreatedAt, int64(e.Move))
		}
		n, err := t.count(ctx, putEntries[len(chunk)], args...)
		if err == nil && n < int64(len(chunk)) {
			_, err = t.exec(ctx, putIndexed[len(chunk)], args...)
		}
		return wrap(err, "put %s entry", chunk[0].Kind)
	}, nil)
}

// DeleteEntries removes the rows that exist.
func (t *tx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	return wrap(t.remove(ctx, `entries`, `kind`, kind, `key`, keys, false), "delete %s entries", kind)
}
