package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// eraseResponses removes what receivers answered to some events from the history of
// all webhooks. The rest of the history does not say what the events were about. It
// looks for such answers outside the Updates that remove them.
func (s *Service) eraseResponses(ctx context.Context, st store.Store, events []store.Event) error {
	all, err := readAll(ctx, st)
	if err != nil {
		return err
	}
	for _, e := range events {
		for some := range slices.Chunk(all, purgeBatch) {
			deliveries := make([]outbox.Delivery, len(some))
			for i, rec := range some {
				deliveries[i] = outbox.Delivery{WebhookID: rec.ID, ID: deliveryID(rec.ID, e)}
			}
			answered, err := withoutResponses(ctx, st, deliveries)
			if err == nil && len(answered) > 0 {
				err = st.Update(ctx, func(tx store.Tx) error {
					erased, err := withoutResponses(ctx, tx, answered)
					if err != nil {
						return err
					}
					return outbox.Put(ctx, tx, erased...)
				})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// erasedAnswers removes the answers to events that EraseCustomer has blanked from
// outcomes that an Update stores. The requests were under way at that time.
type erasedAnswers struct {
	store.Reader
	blanked map[int64]bool // what is known, by the Seq of the event
}

// discard returns the outcome of a delivery, without the answer if its event has been
// blanked or is not kept any more.
func (a erasedAnswers) discard(ctx context.Context, d outbox.Delivery, o outcome) (outcome, error) {
	if o.attempt.Response == nil {
		return o, nil
	}
	blanked, known := a.blanked[d.EventSeq]
	if !known {
		e, err := storedEvent(ctx, a, d)
		if err != nil {
			return o, err
		}
		var data struct{ Erased bool }
		blanked = e == nil || json.Unmarshal(e.Data, &data) == nil && data.Erased
		a.blanked[d.EventSeq] = blanked
	}
	if blanked {
		o.attempt.Response = nil
	}
	return o, nil
}

// withoutResponses returns those of some deliveries that have an answer, without it.
func withoutResponses(ctx context.Context, r store.Reader, some []outbox.Delivery) (erased []outbox.Delivery, err error) {
	found, err := outbox.Stored(ctx, r, some)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		var data deliveryData
		if err := readData(d.Data, &data); err != nil {
			return nil, fmt.Errorf("delivery %s: %w", d.ID, err)
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
	return erased, nil
}
