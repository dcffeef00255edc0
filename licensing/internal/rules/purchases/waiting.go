package purchases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/store"
)

// takenUpTogether is how many purchases a call of TakeUpWaiting takes up at most.
const takenUpTogether = 50

// paid reports whether the purchase is active, so that its customer expects a license.
func (p Purchase) paid() bool {
	return !p.FirstActive.IsZero() && p.FirstEnded.IsZero() && p.FirstRefunded.IsZero()
}

// Paid reports whether a purchase is active, as [purchase.paid].
func (Service) Paid(f api.Purchase) bool {
	return f.FirstActiveAt != nil && f.EndedAt == nil && f.RefundedAt == nil
}

// waitsFor reports whether the purchase is complete but for a plan.
func (p Purchase) waitsFor(planID string) bool {
	return p.Plan.Value == planID && p.CustomerID != "" && !p.FirstActive.IsZero()
}

// PutPlan is that of package plans, and counts the purchases that wait for the plan.
func (s Service) PutPlan(ctx context.Context, p api.PutPlanParams) (put api.Plan, created bool, err error) {
	if put, created, err = plans.Of(s.Call).PutPlan(ctx, p); err != nil {
		return put, created, err
	}
	for e, err := range entries.All(ctx, s.Reader(), waitingQuery(api.WaitingUnknownPlan, s.Now(), store.Position{}, 0)) {
		var p Purchase
		if err == nil {
			err = call.Decode(e.Data, &p)
		}
		if err != nil {
			return put, created, fmt.Errorf("count waiting purchases: %w", err)
		}
		if p.waitsFor(put.ID) && p.paid() && s.SeesPurchase(p) {
			put.Waiting++
		}
	}
	return put, created, nil
}

// TakeUp is TakeUpWaiting for a plan that exists for the caller; see package selling.
func (s Service) TakeUp(ctx context.Context, p api.TakeUpWaitingParams) (api.PlanTakeUp, error) {
	err := call.Check(p)
	if err == nil {
		_, err = plans.Of(s.Call).GetPlan(ctx, p.ID)
	}
	if err != nil {
		return api.PlanTakeUp{}, err
	}
	next, n, err := s.TakeUpWaiting(ctx, p.ID, p.Cursor)
	return api.PlanTakeUp{Object: "plan_take_up", Licensed: n, HasMore: next != "", NextCursor: next}, err
}

// TakeUpWaiting gives the purchases that wait for a plan their licenses, each by a
// RecordPurchase that reports nothing new, so that Options.BeforeCreate runs outside of any
// Update. A call takes up at most 50 purchases, in the order in which they expire, and returns
// how many have a license now. It continues after the cursor next; empty: there are
// no more. A purchase that RecordPurchase refuses continues to wait. Any other error stops
// the call; the same call then continues where it stopped, because a purchase that
// has a license does not wait any more.
func (s Service) TakeUpWaiting(ctx context.Context, planID, after string) (next string, n int, err error) {
	at := call.Cursor{Scope: call.ScopeOf("waiting purchases %q", planID), Pinned: s.Now()}
	if after != "" {
		var ok bool
		if at, ok = call.ParseCursor(after, at.Scope, ""); !ok {
			return "", 0, call.ErrCursor
		}
	}
	if _, ok, err := plans.ReadPlan(ctx, s.Reader(), planID); err != nil || !ok {
		return "", 0, err
	}
	for tried := 0; ; {
		entries, err := WaitingEntries(ctx, s.Reader(), "", s.Now(), at.After)
		if err != nil {
			return "", n, fmt.Errorf("take up waiting purchases: %w", err)
		}
		for _, e := range entries {
			if tried == takenUpTogether {
				return at.String(), n, nil
			}
			at.After = store.Position{Time: e.ExpiresAt, ID: e.Key}
			var p Purchase
			if err := call.Decode(e.Data, &p); err != nil {
				return "", n, err
			}
			if !p.waitsFor(planID) || !s.SeesPurchase(p) {
				continue
			}
			tried++
			f, err := s.RecordPurchase(ctx, api.RecordPurchaseParams{Reference: p.Reference, At: p.Plan.At, PlanID: planID})
			switch {
			case errors.Is(err, api.ErrInvalid), errors.Is(err, api.ErrReferenceTaken):
			case err != nil:
				return "", n, err
			case f.License != nil:
				n++
			}
		}
		if len(entries) < store.MaxLimit {
			return "", n, nil
		}
	}
}

// CountWaiting returns how many purchases without a license are paid for, how many have
// not been reported as active, and how many with a license wait; more: there may be more
// than these.
func (s Service) CountWaiting(ctx context.Context) (paid, unpaid, kept int, more bool, err error) {
	all, err := waitingPurchases(ctx, s.Reader(), "", s.Now())
	for _, p := range all {
		switch {
		case p.Granted:
			kept++
		case p.paid():
			paid++
		case p.FirstEnded.IsZero() && p.FirstRefunded.IsZero():
			unpaid++
		}
	}
	return paid, unpaid, kept, len(all) == store.MaxLimit, err
}

// PaidPurchases returns the purchases of a customer that are paid for and have no
// license, in the order in which they were paid; for an address, the ones that name it.
func (s Service) PaidPurchases(ctx context.Context, customerID string) (list []api.Purchase, err error) {
	r, prefix := s.Reader(), call.Digest(customerID)+"/"
	links, err := r.Entries(ctx, store.EntryQuery{Kind: PurchaseOfCustomerKind, From: prefix, Before: store.PrefixEnd(prefix)})
	links = slices.DeleteFunc(links, func(e store.Entry) bool { return e.ExpiresAt.IsZero() || isOver(e, s.Now()) })
	if err != nil || len(links) == 0 {
		return nil, err
	}
	all, err := LinkedPurchases(ctx, r, links)
	slices.SortFunc(all, func(a, b Purchase) int { return a.FirstActive.Compare(b.FirstActive) })
	for _, p := range all {
		if p.CustomerID == customerID && !p.Granted && p.paid() && s.Owner.Reads(p.text(s.Opts.EmailKey)) {
			list = append(list, decision{after: p, result: api.PurchaseResultWaiting}.purchase(nil))
		}
	}
	return list, err
}

// text returns a value of the metadata; "": there is none.
func (p Purchase) text(name string) string {
	if v := p.Metadata[name].Value; v != nil {
		return *v
	}
	return ""
}

// Text returns what a search looks at, folded and one value a line.
func (p Purchase) Text() string {
	lines := []string{p.Reference, p.CustomerID, p.Name.Value, p.Plan.Value}
	for _, name := range call.Names(p.Metadata) {
		if v := p.Metadata[name].Value; v != nil {
			lines = append(lines, *v)
		}
	}
	return call.Fold(strings.Join(lines, "\n"))
}

// WaitingEntries returns the entries of purchases that wait for something, in the order
// in which they expire, after a position; an empty waits: for anything.
func WaitingEntries(ctx context.Context, r store.Reader, waits api.Waiting, now time.Time, after store.Position) ([]store.Entry, error) {
	return r.Entries(ctx, waitingQuery(waits, now, after, 0))
}

// waitingQuery selects the entries of purchases without a license, by their expiry.
func waitingQuery(waits api.Waiting, now time.Time, after store.Position, limit int) store.EntryQuery {
	return store.EntryQuery{
		Kind: PurchaseKind, Order: store.ByExpiry, Owner: string(waits), Expires: store.TimeRange{From: now.Add(time.Millisecond)}, After: after, Limit: limit,
	}
}
