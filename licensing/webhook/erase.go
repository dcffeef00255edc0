package webhook

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// eraseResponses removes what receivers answered to some events from the history of
// all webhooks. The rest of the history does not say what the events were about.
func (s *Service) eraseResponses(ctx context.Context, tx store.Tx, events []store.Event) error {
	var some []outbox.Delivery
	err := eachWebhook(ctx, tx, store.EntryQuery{Limit: store.MaxLimit}, func(rec webhookRecord) bool {
		for _, e := range events {
			some = append(some, outbox.Delivery{WebhookID: rec.ID, ID: deliveryID(rec.ID, e)})
		}
		return true
	})
	if err != nil {
		return err
	}
	found, err := outbox.Stored(ctx, tx, some)
	if err != nil {
		return err
	}
	var erased []outbox.Delivery
	for _, d := range found {
		var data deliveryData
		if err := readData(d.Data, &data); err != nil {
			return fmt.Errorf("delivery %s: %w", d.ID, err)
		}
		answered := false
		for i := range data.Attempts {
			answered = answered || data.Attempts[i].Response != nil
			data.Attempts[i].Response = nil
		}
		if answered {
			d.Data = data.encode()
			erased = append(erased, d)
		}
	}
	return outbox.Put(ctx, tx, erased...)
}
