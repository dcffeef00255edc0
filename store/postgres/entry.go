package postgres

import (
	"cmp"
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

func scanEntry(rows *sql.Rows) (e store.Entry, err error) {
	err = rows.Scan(&e.Kind, &e.Key, &e.Owner, &e.Data, instant{&e.ExpiresAt}, instant{&e.CreatedAt}, &e.Move)
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
	if err := q.Check(); err != nil {
		return nil, about(err, "%s entries", q.Kind)
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
				return nil, about(err, "%s entries", q.Kind)
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
	found, err := page(ctx, r, scanEntry, s, q.Limit)
	return found, about(err, "%s entries", q.Kind)
}

// textArray returns a JSON array of the texts that PostgreSQL can store.
func textArray(texts []string) (string, error) {
	texts = slices.DeleteFunc(append([]string{}, texts...), func(text string) bool { return !storable(text) })
	array, err := json.Marshal(texts)
	return string(array), err
}

// PutEntries adds or replaces by the primary key, all entries in one statement.
// If several have one key, it sends the last.
func (t tx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	rows := make([][]any, 0, len(entries))
	sent := make(map[[2]string]int, len(entries))
	for _, e := range entries {
		if err := e.Check(); err != nil {
			return about(cmp.Or(t.ready(ctx), err), "put entries")
		}
		row := []any{e.Kind, e.Key, e.Owner, document(e.Data), e.ExpiresAt.UnixMilli(), millis(e.CreatedAt), int64(e.Move)}
		place := [2]string{e.Kind, e.Key}
		if i, again := sent[place]; again {
			rows[i] = row
			continue
		}
		sent[place] = len(rows)
		rows = append(rows, row)
	}
	_, err := t.writeRows(ctx, rows, `
		INSERT INTO licensing_entries (`+bare(entryColumns)+`) `+recordset("tttdiii")+`
		ON CONFLICT (kind, key) DO UPDATE SET
			owner = excluded.owner, data = excluded.data, expires_at = excluded.expires_at, created_at = excluded.created_at,
			move = excluded.move`)
	return about(err, "put entries")
}

// DeleteEntries deletes by the primary key, all entries in one statement.
func (t tx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	return about(t.remove(ctx, "licensing_entries", "kind", kind, "key", keys, false), "delete %s entries", kind)
}

// remove deletes the rows of a group with the given ids. If all must exist, it
// deletes none if one of them is missing.
func (t tx) remove(ctx context.Context, table, groupColumn, group, idColumn string, ids []string, all bool) error {
	if len(ids) == 0 {
		return t.ready(ctx)
	}
	array, err := textArray(ids)
	if err != nil {
		return err
	}
	must := int64(0)
	if all {
		must = int64(len(ids))
	}
	these := groupColumn + " = $1 AND " + idColumn + " = ANY ((SELECT ids FROM ids)::text[])"
	n, err := t.write(ctx, `
		WITH ids AS (SELECT ARRAY(SELECT json_array_elements_text($2::text::json)) AS ids)
		DELETE FROM `+table+` WHERE `+these+` AND ($3 = 0 OR $3 = (SELECT count(*) FROM `+table+` WHERE `+these+`))`,
		group, array, must)
	if err == nil && n < must {
		err = store.ErrNotFound
	}
	return err
}
