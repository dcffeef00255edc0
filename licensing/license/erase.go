package license

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Erased is the result of [Service.EraseCustomer].
type Erased struct {
	Licenses  int `json:"licenses"`           // deleted
	Events    int `json:"events"`             // blanked
	Purchases int `json:"purchases,omitzero"` // blanked; see [Service.Fulfill]
}

// eraseBatch is how many licenses or events one Update erases, so that other
// writers get the write lock in between.
const eraseBatch = 50

// eraseScan is how many events of the feed are read in one Update.
const eraseScan = 500

// EraseCustomer erases a customer: it deletes the customer's licenses with
// their activations and blanks the events about them. A blanked event keeps
// only its position, time, type, actor, request ID, license ID and product
// ID. Of the customer's purchases, also those without a license, and trials, only
// digests of their references and subjects are kept, so that they cannot be used
// again. At the end it appends a customer.erased event, which does not name the
// customer. Erasing an unknown or already erased customer is not an error,
// so a failed call can be repeated.
//
// If an update moved a license of the customer to another customer, that
// event names both and is blanked too. To find those events, EraseCustomer
// reads the whole feed, outside its Updates.
//
// What receivers of webhooks answered to the blanked events is removed from the
// history of deliveries, because it may name the customer. The answer to a request
// that is under way at that time is not stored.
//
// Replies stored by [Service.Once] may hold the customer's data until they
// expire. A caller limited to some products gets [ErrProductForbidden].
func (s *Service) EraseCustomer(ctx context.Context, customerID string) (Erased, error) {
	if customerID == "" {
		return Erased{}, Invalid("customer_id", CodeRequired, "is required")
	}
	if s.caller.Products != nil {
		return Erased{}, ErrProductForbidden
	}
	var total Erased
	var after int64 // Seq up to which the feed was read
	for done := false; !done; {
		var step Erased
		var through int64
		var blanked []store.Event
		err := s.clearAllDeleted(ctx)
		if err == nil {
			after, err = s.eraseAnswers(ctx, customerID, after)
		}
		if err != nil {
			return total, fmt.Errorf("erase customer: %w", err)
		}
		err = s.update(ctx, func(tx *transaction) (err error) {
			through, done, blanked = after, false, nil
			if step, blanked, err = s.eraseStep(ctx, tx, customerID); err != nil || step != (Erased{}) {
				return err
			}
			if through, blanked, err = eraseFormer(ctx, tx, customerID, after); err != nil || through > after {
				return err
			}
			done = true
			return s.appendOther(ctx, tx, store.Event{Type: EventCustomerErased, Data: record.Encode(total)})
		})
		if err == nil { // again, for answers that were stored before the events were blanked
			err = s.eraseAnswersTo(ctx, blanked)
		}
		if err != nil {
			return total, fmt.Errorf("erase customer: %w", err)
		}
		total.Licenses += step.Licenses
		total.Events += step.Events
		total.Purchases += step.Purchases
		after = through
	}
	return total, nil
}

// erased is the data of a blanked event.
var erased = record.Encode(EventData{Erased: true})

// eraseStep deletes a batch of licenses or, if none are left, blanks a batch
// of purchases or then of events, which it returns as they were.
func (s *Service) eraseStep(ctx context.Context, tx *transaction, customerID string) (step Erased, events []store.Event, err error) {
	recs, err := tx.Licenses(ctx, store.LicenseQuery{CustomerID: customerID, Limit: eraseBatch})
	if err != nil {
		return Erased{}, nil, err
	}
	activations := 0
	for _, row := range recs {
		l, err := fromRow(row, tx.now)
		if err != nil {
			return Erased{}, nil, err
		}
		n, err := s.remove(ctx, tx, l)
		if err != nil {
			return Erased{}, nil, err
		}
		step.Licenses++
		if activations += n; activations >= activationBatch {
			break
		}
	}
	if len(recs) > 0 {
		return step, nil, nil
	}
	if step.Purchases, err = tx.erasePurchases(ctx, customerID); err != nil || step.Purchases > 0 {
		return step, nil, err
	}
	if events, err = aboutCustomer(ctx, tx, customerID); err != nil {
		return Erased{}, nil, err
	}
	for _, e := range events {
		e.CustomerID, e.Data = "", erased
		if err := tx.ReplaceEvent(ctx, e); err != nil {
			return Erased{}, nil, err
		}
	}
	return Erased{Events: len(events)}, events, nil
}

// aboutCustomer returns a batch of the events about a customer.
func aboutCustomer(ctx context.Context, r store.Reader, customerID string) ([]store.Event, error) {
	return r.Events(ctx, store.EventQuery{CustomerID: customerID, Limit: eraseBatch})
}

// eraseFormer reads a batch of the feed after a Seq and blanks the changes in
// updates that moved a license from this customer to another. It returns these
// updates as they were, and the last Seq read, or the given Seq at the end of the
// feed.
func eraseFormer(ctx context.Context, tx *transaction, customerID string, after int64) (through int64, former []store.Event, err error) {
	through, former, err = formerCustomer(ctx, tx, customerID, after)
	for _, e := range former {
		var data EventData
		if err := decode(e.Data, &data); err != nil {
			return 0, nil, err
		}
		data.Changes, data.Erased = nil, true
		e.Data = record.Encode(data)
		if err := tx.ReplaceEvent(ctx, e); err != nil {
			return 0, nil, err
		}
	}
	return through, former, err
}

// formerCustomer returns the updates in a batch of the feed after a Seq that moved
// a license from a customer to another, and the last Seq read, or the given Seq at
// the end of the feed. Those events belong to the new customer, and retention may
// have removed all events of the former one, so only reading the whole feed finds
// them.
func formerCustomer(ctx context.Context, r store.Reader, customerID string, after int64) (through int64, former []store.Event, err error) {
	events, err := r.Events(ctx, store.EventQuery{After: after, Limit: eraseScan})
	for _, e := range events {
		after = e.Seq
		var data EventData
		if e.Type == EventLicenseUpdated && decode(e.Data, &data) == nil && data.Changes["customer_id"].From == customerID {
			former = append(former, e)
		}
	}
	return after, former, err
}
