package license

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// fulfilledTogether is how many purchases a call of FulfillWaiting fulfills at most.
const fulfilledTogether = 50

// paid reports whether the purchase is active, so that its customer expects a license.
func (p purchase) paid() bool { return !p.FirstActive.IsZero() && p.FirstEnded.IsZero() }

// Paid reports whether a purchase is active, as [purchase.paid].
func (internals) Paid(f api.Fulfillment) bool { return f.FirstActiveAt != nil && f.EndedAt == nil }

// FulfillWaiting gives the purchases that wait for a plan their licenses, each by a
// Fulfill that reports nothing new, so that Options.BeforeCreate runs outside of any
// Update. A call fulfills up to 50 purchases, in the order in which they expire, and returns
// how many have a license now. It continues after the cursor next; empty: there are
// no more. A purchase that Fulfill refuses continues to wait. Any other error stops
// the call; the same call then continues where it stopped, because a purchase that
// has a license does not wait any more.
func (s internals) FulfillWaiting(ctx context.Context, planID, after string) (next string, n int, err error) {
	at := cursor{scope: scopeOf("waiting purchases %q", planID), pinned: s.now()}
	if after != "" {
		var ok bool
		if at, ok = parseCursor(after, at.scope, ""); !ok {
			return "", 0, errCursor
		}
	}
	if _, ok, err := readPlan(ctx, s.reader(), planID); err != nil || !ok {
		return "", 0, err
	}
	for tried := 0; ; {
		entries, err := waitingEntries(ctx, s.reader(), "", s.now(), at.after)
		if err != nil {
			return "", n, fmt.Errorf("fulfill waiting purchases: %w", err)
		}
		for _, e := range entries {
			if tried == fulfilledTogether {
				return at.String(), n, nil
			}
			at.after = store.Position{Time: e.ExpiresAt, ID: e.Key}
			var p purchase
			if err := decode(e.Data, &p); err != nil {
				return "", n, err
			}
			if p.Plan.Value != planID || p.CustomerID == "" || p.FirstActive.IsZero() {
				continue
			}
			tried++
			f, err := s.Fulfill(ctx, api.FulfillParams{Reference: p.Reference, At: p.State.At})
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

// CountWaiting returns how many purchases without a license are paid for, and how
// many have not been reported as active; more: there may be more than these.
func (s internals) CountWaiting(ctx context.Context) (paid, unpaid int, more bool, err error) {
	all, err := waitingPurchases(ctx, s.reader(), "", s.now())
	for _, p := range all {
		switch {
		case p.paid():
			paid++
		case p.FirstEnded.IsZero():
			unpaid++
		}
	}
	return paid, unpaid, len(all) == store.MaxLimit, err
}

// PaidPurchases returns the purchases of a customer that are paid for and have no
// license, in the order in which they were paid.
func (s internals) PaidPurchases(ctx context.Context, customerID string) (list []api.Fulfillment, err error) {
	r, prefix := s.reader(), digest(customerID)+"/"
	links, err := r.Entries(ctx, store.EntryQuery{Kind: purchaseOfCustomerKind, From: prefix, Before: store.PrefixEnd(prefix)})
	links = slices.DeleteFunc(links, func(e store.Entry) bool { return e.ExpiresAt.IsZero() || isOver(e, s.now()) })
	if err != nil || len(links) == 0 {
		return nil, err
	}
	all, err := linkedPurchases(ctx, r, links)
	slices.SortFunc(all, func(a, b purchase) int { return a.FirstActive.Compare(b.FirstActive) })
	for _, p := range all {
		if p.CustomerID == customerID && !p.Granted && p.paid() {
			list = append(list, decision{after: p, result: api.FulfillWaiting}.fulfillment(nil))
		}
	}
	return list, err
}

// text returns what a search looks at, folded and one value a line.
func (p purchase) text() string {
	lines := []string{p.Reference, p.CustomerID, p.Name.Value, p.Plan.Value}
	for _, name := range names(p.Metadata) {
		if v := p.Metadata[name].Value; v != nil {
			lines = append(lines, *v)
		}
	}
	return fold(strings.Join(lines, "\n"))
}

// waitingEntries returns the entries of purchases that wait for something, in the order
// in which they expire, after a position; an empty waits: for anything.
func waitingEntries(ctx context.Context, r store.Reader, waits api.Waiting, now time.Time, after store.Position) ([]store.Entry, error) {
	return r.Entries(ctx, store.EntryQuery{
		Kind: purchaseKind, Order: store.ByExpiry, Owner: string(waits), Expires: store.TimeRange{From: now.Add(time.Millisecond)}, After: after,
	})
}
