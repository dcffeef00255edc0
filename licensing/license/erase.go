package license

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Erased counts what [Service.Erase] did.
type Erased struct {
	Licenses int `json:"licenses"` // deleted
	Events   int `json:"events"`   // blanked
}

// eraseBatch is how many licenses or events are erased in one Update, so that
// others get their turn in between.
const eraseBatch = 50

// eraseScan is how many events of the feed are read in one Update.
const eraseScan = 500

// Erase removes a customer: it deletes the customer's licenses with their
// activations, and blanks the events about them, which keep their place, time,
// type, actor, request id, license id and product id, and nothing else. It
// ends by appending "customer.erased", which does not name the customer.
// Erasing again, or somebody unknown, finds nothing and is no error, so that
// after a failure it can be repeated.
//
// Where an update gave a license of the customer to another one, the changes
// in its event name both, and are blanked too. To find those events, Erase
// reads the whole feed once, in short Updates.
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
	var after int64 // through which Seq the feed has been read
	for done := false; !done; {
		var step Erased
		var through int64
		if err := s.clearCustomer(ctx, customerID); err != nil {
			return total, fmt.Errorf("erase customer: %w", err)
		}
		err := s.update(ctx, func(tx *transaction) (err error) {
			through, done = after, false
			if step, err = s.eraseStep(ctx, tx, customerID); err != nil || step != (Erased{}) {
				return err
			}
			if through, err = eraseFormer(ctx, tx, customerID, after); err != nil || through > after {
				return err
			}
			done = true
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
		after = through
	}
	return total, nil
}

// clearCustomer deletes the ended activations of the licenses that come next, in
// steps of their own.
func (s *Service) clearCustomer(ctx context.Context, customerID string) error {
	recs, err := s.reader().Licenses(ctx, store.LicenseQuery{CustomerID: customerID, Limit: eraseBatch})
	for _, rec := range recs {
		if err := s.clearEnded(ctx, rec.ID, nil); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return err
}

// erased is what is left of an event's data.
var erased = encode(EventData{Erased: true})

// eraseStep deletes a batch of licenses or, when none is left, blanks a batch
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
	}
	return Erased{Events: len(events)}, nil
}

// eraseFormer reads a batch of the feed after a Seq and blanks the changes of
// the updates by which licenses of the customer became another customer's.
// Those events belong to the next customer, and retention may have removed
// every event of the former one, so only reading the whole feed finds them all.
// It returns the last Seq read, and after itself at the end of the feed.
func eraseFormer(ctx context.Context, tx *transaction, customerID string, after int64) (through int64, err error) {
	events, err := tx.Events(ctx, store.EventQuery{After: after, Limit: eraseScan})
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		after = e.Seq
		var data EventData
		if e.Type != EventLicenseUpdated || decode(e.Data, &data) != nil || data.Changes["customer_id"].From != customerID {
			continue
		}
		data.Changes, data.Erased = nil, true
		e.Data = encode(data)
		if err := tx.ReplaceEvent(ctx, e); err != nil {
			return 0, err
		}
	}
	return after, nil
}
