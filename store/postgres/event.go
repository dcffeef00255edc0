package postgres

import (
	"context"
	"database/sql"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

const eventColumns = `e.seq, e.id, e.type, e.time, e.actor, e.request_id, e.subject, e.product_id, e.customer_id, e.data`

func scanEvent(rows *sql.Rows) (e store.Event, err error) {
	err = rows.Scan(&e.Seq, &e.ID, &e.Type, instant{&e.Time}, &e.Actor, &e.RequestID,
		&e.Subject, &e.ProductID, &e.CustomerID, &e.Data)
	return e, err
}

// Events walks the feed, or the subject's, the customer's or the product's part
// of it.
func (r reader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	s := from(eventColumns, "licensing_feed e")
	s.leading("e.subject", q.Subject)
	s.leading("e.customer_id", q.CustomerID)
	s.leading("e.product_id", q.ProductID)
	if q.CustomerID != "" {
		s.and("e.customer_id <> ''") // the condition of the partial index
	}
	if q.ProductID != "" {
		s.and("e.product_id <> ''")
	}
	s.order(q.Descending, after(q.After), "e.seq")
	found, err := page(ctx, r, scanEvent, s, q.Limit)
	return found, about(err, "events")
}

// AppendEvents takes the next numbers of the table's sequence. A rolled-back
// Update leaves a gap. Numbers are committed in order, because the Update holds
// the schema's lock until it has committed.
func (t tx) AppendEvents(ctx context.Context, events ...store.Event) ([]int64, error) {
	seqs, err := t.appendEvents(ctx, events)
	if len(events) == 1 {
		return seqs, about(err, "append event %s", events[0].ID)
	}
	return seqs, about(err, "append %d events", len(events))
}

func (t tx) appendEvents(ctx context.Context, events []store.Event) ([]int64, error) {
	rows := make([][]any, 0, len(events))
	numbered := false
	for _, e := range events {
		rows = append(rows, []any{e.ID, e.Type, millis(e.Time), e.Actor, e.RequestID, e.Subject, e.ProductID, e.CustomerID, document(e.Data)})
		numbered = numbered || e.Seq > 0
	}
	text, err := t.rows(ctx, rows)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	if err := t.mayWrite(ctx); err != nil {
		return nil, err
	}
	if numbered {
		return t.appendNumbered(ctx, events, rows)
	}
	seqs, err := all(ctx, t, scanInt, `INSERT INTO licensing_feed (`+bare(eventColumns)[len("seq, "):]+`) `+recordset("ttitttttd")+` RETURNING seq`, text)
	slices.Sort(seqs)
	return seqs, err
}

// appendNumbered appends the events of an import, and sets the sequence to
// continue after them. The sequence of seq is the table's only one.
func (t tx) appendNumbered(ctx context.Context, events []store.Event, rows [][]any) ([]int64, error) {
	const sequence = `pg_get_serial_sequence(format('%I.%I', $1::text, 'licensing' || '_feed'), 'seq')::regclass`
	next, err := one(ctx, t, scanInt, `SELECT nextval(`+sequence+`)`, t.schema.name)
	if err != nil {
		return nil, err
	}
	seqs := make([]int64, len(events))
	last := next - 1
	for i, e := range events {
		last = max(e.Seq, last+1)
		seqs[i] = last
		rows[i] = append([]any{last}, rows[i]...)
	}
	_, err = t.writeRows(ctx, rows, `INSERT INTO licensing_feed (`+bare(eventColumns)+`) OVERRIDING SYSTEM VALUE `+recordset("ittitttttd"))
	if err == nil {
		_, err = one(ctx, t, scanInt, `SELECT setval(`+sequence+`, $2)`, t.schema.name, last)
	}
	return seqs, err
}

// ReplaceEvent updates by the primary key.
func (t tx) ReplaceEvent(ctx context.Context, e store.Event) error {
	n, err := t.write(ctx, `UPDATE licensing_feed SET customer_id = $2, data = $3 WHERE seq = $1`,
		e.Seq, e.CustomerID, document(e.Data))
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "replace event %d", e.Seq)
}

// DeleteEvents deletes from the beginning of the primary key.
func (t tx) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	n, err := t.write(ctx, `DELETE FROM licensing_feed WHERE seq = ANY (ARRAY(
		SELECT seq FROM licensing_feed WHERE seq <= $1 ORDER BY seq LIMIT $2))`, through, max(limit, 0))
	return int(n), about(err, "delete events through %d", through)
}
