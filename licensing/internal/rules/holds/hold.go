package holds

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// holdBatch is how many licenses one Update suspends or reinstates with their customer.
const holdBatch = 50

// IsSuspended reports whether a customer is suspended, and why.
func (s Service) IsSuspended(ctx context.Context, customerID string) (suspended bool, reason string, err error) {
	h, suspended, err := licenses.FindHold(ctx, s.Reader(), customerID)
	return suspended, h.Reason, err
}

// Any reports whether one of up to 1,000 customers is suspended.
func Any(ctx context.Context, r store.Reader, customerIDs []string) (bool, error) {
	keys := make([]string, len(customerIDs))
	for i, id := range customerIDs {
		keys[i] = call.Digest(id)
	}
	held, err := r.Entries(ctx, store.EntryQuery{Kind: licenses.HoldKind, Keys: keys, Limit: 1})
	return len(held) > 0, err
}

// Suspend suspends a customer; see package license.
func (s Service) Suspend(ctx context.Context, p api.ChangeCustomerStateParams) (api.CustomerSuspension, error) {
	return s.change(ctx, p, true)
}

// Reinstate ends the suspension of a customer; see package license.
func (s Service) Reinstate(ctx context.Context, p api.ChangeCustomerStateParams) (api.CustomerSuspension, error) {
	return s.change(ctx, p, false)
}

// change stores in one Update whether a customer is suspended, and makes that a fact
// of the customer's licenses in others. Each of these reads it again, so that a call which
// runs at the same time does not leave a license as the other one made it.
func (s Service) change(ctx context.Context, p api.ChangeCustomerStateParams, suspend bool) (api.CustomerSuspension, error) {
	done := api.CustomerSuspension{Object: "customer_suspension", CustomerID: p.CustomerID, Suspended: suspend}
	broken := append(call.CheckTags(p), call.CheckTags(struct {
		CustomerID string `json:"customer_id" validate:"text,customer"`
	}{p.CustomerID})...)
	if err := call.InvalidFields(broken); err != nil {
		return done, err
	}
	if s.Caller.Products != nil {
		return done, api.ErrProductForbidden
	}
	err := s.Write(ctx, func(tx *call.Tx) error { return s.put(ctx, tx, p, suspend) })
	for after, more := (store.Position{}), true; more && err == nil; {
		var next store.Position
		var changed int
		err = s.Write(ctx, func(tx *call.Tx) (err error) {
			next, changed, err = s.followBatch(ctx, tx, p, after)
			return err
		})
		done.Licenses += changed
		after, more = next, next.ID != ""
	}
	if err != nil {
		return done, fmt.Errorf("customer: %w", err)
	}
	return done, nil
}

// put stores whether a customer is suspended, and appends an event if that changes.
func (s Service) put(ctx context.Context, tx *call.Tx, p api.ChangeCustomerStateParams, suspend bool) error {
	was, held, err := licenses.FindHold(ctx, tx, p.CustomerID)
	if err != nil || held == suspend && (!held || was.Reason == p.Reason) {
		return err
	}
	event := api.EventCustomerReinstated
	if suspend {
		event = api.EventCustomerSuspended
		err = tx.PutEntries(ctx, store.Entry{Kind: licenses.HoldKind, Key: call.Digest(p.CustomerID), Data: record.Encode(licenses.Hold{Reason: p.Reason}), CreatedAt: tx.Now})
	} else {
		_, err = Remove(ctx, tx, p.CustomerID)
	}
	if err != nil {
		return err
	}
	return s.AppendOther(ctx, tx, store.Event{Type: event, CustomerID: p.CustomerID, Data: record.Encode(api.EventData{Reason: p.Reason})})
}

// Carry suspends a customer if another one is, whose ID becomes that of the customer.
func (s Service) Carry(ctx context.Context, tx *call.Tx, from, to string) error {
	h, held, err := licenses.FindHold(ctx, tx, from)
	if err != nil || !held {
		return err
	}
	if _, there, err := licenses.FindHold(ctx, tx, to); err != nil || there {
		return err
	}
	return s.put(ctx, tx, api.ChangeCustomerStateParams{CustomerID: to, Reason: h.Reason}, true)
}

// Remove removes the suspension of a customer, if there is one. The licenses stay as
// they are.
func Remove(ctx context.Context, tx *call.Tx, customerID string) (removed bool, err error) {
	if _, removed, err = licenses.FindHold(ctx, tx, customerID); err == nil && removed {
		err = tx.DeleteEntries(ctx, licenses.HoldKind, call.Digest(customerID))
	}
	return removed, err
}

// followBatch makes the suspension of a customer, or its end, a fact of a batch of the
// customer's licenses. It returns the position after which to continue; zero: there are
// no more.
func (s Service) followBatch(ctx context.Context, tx *call.Tx, p api.ChangeCustomerStateParams, after store.Position) (next store.Position, changed int, err error) {
	h, held, err := licenses.FindHold(ctx, tx, p.CustomerID)
	if err != nil {
		return next, 0, err
	}
	rows, err := tx.Licenses(ctx, store.LicenseQuery{CustomerID: p.CustomerID, After: after, Limit: holdBatch})
	for _, row := range rows {
		if err != nil {
			return next, changed, err
		}
		var did bool
		if did, err = s.holdLicense(ctx, tx, row, h, held, p.Reason); did {
			changed++
		}
	}
	if len(rows) == holdBatch {
		next = store.Position{ID: rows[holdBatch-1].ID}
	}
	return next, changed, err
}

// holdLicense makes the suspension of its customer, or its end, a fact of a license.
func (s Service) holdLicense(ctx context.Context, tx *call.Tx, row store.License, h licenses.Hold, held bool, reason string) (changed bool, err error) {
	rec, err := licenses.Read(row, tx.Now)
	if err != nil || rec.State == store.StateRevoked {
		return false, err
	}
	is, err := licenses.SuspensionOf(rec)
	if err != nil || is.ByCustomer == held && is.CustomerReason == h.Reason {
		return false, err
	}
	before, err := licenses.FromRecord(rec, tx.Now)
	if err != nil {
		return false, err
	}
	next := rec
	is.ByCustomer, is.CustomerReason = held, h.Reason
	licenses.PutSuspension(is, &next, tx.Now)
	event := api.EventLicenseSuspended
	switch {
	case held:
	case next.State == store.StateActive:
		event = api.EventLicenseReinstated
	default: // an operator or a purchase suspends it too
		event = api.EventLicenseUpdated
	}
	_, changed, err = licenses.Of(s.Call).Replace(ctx, tx, rec, before, next, event, api.EventData{Reason: reason})
	return changed, err
}

// MoveInParts returns the parts of Suspend or Reinstate for
// OncePrepared. The first does everything, since a repeated call changes nothing more.
func (s Service) MoveInParts(ctx context.Context, p api.ChangeCustomerStateParams, suspend bool) (prepare func() error, change func(*call.Call) (api.CustomerSuspension, error)) {
	var done api.CustomerSuspension
	prepare = func() (err error) {
		done, err = s.change(ctx, p, suspend)
		return err
	}
	return prepare, func(*call.Call) (api.CustomerSuspension, error) { return done, nil }
}
