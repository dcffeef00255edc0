package leave

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/holds"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// eraseBatch is how many licenses or events one Update erases, so that other
// writers get the write lock in between.
const eraseBatch = 50

// eraseScan is how many events of the feed are read in one Update.
const eraseScan = 500

// EraseCustomer erases a customer; see package license.
func (s Service) EraseCustomer(ctx context.Context, customerID string) (api.Erased, error) {
	if customerID == "" {
		return api.Erased{}, api.Invalid("customer_id", api.FieldRequired, "is required")
	}
	if s.Caller.Products != nil {
		return api.Erased{}, api.ErrProductForbidden
	}
	e := erasure{Service: s, customerID: customerID}
	for done := false; !done; {
		var err error
		if done, err = e.run(ctx); err != nil {
			return e.total, fmt.Errorf("erase customer: %w", err)
		}
	}
	return e.total, nil
}

// An erasure is a call of EraseCustomer.
type erasure struct {
	Service
	customerID string
	total      api.Erased
	after      int64 // the Seq up to which blankMoves has read the feed

	// What the current Update has done.
	more    bool // something: there may be more to do
	step    api.Erased
	through int64         // after, when the Update is committed
	blanked []store.Event // as they were
}

// run does the next Update of an erasure: it goes through the list of traces until one
// of them has something to erase. What receivers of webhooks answered to the events that
// an Update blanks is removed before it, because a repeated call would not find those
// events, and after it, for answers that were stored meanwhile.
func (e *erasure) run(ctx context.Context) (done bool, err error) {
	if err = e.ClearAllDeleted(ctx); err == nil {
		e.after, err = e.eraseAnswers(ctx, e.customerID, e.after)
	}
	if err != nil {
		return false, err
	}
	err = e.Write(ctx, func(tx *call.Tx) error {
		e.more, e.step, e.through, e.blanked = false, api.Erased{}, e.after, nil
		for _, t := range traces {
			if t.erased == nil {
				continue
			}
			if err := t.erased(e, ctx, tx); err != nil || e.more {
				return err
			}
		}
		return e.AppendOther(ctx, tx, store.Event{Type: api.EventCustomerErased, Data: record.Encode(e.pseudonym())})
	})
	if err == nil {
		err = e.eraseAnswersTo(ctx, e.blanked)
	}
	if err != nil {
		return false, err
	}
	e.total.Licenses += e.step.Licenses
	e.total.Events += e.step.Events
	e.total.Purchases += e.step.Purchases
	e.after = e.through
	return !e.more, nil
}

// pseudonym returns the data of the event of an erasure. A receiver that has the customer can
// tell so, and erase its own copy; for others, the event names nobody.
func (e *erasure) pseudonym() api.EventData {
	salt := make([]byte, 16)
	rand.Read(salt) // never fails
	digest := sha256.Sum256(append(salt, e.customerID...))
	return api.EventData{EventErasure: &api.EventErasure{Erased: e.total, Salt: hex.EncodeToString(salt), Digest: hex.EncodeToString(digest[:])}}
}

// erased is the data of a blanked event.
var erased = record.Encode(api.EventData{Erased: true})

// deleteLicenses deletes a batch of the licenses of the customer.
func (e *erasure) deleteLicenses(ctx context.Context, tx *call.Tx) error {
	rows, err := tx.Licenses(ctx, store.LicenseQuery{CustomerID: e.customerID, Limit: eraseBatch})
	if err != nil {
		return err
	}
	e.more = len(rows) > 0
	activations := 0
	for _, row := range rows {
		rec, err := licenses.Read(row, tx.Now)
		if err != nil {
			return err
		}
		l, err := licenses.FromRecord(rec, tx.Now)
		if err != nil {
			return err
		}
		n, err := e.remove(ctx, tx, rec, l)
		if err != nil {
			return err
		}
		e.step.Licenses++
		if activations += n; activations >= activationBatch {
			break
		}
	}
	return nil
}

// removeHold removes what says that the customer is suspended.
func (e *erasure) removeHold(ctx context.Context, tx *call.Tx) (err error) {
	e.more, err = holds.Remove(ctx, tx, e.customerID)
	return err
}

// blankEvents blanks a batch of the events about the customer.
func (e *erasure) blankEvents(ctx context.Context, tx *call.Tx) (err error) {
	if e.blanked, err = aboutCustomer(ctx, tx, e.customerID); err != nil {
		return err
	}
	for _, event := range e.blanked {
		event.CustomerID, event.Data = "", erased
		if err := tx.ReplaceEvent(ctx, event); err != nil {
			return err
		}
	}
	e.step.Events, e.more = len(e.blanked), len(e.blanked) > 0
	return nil
}

// aboutCustomer returns a batch of the events about a customer. If one of them is the
// correction of the ID, the events of that license under the ID before come first:
// without the correction, a repeated call would not find them. Other events under that
// ID may be about another customer.
func aboutCustomer(ctx context.Context, r store.Reader, customerID string) ([]store.Event, error) {
	events, err := r.Events(ctx, store.EventQuery{CustomerID: customerID, Limit: eraseBatch})
	if err != nil {
		return nil, err
	}
	seen := map[store.EventQuery]bool{}
	for _, e := range events { // they are the last, also after a correction there and back
		seen[beforeQuery(e, customerID)] = true
	}
	return beforeCorrections(ctx, r, events, seen)
}

// beforeQuery selects the events under an ID of the license that an event is about.
func beforeQuery(e store.Event, customerID string) store.EventQuery {
	return store.EventQuery{Subject: e.Subject, CustomerID: customerID, Limit: eraseBatch}
}

// beforeCorrections returns the events that come before the given ones: see
// aboutCustomer. Seen are the queries for them that were made.
func beforeCorrections(ctx context.Context, r store.Reader, events []store.Event, seen map[store.EventQuery]bool) ([]store.Event, error) {
	for _, e := range events {
		from := movedFrom(e)
		q := beforeQuery(e, from)
		if e.Type == api.EventLicenseTransferred || from == "" || from == e.CustomerID || seen[q] {
			continue
		}
		seen[q] = true
		earlier, err := r.Events(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(earlier) > 0 {
			return beforeCorrections(ctx, r, earlier, seen)
		}
	}
	return events, nil
}

// movedFrom returns the ID of the customer that an event says a license had before;
// empty: it says nothing about that.
func movedFrom(e store.Event) string {
	var data api.EventData
	if e.Type != api.EventLicenseUpdated && e.Type != api.EventLicenseTransferred && e.Type != api.EventLicenseClaimed || call.Decode(e.Data, &data) != nil {
		return ""
	}
	from, _ := data.Changes["customer_id"].From.(string)
	return from
}

// blankMoves reads a batch of the feed, and blanks the changes and the reason in the
// events by which another customer got a license of the customer.
func (e *erasure) blankMoves(ctx context.Context, tx *call.Tx) (err error) {
	if e.through, e.blanked, err = formerCustomer(ctx, tx, e.customerID, e.after); err != nil {
		return err
	}
	for _, event := range e.blanked {
		var data api.EventData
		if err := call.Decode(event.Data, &data); err != nil {
			return err
		}
		data.Changes, data.Reason, data.Erased = nil, "", true
		event.Data = record.Encode(data)
		if err := tx.ReplaceEvent(ctx, event); err != nil {
			return err
		}
	}
	e.more = e.through > e.after
	return nil
}

// formerCustomer returns the updates, transfers and claims in a batch of the feed after a Seq
// that moved a license from a customer to another, and the last Seq read, or the given
// Seq at the end of the feed. Those events belong to the new customer, and retention may
// have removed all events of the former one, so only reading the whole feed finds
// them.
func formerCustomer(ctx context.Context, r store.Reader, customerID string, after int64) (through int64, former []store.Event, err error) {
	events, err := r.Events(ctx, store.EventQuery{After: after, Limit: eraseScan})
	for _, e := range events {
		if after = e.Seq; movedFrom(e) == customerID {
			former = append(former, e)
		}
	}
	return after, former, err
}
