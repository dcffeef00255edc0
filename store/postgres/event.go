package postgres

import (
	"context"
	"database/sql"
	"slices"
	"strings"

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
	s := from(eventColumns, "licensing_events e")
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

// lastSeq is the highest number that an event has had.
const lastSeq = `greatest((SELECT removed_seq FROM licensing_schema), (SELECT max(seq) FROM licensing_events))`

// AppendEvents gives the events the next numbers. They are committed in order,
// because the Update holds the schema's lock until it has committed.
func (t tx) AppendEvents(ctx context.Context, events ...store.Event) error {
	err := t.appendEvents(ctx, events)
	if len(events) == 1 {
		return about(err, "append event %s", events[0].ID)
	}
	return about(err, "append %d events", len(events))
}

func (t tx) appendEvents(ctx context.Context, events []store.Event) error {
	if len(events) == 0 {
		return t.ready(ctx)
	}
	rows := make([][]any, len(events))
	for i, e := range events {
		rows[i] = []any{i + 1, e.ID, e.Type, millis(e.Time), e.Actor, e.RequestID, e.Subject, e.ProductID, e.CustomerID, document(e.Data)}
	}
	numbered := slices.ContainsFunc(events, func(e store.Event) bool { return e.Seq > 0 })
	if numbered {
		last, err := one(ctx, t, scanInt, `SELECT `+lastSeq)
		if err != nil {
			return err
		}
		for i, e := range events {
			last = max(e.Seq, last+1)
			rows[i][0] = last
		}
	}
	insert := `INSERT INTO licensing_events (` + bare(eventColumns) + `) ` + recordset("ittitttttd")
	if !numbered {
		insert = strings.Replace(insert, "(r->>0)::bigint", lastSeq+" + (r->>0)::bigint", 1)
	}
	_, err := t.writeRows(ctx, rows, insert)
	return err
}

// ReplaceEvent updates by the primary key.
func (t tx) ReplaceEvent(ctx context.Context, e store.Event) error {
	n, err := t.write(ctx, `UPDATE licensing_events SET customer_id = $2, data = $3 WHERE seq = $1`,
		e.Seq, e.CustomerID, document(e.Data))
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "replace event %d", e.Seq)
}

// DeleteEvents deletes from the beginning of the primary key. It keeps the number of
// the newest event if it may remove that.
func (t tx) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	n, err := t.write(ctx, `
		WITH kept AS (UPDATE licensing_schema SET removed_seq = `+lastSeq+`
			WHERE removed_seq < $1 AND $1 >= (SELECT max(seq) FROM licensing_events))
		DELETE FROM licensing_events WHERE seq = ANY (ARRAY(
			SELECT seq FROM licensing_events WHERE seq <= $1 ORDER BY seq LIMIT $2))`, through, max(limit, 0))
	return int(n), about(err, "delete events through %d", through)
}
