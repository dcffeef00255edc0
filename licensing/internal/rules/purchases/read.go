package purchases

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/store"
)

// GetFulfillment returns what a purchase was last known to be. It returns
// [api.ErrNotFound] if there is none with that reference, or an [*api.InvalidError].
func (s Service) GetFulfillment(ctx context.Context, reference string) (f api.Fulfillment, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		p, ok, err := ReadPurchase(ctx, r, reference, s.Now())
		if err == nil && (!ok || s.Caller.Products != nil && !s.Sees(p.ProductID())) {
			err = api.ErrNotFound
		}
		if err == nil {
			p.Reference = reference
			f, err = s.ShowPurchase(ctx, r, p)
		}
		return err
	})
	if err != nil {
		return api.Fulfillment{}, fmt.Errorf("fulfillment %s: %w", reference, err)
	}
	return f, nil
}

// ListFulfillments returns the purchases of a license, the governing one first, or
// the purchases without a license that expire first; at most 1,000.
func (s Service) ListFulfillments(ctx context.Context, p api.ListFulfillmentsParams) (list []api.Fulfillment, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		list = []api.Fulfillment{}
		var all []Purchase
		var err error
		if p.LicenseID != "" {
			all, err = purchasesOf(ctx, r, p.LicenseID)
			all = slices.DeleteFunc(all, Purchase.IsOwn)
			slices.SortFunc(all, func(a, b Purchase) int {
				return cmp.Or(b.FirstActive.Compare(a.FirstActive), strings.Compare(b.Reference, a.Reference))
			})
		} else {
			all, err = waitingPurchases(ctx, r, p.Waiting, s.Now())
		}
		for _, p := range all {
			if err != nil {
				return err
			}
			if s.Caller.Products != nil && !s.Sees(p.ProductID()) {
				continue
			}
			var f api.Fulfillment
			f, err = s.ShowPurchase(ctx, r, p)
			list = append(list, f)
		}
		slices.SortStableFunc(list, func(a, b api.Fulfillment) int { return cmp.Compare(btoi(b.Governs), btoi(a.Governs)) })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list fulfillments: %w", err)
	}
	return list, nil
}

// A Part is a purchase of a license, and what it allows, or adds to the bases, while it
// counts.
type Part struct {
	api.Fulfillment
	Kind  api.PlanKind // empty: nothing is known
	Terms api.Terms
}

// Parts returns the purchases of a license in the order of ListFulfillments.
func (s Service) Parts(ctx context.Context, licenseID string) (parts []Part, err error) {
	list, err := s.ListFulfillments(ctx, api.ListFulfillmentsParams{LicenseID: licenseID})
	if err != nil {
		return nil, err
	}
	all, err := purchasesOf(ctx, s.Reader(), licenseID)
	for _, f := range list {
		if i := slices.IndexFunc(all, func(p Purchase) bool { return p.Reference == f.Reference }); i >= 0 {
			parts = append(parts, all[i].part(f))
		}
	}
	return parts, err
}

// part returns the part of a purchase that f is.
func (p Purchase) part(f api.Fulfillment) Part {
	part := Part{Fulfillment: f, Kind: p.Terms.Value.Kind}
	part.Terms, _ = plans.TermsOfPlan(p.Terms.Value, p.units())
	if part.Kind == api.PlanAddOn {
		part.Terms.Entitlements = maps.Clone(part.Terms.Entitlements)
		for name, v := range part.Terms.Entitlements {
			if n, ok := v.(float64); ok {
				part.Terms.Entitlements[name] = n * float64(p.units())
			}
		}
	}
	return part
}

// ShowPurchase returns the Fulfillment of a call that says nothing new.
func (s Service) ShowPurchase(ctx context.Context, r store.Reader, p Purchase) (api.Fulfillment, error) {
	d, err := s.decideChange(ctx, r, decision{before: p, after: p}, Said[string]{})
	if err != nil {
		return api.Fulfillment{}, err
	}
	if d.after = p; !p.Granted && d.result != api.FulfillDeleted && d.result != api.FulfillRevoked {
		d.result = api.FulfillWaiting
	}
	var l api.License
	if d.license != nil {
		l, err = licenses.FromRecord(*d.license, s.Now())
	}
	return s.shownFulfillment(d, l), err
}

// OfCustomer returns the newest purchases of a customer, with or without a license, up to
// a number, and whether there are more. It looks at 1,000.
func (s Service) OfCustomer(ctx context.Context, customerID string, n int) (list []api.Fulfillment, more bool, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		list = nil
		prefix := call.Digest(customerID) + "/"
		links, err := r.Entries(ctx, store.EntryQuery{Kind: PurchaseOfCustomerKind, From: prefix, Before: store.PrefixEnd(prefix), Limit: store.MaxLimit})
		if err != nil || len(links) == 0 {
			return err
		}
		all, err := LinkedPurchases(ctx, r, slices.DeleteFunc(links, func(e store.Entry) bool { return isOver(e, s.Now()) }))
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(p Purchase) bool { return p.CustomerID != customerID })
		slices.SortFunc(all, func(a, b Purchase) int {
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.Reference, a.Reference))
		})
		more = len(all) > n
		for _, p := range all[:min(n, len(all))] {
			f, err := s.ShowPurchase(ctx, r, p)
			if err != nil {
				return err
			}
			list = append(list, f)
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("purchases of a customer: %w", err)
	}
	return list, more, nil
}

// HasPurchases reports whether a customer has a purchase, with or without a license.
func (s Service) HasPurchases(ctx context.Context, customerID string) (bool, error) {
	prefix := call.Digest(customerID) + "/"
	links, err := s.Reader().Entries(ctx, store.EntryQuery{Kind: PurchaseOfCustomerKind, From: prefix, Before: store.PrefixEnd(prefix), Limit: 1})
	if err != nil {
		return false, fmt.Errorf("purchases of a customer: %w", err)
	}
	return len(links) > 0, nil
}

// stuck is what an operator has to do something about, before a purchase counts.
var stuck = []api.Waiting{api.WaitingUnknownPlan, api.WaitingOtherProduct, api.WaitingLicenseID, api.WaitingLicenseFull}

// WaitingPurchases returns how many purchases, up to 1,000 each, wait for a plan that
// does not exist or is one of another product, or for a license that they add to or that
// has too many, whether or not they have a license. It also returns the first of each.
func (s Service) WaitingPurchases(ctx context.Context, first int) (n int, list []Purchase, err error) {
	for _, waits := range stuck {
		all, err := waitingPurchases(ctx, s.Reader(), waits, s.Now())
		if err != nil {
			return 0, nil, err
		}
		n += len(all)
		list = append(list, all[:min(first, len(all))]...)
	}
	return n, list, nil
}
