package postgres

import (
	"context"
	"database/sql"

	"github.com/seed-d8a106b4/licensekit/store"
)

const eventColumns = `e.seq, e.id, e.type, e.time, e.actor, e.request_id, e.subject, e.product_id, e.customer_id, e.data`

func scanEvent(rows *sql.Rows) (e store.Event, err error) {
	err = rows.Scan(&e.Seq, &e.ID, &e.Type, instant{&e.Time}, &e.Actor, &e.RequestID,
		&e.Subject, &e.ProductID, &e.CustomerID, &e.Data)
	return e, err
}

// Events walks the feed, or the subject's or the customer's part of it.
func (r reader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	s := from(eventColumns, "licensing_event e")
	s.leading("e.subject", q.Subject)
	s.leading("e.customer_id", q.CustomerID)
	if q.CustomerID != "" {
		s.and("e.customer_id <> ''") // what the index is of
	}
	s.order(q.Descending, after(q.After), "e.seq")
	found, err := page(ctx, r, scanEvent, s, q.Limit)
	return found, about(err, "events")
}

// AppendEvent draws the next number of the table's sequence. A number is lost
// if the Update is undone, and none is drawn out of turn, since the Update
// holds the lock of the register until it has committed.
func (t tx) AppendEvent(ctx context.Context, e store.Event) (int64, error) {
	values := []any{e.ID, e.Type, millis(e.Time), e.Actor, e.RequestID, e.Subject, e.ProductID, e.CustomerID, document(e.Data)}
	if err := t.mayWrite(ctx, values...); err != nil {
		return 0, about(err, "append event %s", e.ID)
	}
	stmt := `INSERT INTO licensing_event (id, type, time, actor, request_id, subject, product_id, customer_id, data)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING seq`
	if e.Seq > 0 { // an import; the table has no other sequence than that of seq
		values = append(values, e.Seq, t.schema.name)
		stmt = `INSERT INTO licensing_event (seq, id, type, time, actor, request_id, subject, product_id, customer_id, data)
			OVERRIDING SYSTEM VALUE
			SELECT CASE WHEN next < $10::bigint THEN setval(name::regclass, $10::bigint) ELSE next END,
				$1::text, $2::text, $3::bigint, $4::text, $5::text, $6::text, $7::text, $8::text, $9::bytea
			FROM (SELECT name, nextval(name::regclass) AS next
				FROM pg_get_serial_sequence(format('%I.%I', $11::text, 'licensing' || '_event'), 'seq') AS name) AS sequence
			RETURNING seq`
	}
	seq, err := one(ctx, t, scanInt, stmt, values...)
	return seq, about(err, "append event %s", e.ID)
}

// ReplaceEvent updates by the primary key.
func (t tx) ReplaceEvent(ctx context.Context, e store.Event) error {
	n, err := t.write(ctx, `UPDATE licensing_event SET customer_id = $2, data = $3 WHERE seq = $1`,
		e.Seq, e.CustomerID, document(e.Data))
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "replace event %d", e.Seq)
}

// DeleteEvents deletes from the beginning of the primary key.
func (t tx) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	n, err := t.write(ctx, `DELETE FROM licensing_event WHERE seq = ANY (ARRAY(
		SELECT seq FROM licensing_event WHERE seq <= $1 ORDER BY seq LIMIT $2))`, through, max(limit, 0))
	return int(n), about(err, "delete events through %d", through)
}
