package leave

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/holds"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A renaming is a call of ChangeCustomerID.
type renaming struct {
	Service
	api.ChangeCustomerIDParams

	// What the current Update has done.
	more bool // something: there may be more to do
	step api.ChangedCustomerID
}

// ChangeCustomerID gives a customer another ID; see package license.
func (s Service) ChangeCustomerID(ctx context.Context, p api.ChangeCustomerIDParams) (done api.ChangedCustomerID, err error) {
	broken := call.CheckTags(p)
	if len(broken) == 0 && p.To == p.CustomerID {
		broken = []api.FieldError{{Field: "to", Code: api.FieldTaken, Detail: "is the ID of the customer"}}
	}
	if err := call.InvalidFields(broken); err != nil {
		return done, err
	}
	if s.Caller.Products != nil {
		return done, api.ErrProductForbidden
	}
	if err := s.checkMerge(ctx, p); err != nil {
		return done, fmt.Errorf("change customer ID: %w", err)
	}
	r := renaming{Service: s, ChangeCustomerIDParams: p}
	for r.more = true; r.more; {
		if err := s.Write(ctx, func(tx *call.Tx) error { return r.run(ctx, tx) }); err != nil {
			return done, fmt.Errorf("change customer ID: %w", err)
		}
		done.Licenses += r.step.Licenses
		done.Purchases += r.step.Purchases
	}
	// The customer may have been suspended since some of the licenses have the new ID.
	held, reason, err := holds.Of(s.Call).IsSuspended(ctx, p.To)
	if err == nil && held {
		_, err = holds.Of(s.Call).Suspend(ctx, api.ChangeCustomerStateParams{CustomerID: p.To, Reason: reason})
	}
	if err != nil {
		return done, fmt.Errorf("change customer ID: %w", err)
	}
	return done, nil
}

// checkMerge returns an error if the customer is suspended, and would be merged with
// another one who is not: the licenses of one of them would become valid or invalid without a request.
func (s Service) checkMerge(ctx context.Context, p api.ChangeCustomerIDParams) error {
	held, _, err := holds.Of(s.Call).IsSuspended(ctx, p.CustomerID)
	if err != nil || !held {
		return err
	}
	if held, _, err = holds.Of(s.Call).IsSuspended(ctx, p.To); err != nil || held {
		return err
	}
	merges, err := s.Merges(ctx, p)
	if err == nil && merges {
		err = api.Invalid("to", api.FieldTaken, "is the ID of a customer who is not suspended, as this customer is; reinstate this customer or suspend that one first")
	}
	return err
}

// run goes through the list of traces until one of them has something of the customer's
// under the ID before.
func (r *renaming) run(ctx context.Context, tx *call.Tx) error {
	r.more, r.step = false, api.ChangedCustomerID{}
	for _, t := range traces {
		if t.renamed == nil {
			continue
		}
		if err := t.renamed(r, ctx, tx); err != nil || r.more {
			return err
		}
	}
	return nil
}

// moveLicenses corrects the ID of the customer in a batch of licenses. They stay suspended
// if the customer is.
func (r *renaming) moveLicenses(ctx context.Context, tx *call.Tx) error {
	if err := holds.Of(r.Call).Carry(ctx, tx, r.CustomerID, r.To); err != nil {
		return err
	}
	rows, err := tx.Licenses(ctx, store.LicenseQuery{CustomerID: r.CustomerID, Limit: eraseBatch})
	if err != nil {
		return err
	}
	r.more = len(rows) > 0
	for _, row := range rows {
		rec, err := licenses.Read(row, tx.Now)
		if err != nil {
			return err
		}
		before, err := licenses.FromRecord(rec, tx.Now)
		if err != nil {
			return err
		}
		fields, next := licenses.ParamsOf(before), rec
		fields.CustomerID = r.To
		licenses.WriteFields(fields, &next)
		if _, _, err := licenses.Of(r.Call).Replace(ctx, tx, rec, before, next, api.EventLicenseUpdated, api.EventData{Reason: r.Reason}); err != nil {
			return err
		}
		r.step.Licenses++
	}
	return nil
}

// movePurchases gives the new ID to a batch of the purchases that have no license now:
// the others follow their licenses.
func (r *renaming) movePurchases(ctx context.Context, tx *call.Tx) error {
	prefix := call.Digest(r.CustomerID) + "/"
	links, err := tx.Entries(ctx, store.EntryQuery{Kind: purchases.PurchaseOfCustomerKind, From: prefix, Before: store.PrefixEnd(prefix), Limit: eraseBatch})
	if err != nil || len(links) == 0 {
		return err
	}
	r.more = true
	found, err := purchases.LinkedPurchases(ctx, tx, links)
	if err != nil {
		return err
	}
	for _, before := range found {
		if before.CustomerID != r.CustomerID {
			continue // another customer uses the reference of one that had expired
		}
		p, err := purchases.PutPurchase(ctx, tx, before, withCustomer(before, r.To))
		if err != nil {
			return err
		}
		if id, ok := strings.CutPrefix(p.Reference, purchases.TrialPrefix); ok {
			var d departure
			d.from.ID, d.from.CustomerID, d.to.CustomerID = id, r.CustomerID, r.To
			if err := bindTrial(ctx, tx, d); err != nil {
				return err
			}
		}
		r.step.Purchases++
	}
	return entries.Drop(ctx, tx, links, nil)
}

// removeHold removes what says that the customer of the ID before is suspended.
func (r *renaming) removeHold(ctx context.Context, tx *call.Tx) (err error) {
	r.more, err = holds.Remove(ctx, tx, r.CustomerID)
	return err
}

// Merges reports whether a change of the ID of a customer would merge two: whether there
// are licenses or purchases under the new ID that an interrupted change did not give it.
func (s Service) Merges(ctx context.Context, p api.ChangeCustomerIDParams) (merges bool, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		rows, err := r.Licenses(ctx, store.LicenseQuery{CustomerID: p.To, Limit: 1})
		if err != nil {
			return err
		}
		bought, err := purchases.Of(s.Call).HasPurchases(ctx, p.To)
		if merges = len(rows) > 0 || bought; err != nil || !merges {
			return err
		}
		newest, err := r.Events(ctx, store.EventQuery{CustomerID: p.To, Descending: true, Limit: 1})
		if len(newest) > 0 && movedFrom(newest[0]) == p.CustomerID {
			merges = false
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("change customer ID: %w", err)
	}
	return merges, nil
}
