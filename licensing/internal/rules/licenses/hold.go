package licenses

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// HoldKind is the kind of the entries of suspended customers. Key is the digest of the ID,
// and Data a hold. They never expire.
const HoldKind = "customer_hold"

// holdBatch is how many licenses one Update suspends or reinstates with their customer.
const holdBatch = 50

// A hold is the suspension of a customer.
type hold struct {
	Reason string `json:"reason,omitempty"`
}

// findHold returns the suspension of a customer, if there is one.
func findHold(ctx context.Context, r store.Reader, customerID string) (h hold, held bool, err error) {
	e, err := r.Entry(ctx, HoldKind, call.Digest(customerID))
	if errors.Is(err, store.ErrNotFound) {
		return hold{}, false, nil
	}
	if err == nil {
		err = call.Decode(e.Data, &h)
	}
	return h, err == nil, err
}

// CustomerSuspended reports whether a customer is suspended, and why.
func (s Service) CustomerSuspended(ctx context.Context, customerID string) (suspended bool, reason string, err error) {
	h, suspended, err := findHold(ctx, s.Reader(), customerID)
	return suspended, h.Reason, err
}

// AnyHeld reports whether one of up to 1,000 customers is suspended.
func AnyHeld(ctx context.Context, r store.Reader, customerIDs []string) (bool, error) {
	keys := make([]string, len(customerIDs))
	for i, id := range customerIDs {
		keys[i] = call.Digest(id)
	}
	held, err := r.Entries(ctx, store.EntryQuery{Kind: HoldKind, Keys: keys, Limit: 1})
	return len(held) > 0, err
}

// followCustomer makes the suspension of the customer of a license, which was rec, one of
// the license, or ends it.
func followCustomer(ctx context.Context, tx *call.Tx, rec record.License, next *record.License) error {
	if next.State == store.StateRevoked {
		return nil
	}
	was, err := SuspensionOf(rec)
	if err != nil {
		return err
	}
	is, err := SuspensionOf(*next)
	if err != nil || rec.CustomerID == next.CustomerID && !was.ByCustomer && !is.ByCustomer {
		return err
	}
	if err := tx.Want(ctx, store.Wanted{Absent: [][2]string{{HoldKind, call.Digest(next.CustomerID)}}}); err != nil {
		return err
	}
	h, held, err := findHold(ctx, tx, next.CustomerID)
	if err == nil && (is.ByCustomer != held || is.CustomerReason != h.Reason) {
		is.ByCustomer, is.CustomerReason = held, h.Reason
		PutSuspension(is, next, tx.Now)
	}
	return err
}

// SuspendCustomer suspends a customer; see package license.
func (s Service) SuspendCustomer(ctx context.Context, p api.MoveCustomerParams) (api.CustomerSuspension, error) {
	return s.moveCustomer(ctx, p, true)
}

// ReinstateCustomer ends the suspension of a customer; see package license.
func (s Service) ReinstateCustomer(ctx context.Context, p api.MoveCustomerParams) (api.CustomerSuspension, error) {
	return s.moveCustomer(ctx, p, false)
}

// moveCustomer stores in one Update whether a customer is suspended, and makes that a fact
// of the customer's licenses in others. Each of these reads it again, so that a call which
// runs at the same time does not leave a license as the other one made it.
func (s Service) moveCustomer(ctx context.Context, p api.MoveCustomerParams, suspend bool) (api.CustomerSuspension, error) {
	done := api.CustomerSuspension{Object: "customer_suspension", CustomerID: p.CustomerID, Suspended: suspend}
	broken := append(call.CheckTags(p), call.CheckTags(struct {
		CustomerID string `json:"customer_id" validate:"text"`
	}{p.CustomerID})...)
	if err := call.InvalidFields(broken); err != nil {
		return done, err
	}
	if s.Caller.Products != nil {
		return done, api.ErrProductForbidden
	}
	err := s.Write(ctx, func(tx *call.Tx) error { return s.putHold(ctx, tx, p, suspend) })
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

// putHold stores whether a customer is suspended, and appends an event if that changes.
func (s Service) putHold(ctx context.Context, tx *call.Tx, p api.MoveCustomerParams, suspend bool) error {
	was, held, err := findHold(ctx, tx, p.CustomerID)
	if err != nil || held == suspend && (!held || was.Reason == p.Reason) {
		return err
	}
	event := api.EventCustomerReinstated
	if suspend {
		event = api.EventCustomerSuspended
		err = tx.PutEntries(ctx, store.Entry{Kind: HoldKind, Key: call.Digest(p.CustomerID), Data: record.Encode(hold{p.Reason}), CreatedAt: tx.Now})
	} else {
		_, err = RemoveHold(ctx, tx, p.CustomerID)
	}
	if err != nil {
		return err
	}
	return s.AppendOther(ctx, tx, store.Event{Type: event, CustomerID: p.CustomerID, Data: record.Encode(api.EventData{Reason: p.Reason})})
}

// CarryHold suspends a customer if another one is, whose ID becomes that of the customer.
func (s Service) CarryHold(ctx context.Context, tx *call.Tx, from, to string) error {
	h, held, err := findHold(ctx, tx, from)
	if err != nil || !held {
		return err
	}
	if _, there, err := findHold(ctx, tx, to); err != nil || there {
		return err
	}
	return s.putHold(ctx, tx, api.MoveCustomerParams{CustomerID: to, Reason: h.Reason}, true)
}

// RemoveHold removes the suspension of a customer, if there is one. The licenses stay as
// they are.
func RemoveHold(ctx context.Context, tx *call.Tx, customerID string) (removed bool, err error) {
	if _, removed, err = findHold(ctx, tx, customerID); err == nil && removed {
		err = tx.DeleteEntries(ctx, HoldKind, call.Digest(customerID))
	}
	return removed, err
}

// followBatch makes the suspension of a customer, or its end, a fact of a batch of the
// customer's licenses. It returns the position after which to continue; zero: there are
// no more.
func (s Service) followBatch(ctx context.Context, tx *call.Tx, p api.MoveCustomerParams, after store.Position) (next store.Position, changed int, err error) {
	h, held, err := findHold(ctx, tx, p.CustomerID)
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
func (s Service) holdLicense(ctx context.Context, tx *call.Tx, row store.License, h hold, held bool, reason string) (changed bool, err error) {
	rec, err := Read(row, tx.Now)
	if err != nil || rec.State == store.StateRevoked {
		return false, err
	}
	is, err := SuspensionOf(rec)
	if err != nil || is.ByCustomer == held && is.CustomerReason == h.Reason {
		return false, err
	}
	before, err := FromRecord(rec, tx.Now)
	if err != nil {
		return false, err
	}
	next := rec
	is.ByCustomer, is.CustomerReason = held, h.Reason
	PutSuspension(is, &next, tx.Now)
	event := api.EventLicenseSuspended
	switch {
	case held:
	case next.State == store.StateActive:
		event = api.EventLicenseReinstated
	default: // an operator or a purchase suspends it too
		event = api.EventLicenseUpdated
	}
	_, changed, err = s.Replace(ctx, tx, rec, before, next, event, api.EventData{Reason: reason})
	return changed, err
}

// MoveCustomerInParts returns the parts of SuspendCustomer or ReinstateCustomer for
// OncePrepared. The first does everything, since a repeated call changes nothing more.
func (s Service) MoveCustomerInParts(ctx context.Context, p api.MoveCustomerParams, suspend bool) (prepare func() error, change func(*call.Call) (api.CustomerSuspension, error)) {
	var done api.CustomerSuspension
	prepare = func() (err error) {
		done, err = s.moveCustomer(ctx, p, suspend)
		return err
	}
	return prepare, func(*call.Call) (api.CustomerSuspension, error) { return done, nil }
}
