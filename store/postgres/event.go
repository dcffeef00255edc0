package postgres

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Events walks the feed, or the subject's, the customer's or the product's part
// of it.
func (r reader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	s := from(events)
	s.part, s.touches = place{kind: feedAt}, func(p place, _ any) bool { return p.kind == feedAt }
	s.leading("e.subject", q.Subject)
	s.partial("e.customer_id", q.CustomerID)
	s.partial("e.product_id", q.ProductID)
	s.order(q.Descending, after(q.After), "e.seq")
	found, err := list[store.Event](ctx, r, s, q.Limit)
	return found, about(err, "events")
}

// lastSeq is the highest number that an event has had.
const lastSeq = `greatest((SELECT removed_seq FROM licensing_schema), (SELECT max(seq) FROM licensing_events))`

// ReplaceEvent updates by the primary key.
func (a *attempt) ReplaceEvent(ctx context.Context, e store.Event) error {
	n, err := a.change(ctx, `WITH changed AS (UPDATE licensing_events SET customer_id = $2, data = $3 WHERE seq = $1 RETURNING 1)
		SELECT count(*) FROM changed`, e.Seq, e.CustomerID, append([]byte{}, e.Data...))
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "replace event %d", e.Seq)
}

// DeleteEvents deletes from the beginning of the primary key. It keeps the number of
// the newest event if it may remove that.
func (a *attempt) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	n, err := a.change(ctx, `
		WITH kept AS (UPDATE licensing_schema SET removed_seq = `+lastSeq+`
			WHERE removed_seq < $1 AND $1 >= (SELECT max(seq) FROM licensing_events)),
		changed AS (DELETE FROM licensing_events WHERE seq = ANY (ARRAY(
			SELECT seq FROM licensing_events WHERE seq <= $1 ORDER BY seq LIMIT $2)) RETURNING 1)
		SELECT count(*) FROM changed`, through, max(limit, 0))
	return n, about(err, "delete events through %d", through)
}

// change runs a statement that changes events, under the lock, and returns how many it
// has changed.
func (a *attempt) change(ctx context.Context, stmt string, args ...any) (n int, err error) {
	if !storable(args...) {
		return 0, cmp.Or(a.ready(ctx), errNotText)
	}
	_, err = all(ctx, a, func(rows *sql.Rows) (none struct{}, err error) {
		a.wrote = true
		return none, rows.Scan(&n)
	}, stmt, args...)
	return n, err
}
