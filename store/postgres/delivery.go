package postgres

import (
	"context"
	"database/sql"

	"github.com/seed-d8a106b4/licensekit/store"
)

const deliveryColumns = `d.id, d.endpoint_id, d.event_id, d.event_seq, d.event_type, d.state,
	d.due_at, d.attempts, d.data, d.created_at, d.updated_at`

func scanDelivery(rows *sql.Rows) (d store.Delivery, err error) {
	err = rows.Scan(&d.ID, &d.EndpointID, &d.EventID, &d.EventSeq, &d.EventType, &d.State,
		instant{&d.DueAt}, &d.Attempts, &d.Data, instant{&d.CreatedAt}, instant{&d.UpdatedAt})
	return d, err
}

// Delivery reads by the primary key.
func (r reader) Delivery(ctx context.Context, id string) (store.Delivery, error) {
	d, err := one(ctx, r, scanDelivery, `SELECT `+deliveryColumns+` FROM licensing_delivery d WHERE d.id = $1`, id)
	return d, about(err, "delivery %s", id)
}

// Deliveries walks the index of due times, or one of ids.
func (r reader) Deliveries(ctx context.Context, q store.DeliveryQuery) ([]store.Delivery, error) {
	s := from(deliveryColumns, "licensing_delivery d")
	s.leading("d.endpoint_id", q.EndpointID)
	if q.DueBefore.IsZero() {
		s.leading("d.state", q.State)
		s.order(true, after(q.After.ID), "d.id")
	} else {
		if q.State != "" {
			// All that is due is in one state, which the planner cannot
			// know: it would fetch all in that state and sort them. It
			// takes what it cannot see into for half of the rows.
			s.and("CASE WHEN d.state = ? THEN true END", q.State)
		}
		s.and("d.due_at < ?", ceiling(q.DueBefore))
		s.order(false, behind(q.After), "d.due_at", "d.id")
	}
	found, err := page(ctx, r, scanDelivery, s, q.Limit)
	return found, about(err, "deliveries")
}

// PutDelivery adds or replaces by the primary key.
func (t tx) PutDelivery(ctx context.Context, d store.Delivery) error {
	_, err := t.write(ctx, `
		INSERT INTO licensing_delivery VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (id) DO UPDATE SET
			endpoint_id = excluded.endpoint_id, event_id = excluded.event_id, event_seq = excluded.event_seq,
			event_type = excluded.event_type, state = excluded.state, due_at = excluded.due_at, attempts = excluded.attempts,
			data = excluded.data, created_at = excluded.created_at, updated_at = excluded.updated_at`,
		d.ID, d.EndpointID, d.EventID, d.EventSeq, d.EventType, d.State,
		millis(d.DueAt), d.Attempts, document(d.Data), millis(d.CreatedAt), millis(d.UpdatedAt))
	return about(err, "put delivery %s", d.ID)
}

// DeleteDelivery deletes by the primary key.
func (t tx) DeleteDelivery(ctx context.Context, id string) error {
	n, err := t.write(ctx, `DELETE FROM licensing_delivery WHERE id = $1`, id)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "delete delivery %s", id)
}
