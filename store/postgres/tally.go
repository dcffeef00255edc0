package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"

	"github.com/seed-d8a106b4/licensekit/store"
)

func scanTally(rows *sql.Rows) (t store.Tally, err error) {
	err = rows.Scan(&t.Kind, &t.Name, &t.N)
	return t, err
}

// Tallies walks the kind's part of the primary key.
func (r reader) Tallies(ctx context.Context, q store.TallyQuery) ([]store.Tally, error) {
	s := from("t.kind, t.name, t.n", "licensing_tally t")
	s.and("t.kind = ?", q.Kind)
	if q.From != "" {
		s.and("t.name >= ?", q.From)
	}
	if q.Before != "" {
		s.and("t.name < ?", q.Before)
	}
	s.order(q.Descending, after(q.After), "t.name")
	found, err := page(ctx, r, scanTally, s, q.Limit)
	return found, about(err, "%s tallies", q.Kind)
}

// Additions are what was added to tallies and has not been sent yet. An Update
// adds to several, and the Updates of a group mostly to the same ones, so all of
// it is sent in one statement: when somebody asks, or before COMMIT.
type additions map[additionKey]int64

type additionKey struct{ kind, name string }

// plus returns the sum of both. It may be one of them.
func (a additions) plus(b additions) additions {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	sum := maps.Clone(a)
	for k, n := range b {
		sum[k] += n
	}
	return sum
}

// MarshalJSON writes the additions as the statement of send reads them.
func (a additions) MarshalJSON() ([]byte, error) {
	type row struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
		N    int64  `json:"n"`
	}
	rows := make([]row, 0, len(a))
	for k, n := range a {
		rows = append(rows, row{k.kind, k.name, n})
	}
	return json.Marshal(rows)
}

// Tallies sends what was added so far, and reads.
func (t tx) Tallies(ctx context.Context, q store.TallyQuery) ([]store.Tally, error) {
	if err := t.send(ctx); err != nil {
		return nil, about(err, "%s tallies", q.Kind)
	}
	return t.reader.Tallies(ctx, q)
}

// AddTally keeps the addition to be sent later.
func (t tx) AddTally(ctx context.Context, kind, name string, delta int64) error {
	if err := t.mayWrite(ctx, kind, name); err != nil {
		return about(err, "add to %s tally", kind)
	}
	if t.added == nil {
		t.added = additions{}
	}
	t.added[additionKey{kind, name}] += delta
	return nil
}

// send adds what was kept, by the Updates before this one in the group and by
// this one, and deletes the tallies that have come to zero.
func (t tx) send(ctx context.Context) error {
	sum := t.before.plus(t.added)
	if len(sum) == 0 {
		return nil
	}
	rows, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	if err := t.mayWrite(ctx); err != nil {
		return err
	}
	zeros, err := all(ctx, t, scanText, `
		WITH summed AS (
			INSERT INTO licensing_tally AS t
			SELECT kind, name, n FROM json_to_recordset($1::text::json) AS added (kind text, name text, n bigint) WHERE n <> 0
			ON CONFLICT (kind, name) DO UPDATE SET n = t.n + excluded.n
			RETURNING ctid AS place, n
		)
		SELECT array_agg(place)::text FROM summed WHERE n = 0 HAVING count(*) > 0`, string(rows))
	if err == nil && len(zeros) > 0 {
		_, err = t.write(ctx, `DELETE FROM licensing_tally WHERE ctid = ANY ($1::text::tid[])`, zeros[0])
	}
	if err == nil {
		t.before, t.added = nil, nil
	}
	return err
}
