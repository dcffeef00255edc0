package license

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Erased counts what [Service.Erase] did.
type Erased struct {
	Licenses int `json:"licenses"` // deleted
	Events   int `json:"events"`   // blanked
}

// eraseBatch is how many licences or events are erased in one Update, so that
// others get their turn in between.
const eraseBatch = 50

// Erase removes a customer: it deletes the customer's licences with their
// activations, and blanks the events about them, which keep their place, time,
// type, actor, request id, licence id and product id, and nothing else. It
// ends by appending "customer.erased", which does not name the customer.
// Erasing again, or somebody unknown, finds nothing and is no error, so that
// after a failure it can be repeated.
//
// Replies that [Service.Once] keeps may hold the customer's data until they
// end by themselves. A caller who is limited to some products gets
// [ErrProductForbidden].
func (s *Service) Erase(ctx context.Context, customerID string) (Erased, error) {
	if customerID == "" {
		return Erased{}, Invalid("customer_id", CodeRequired, "is required")
	}
	if s.caller.Products != nil {
		return Erased{}, ErrProductForbidden
	}
	var total Erased
	for done := false; !done; {
		var step Erased
		err := s.update(ctx, func(tx *transaction) (err error) {
			if step, err = s.eraseStep(ctx, tx, customerID); err != nil {
				return err
			}
			if done = step == (Erased{}); !done {
				return nil
			}
			_, err = tx.AppendEvent(ctx, store.Event{
				ID:        store.NewID("evt", tx.now),
				Type:      EventCustomerErased,
				Time:      tx.now,
				Actor:     s.actor(),
				RequestID: s.caller.RequestID,
				Data:      encode(total),
			})
			return err
		})
		if err != nil {
			return total, fmt.Errorf("erase customer: %w", err)
		}
		total.Licenses += step.Licenses
		total.Events += step.Events
	}
	return total, nil
}

// erased is what is left of an event's data.
var erased = encode(EventData{Erased: true})

// eraseStep deletes a batch of licences or, when none is left, blanks a batch
// of events.
func (s *Service) eraseStep(ctx context.Context, tx *transaction, customerID string) (step Erased, err error) {
	recs, err := tx.Licenses(ctx, store.LicenseQuery{CustomerID: customerID, Limit: eraseBatch})
	if err != nil {
		return Erased{}, err
	}
	for _, rec := range recs {
		if err := s.remove(ctx, tx, rec); err != nil {
			return Erased{}, err
		}
	}
	if len(recs) > 0 {
		return Erased{Licenses: len(recs)}, nil
	}
	events, err := tx.Events(ctx, store.EventQuery{CustomerID: customerID, Limit: eraseBatch})
	if err != nil {
		return Erased{}, err
	}
	for _, e := range events {
		e.CustomerID, e.Data = "", erased
		if err := tx.ReplaceEvent(ctx, e); err != nil {
			return Erased{}, err
		}
		if err := forgetFormer(ctx, tx, e, customerID); err != nil {
			return Erased{}, err
		}
	}
	return Erased{Events: len(events)}, nil
}

// forgetFormer blanks what the first event of a licence's next customer tells
// of the former one: the changes of the update that made it theirs. That event
// stands right behind the former one's last.
func forgetFormer(ctx context.Context, tx *transaction, last store.Event, customerID string) error {
	next, err := tx.Events(ctx, store.EventQuery{Subject: last.Subject, After: last.Seq, Limit: 1})
	if err != nil || len(next) == 0 {
		return err
	}
	e := next[0]
	var data EventData
	if decode(e.Data, &data) != nil || data.Changes["customer_id"].From != customerID {
		return nil
	}
	data.Changes, data.Erased = nil, true
	e.Data = encode(data)
	return tx.ReplaceEvent(ctx, e)
}
