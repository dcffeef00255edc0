package sqlite

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

const deliveryColumns = `id, endpoint_id, event_id, event_seq, event_type, state, due_at, attempts, data, created_at, updated_at`

func scanDelivery(r *row) store.Delivery {
	return store.Delivery{
		ID: r.text(), EndpointID: r.text(), EventID: r.text(), EventSeq: r.integer(), EventType: r.text(), State: r.text(),
		DueAt: r.time(), Attempts: r.integer(), Data: r.bytes(), CreatedAt: r.time(), UpdatedAt: r.time(),
	}
}

// Delivery looks in the table itself.
func (r reader) Delivery(ctx context.Context, id string) (store.Delivery, error) {
	d, err := one(ctx, r, scanDelivery, `SELECT `+deliveryColumns+` FROM delivery WHERE id = ?`, id)
	return d, wrap(err, "delivery %s", id)
}

// Deliveries walks an index of due times or of IDs, the endpoint's part of it
// if one is named.
func (r reader) Deliveries(ctx context.Context, q store.DeliveryQuery) ([]store.Delivery, error) {
	s, due := &selection{}, !q.DueBefore.IsZero()
	s.add(`SELECT ` + deliveryColumns + ` FROM delivery`)
	switch {
	case due && q.EndpointID != "":
		s.add(` INDEXED BY delivery_endpoint_due`)
	case due:
		s.add(` INDEXED BY delivery_due`)
	case q.EndpointID != "":
		s.add(` INDEXED BY delivery_endpoint`)
	case q.State != "":
		s.add(` INDEXED BY delivery_state`)
	}
	if q.EndpointID != "" {
		s.and(`endpoint_id = ?`, q.EndpointID)
	}
	if q.State != "" {
		s.and(`state = ?`, q.State)
	}
	if due {
		s.and(`due_at IS NOT NULL`)
		s.span(`due_at`, `id`, store.TimeRange{Before: q.DueBefore}, q.After, false)
		s.order(false, q.Limit, `due_at`, `id`)
	} else {
		s.beyond(`id`, q.After.ID, true)
		s.order(true, q.Limit, `id`)
	}
	found, err := list(ctx, r, scanDelivery, s)
	return found, wrap(err, "deliveries")
}

// PutDelivery adds a row or replaces it.
func (t *tx) PutDelivery(ctx context.Context, d store.Delivery) error {
	_, err := t.exec(ctx, `
		INSERT INTO delivery (`+deliveryColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET endpoint_id = excluded.endpoint_id, event_id = excluded.event_id,
			event_seq = excluded.event_seq, event_type = excluded.event_type, state = excluded.state,
			due_at = excluded.due_at, attempts = excluded.attempts, data = excluded.data,
			created_at = excluded.created_at, updated_at = excluded.updated_at`,
		d.ID, d.EndpointID, d.EventID, d.EventSeq, d.EventType, d.State, d.DueAt, d.Attempts, d.Data, d.CreatedAt, d.UpdatedAt)
	return wrap(err, "put delivery %s", d.ID)
}

// DeleteDelivery removes one row.
func (t *tx) DeleteDelivery(ctx context.Context, id string) error {
	err := t.change(ctx, `DELETE FROM delivery WHERE id = ?`, id)
	return wrap(err, "delete delivery %s", id)
}
