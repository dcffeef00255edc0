package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// deliveryData is the Data of an outbox.Delivery, whose State is a
// [api.DeliveryStatus].
type deliveryData struct {
	Attempts []api.Attempt `json:"attempts,omitempty"`
	Resent   bool          `json:"resent,omitempty"` // sent whatever types the webhook selects
	// Once is stored in place of a single Attempt that succeeded, in less space:
	// its At in milliseconds of Unix time, StatusCode and DurationMS.
	Once *[3]int64 `json:"once,omitempty"`
}

// encode returns the document to store.
func (data deliveryData) encode() []byte {
	if len(data.Attempts) == 1 {
		a := data.Attempts[0]
		once := api.Attempt{At: a.At, StatusCode: a.StatusCode, DurationMS: a.DurationMS}
		if a == once && a.At.Equal(time.UnixMilli(a.At.UnixMilli())) {
			data.Attempts, data.Once = nil, &[3]int64{a.At.UnixMilli(), int64(a.StatusCode), a.DurationMS}
		}
	}
	return record.Encode(data)
}

// newDelivery returns the record of the delivery of e to a webhook before its
// first attempt. It is due immediately.
func newDelivery(webhookID string, e store.Event, now time.Time) outbox.Delivery {
	due := e.Time
	if due.After(now) {
		due = now
	}
	return outbox.Delivery{
		ID: deliveryID(webhookID, e), WebhookID: webhookID, EventID: e.ID, EventSeq: e.Seq, EventType: e.Type,
		State: string(api.DeliveryPending), DueAt: due, CreatedAt: due, UpdatedAt: due,
	}
}

// fromDelivery converts a stored delivery to its API form.
func fromDelivery(rec outbox.Delivery) (api.Delivery, error) {
	data := deliveryData{Attempts: []api.Attempt{}}
	if err := readData(rec.Data, &data); err != nil {
		return api.Delivery{}, fmt.Errorf("delivery %s: %w", rec.ID, err)
	}
	return api.Delivery{
		Object: "delivery", ID: rec.ID, WebhookID: rec.WebhookID, EventID: rec.EventID, EventType: rec.EventType,
		Status: api.DeliveryStatus(rec.State), NextAttemptAt: record.OptionalTime(rec.DueAt), Attempts: data.Attempts,
		CreatedAt: rec.CreatedAt, UpdatedAt: rec.UpdatedAt,
	}, nil
}

// Deliveries returns a page of the deliveries to a webhook that have been attempted, and
// of tests, newest first. An event that waits for its first attempt has no delivery yet.
// Finished deliveries are kept for Options.DeliveryRetention. A page examines
// about 10,000 deliveries at most, so it may have fewer deliveries than
// Limit, or none, although it has a NextCursor. It returns [api.ErrNotFound] or
// an [*api.InvalidError].
func (s *Service) Deliveries(ctx context.Context, p api.ListDeliveriesParams) (api.Page[api.Delivery], error) {
	if broken := checkTags(p); len(broken) > 0 {
		return api.Page[api.Delivery]{}, &api.InvalidError{Fields: broken}
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	after, err := scopeOf(p).after(p.Cursor, "dlv")
	if err != nil {
		return api.Page[api.Delivery]{}, err
	}
	var recs []outbox.Delivery
	var through string
	err = s.store().View(ctx, func(r store.Reader) error {
		_, err := s.findWebhook(ctx, r, p.WebhookID)
		if err != nil {
			return err
		}
		if p.Status == api.DeliveryPending {
			recs, err = queued(ctx, r, p.WebhookID, after)
		} else {
			recs, through, err = newest(ctx, r, p.WebhookID, string(p.Status), after, p.Limit+1)
		}
		return err
	})
	if err != nil {
		return api.Page[api.Delivery]{}, fmt.Errorf("deliveries: %w", err)
	}
	page := api.Page[api.Delivery]{HasMore: through != ""}
	if page.HasMore {
		page.NextCursor = scopeOf(p).cursorAfter(through)
	}
	if len(recs) > p.Limit {
		recs = recs[:p.Limit]
		page.HasMore, page.NextCursor = true, scopeOf(p).cursorAfter(recs[p.Limit-1].ID)
	}
	page.Data = make([]api.Delivery, len(recs))
	for i, rec := range recs {
		if page.Data[i], err = fromDelivery(rec); err != nil {
			return api.Page[api.Delivery]{}, err
		}
	}
	return page, nil
}

// examinedMost is how many stored deliveries a page of deliveries with a status
// examines at most, and how many events Backlog does.
const examinedMost = 10 * store.MaxLimit

// newest lists the stored deliveries to a webhook in a state, newest first, after
// the one with an ID. If it stops before it has found as many as limit, through is
// the ID of the last one that it has examined.
func newest(ctx context.Context, r store.Reader, webhookID, state, after string, limit int) (found []outbox.Delivery, through string, err error) {
	size := limit // often enough
	for examined := 0; examined < examinedMost; {
		page, err := outbox.Newest(ctx, r, webhookID, after, size)
		if err != nil {
			return nil, "", err
		}
		for _, d := range page {
			if after = d.ID; state == "" || d.State == state {
				found = append(found, d)
			}
		}
		if len(found) >= limit {
			return found[:limit], "", nil
		}
		if len(page) < size {
			return found, "", nil
		}
		examined += size
		size = store.MaxLimit
	}
	return found, after, nil
}

// queued lists the deliveries in the queue of a webhook, newest first, after the
// one with an ID.
func queued(ctx context.Context, r store.Reader, webhookID, after string) (found []outbox.Delivery, err error) {
	found, err = outbox.AllPending(ctx, r, webhookID)
	found = slices.DeleteFunc(found, func(d outbox.Delivery) bool { return after != "" && d.ID >= after })
	slices.SortFunc(found, func(a, b outbox.Delivery) int { return cmp.Compare(b.ID, a.ID) })
	return found, err
}

// Resend sends an event to a webhook again, whatever the status of its delivery and
// whatever types the webhook selects now. An active webhook receives it immediately;
// if that fails, the retry schedule starts from the beginning. The receiver sees the
// same webhook-id.
// Resend returns [api.ErrNotFound] if the webhook or the delivery does not exist.
func (s *Service) Resend(ctx context.Context, webhookID, deliveryID string) (d api.Delivery, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		hook, err := s.findWebhook(ctx, tx, webhookID)
		if err != nil {
			return err
		}
		rec, err := findDelivery(ctx, tx, webhookID, deliveryID)
		if err != nil {
			return err
		}
		var data deliveryData
		if err := readData(rec.Data, &data); err != nil {
			return fmt.Errorf("delivery %s: %w", rec.ID, err)
		}
		data.Resent = true
		if err := tx.checkCursor(ctx, hook); err != nil {
			return err
		}
		rec.State, rec.DueAt, rec.Attempts, rec.UpdatedAt, rec.Data = string(api.DeliveryPending), tx.now, 0, tx.now, data.encode()
		if err := outbox.Put(ctx, tx, rec); err != nil {
			return err
		}
		feed.Wake(tx.Tx)
		d, err = fromDelivery(rec)
		return err
	})
	if err != nil {
		return api.Delivery{}, fmt.Errorf("resend: %w", err)
	}
	return d, nil
}

// Test sends a webhook.test event to one webhook, whatever types it
// subscribes to. It returns [api.ErrNotFound] if the webhook does not exist.
func (s *Service) Test(ctx context.Context, id string) (d api.Delivery, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		rec, err := s.findWebhook(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := s.appendWebhook(ctx, tx, api.EventWebhookTest, rec.webhook(tx.now), api.EventData{}); err != nil {
			return err
		}
		e, err := lastEvent(ctx, tx, id)
		if err != nil {
			return err
		}
		made := newDelivery(id, e, tx.now)
		if err := outbox.Put(ctx, tx, made); err != nil {
			return err
		}
		if err := tx.checkCursor(ctx, rec); err != nil {
			return err
		}
		d, err = fromDelivery(made)
		return err
	})
	if err != nil {
		return api.Delivery{}, fmt.Errorf("test webhook: %w", err)
	}
	return d, nil
}

// readData decodes the Data of a delivery, which is empty before the first
// attempt.
func readData(document []byte, data *deliveryData) error {
	if len(document) == 0 {
		return nil
	}
	err := json.Unmarshal(document, data)
	if once := data.Once; once != nil {
		data.Attempts, data.Once = []api.Attempt{{At: time.UnixMilli(once[0]).UTC(), StatusCode: int(once[1]), DurationMS: once[2]}}, nil
	}
	return err
}

// idText encodes the 128 bits of an ID, after four zero bytes, as its 26 digits,
// after six zeros.
var idText = base32.NewEncoding(record.IDDigits).WithPadding(base32.NoPadding)

// deliveryID returns the ID of the delivery of an event to a webhook: the time
// of the event in 48 bits, its Seq in 40, and 40 bits of a digest. A repeated
// delivery has the same ID, and IDs sort by time.
func deliveryID(webhookID string, e store.Event) string {
	var id [20]byte
	binary.BigEndian.PutUint64(id[7:], uint64(e.Seq))
	binary.BigEndian.PutUint64(id[2:], uint64(max(0, e.Time.UnixMilli())))
	sum := sha256.Sum256([]byte(webhookID + " " + e.ID))
	copy(id[15:], sum[:])
	return "dlv_" + idText.EncodeToString(id[:])[6:]
}
