package purchases

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
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
			f, err = s.ShowPurchase(ctx, r, p, nil)
		}
		return err
	})
	if err != nil {
		return api.Fulfillment{}, fmt.Errorf("fulfillment %s: %w", reference, err)
	}
	return f, nil
}

// ListFulfillments returns all purchases of a license on one page, the governing one
// first, or a page of the purchases that wait; see package selling.
func (s Service) ListFulfillments(ctx context.Context, p api.ListFulfillmentsParams) (page api.Page[api.Fulfillment], err error) {
	if err := call.Check(p); err != nil {
		return api.Page[api.Fulfillment]{}, err
	}
	limit := cmp.Or(p.Limit, valid.DefaultLimit)
	scope := call.ScopeOf("fulfillments %q %q %t %q", p.LicenseID, p.Waiting, s.Caller.Products != nil, s.OnlyProducts())
	at := call.Cursor{Scope: scope, Pinned: s.Now()}
	if p.Cursor != "" {
		var ok bool
		if at, ok = call.ParseCursor(p.Cursor, scope, ""); !ok {
			return api.Page[api.Fulfillment]{}, call.ErrCursor
		}
	}
	err = s.Read(ctx, func(r store.Reader) error {
		page = api.Page[api.Fulfillment]{Data: []api.Fulfillment{}}
		var rows []placed
		var all *whole
		var err error
		if p.LicenseID != "" {
			rows, all, err = ofLicense(ctx, r, p.LicenseID)
			limit = len(rows)
		} else {
			examined := limit + 1
			if s.Caller.Products != nil {
				examined = store.MaxLimit
			}
			rows, err = waitingAfter(ctx, r, p.Waiting, s.Now(), at.After, examined)
			page.HasMore = len(rows) == examined
		}
		if err != nil {
			return err
		}
		for _, row := range rows {
			if s.Caller.Products == nil || s.Sees(row.ProductID()) {
				if page.HasMore = page.HasMore || len(page.Data) == limit; len(page.Data) == limit {
					break
				}
				f, err := s.ShowPurchase(ctx, r, row.Purchase, all)
				if err != nil {
					return err
				}
				page.Data = append(page.Data, f)
			}
			at.After = row.at
		}
		if page.HasMore {
			page.NextCursor = at.String()
		}
		return nil
	})
	if err != nil {
		return api.Page[api.Fulfillment]{}, fmt.Errorf("list fulfillments: %w", err)
	}
	if p.LicenseID != "" {
		slices.SortStableFunc(page.Data, func(a, b api.Fulfillment) int { return cmp.Compare(btoi(b.Governs), btoi(a.Governs)) })
	}
	return page, nil
}

// placed is a purchase with its position in a list.
type placed struct {
	Purchase
	at store.Position
}

// ofLicense returns the purchases of a license, the latest first, and the license with them;
// nil: it is deleted.
func ofLicense(ctx context.Context, r store.Reader, licenseID string) (rows []placed, w *whole, err error) {
	all, err := purchasesOf(ctx, r, licenseID)
	for _, p := range all {
		if !p.IsOwn() {
			rows = append(rows, placed{Purchase: p})
		}
	}
	slices.SortFunc(rows, func(a, b placed) int {
		return cmp.Or(b.FirstActive.Compare(a.FirstActive), strings.Compare(b.Reference, a.Reference))
	})
	if err == nil && len(rows) > 0 {
		w, err = wholeOf(ctx, r, licenseID, all)
	}
	return rows, w, err
}

// waitingAfter returns up to limit purchases that wait: those with a license in the order
// of what they wait for, with a position without a time, then the others by their expiry.
func waitingAfter(ctx context.Context, r store.Reader, waits api.Waiting, now time.Time, after store.Position, limit int) (rows []placed, err error) {
	if after.Time.IsZero() {
		q := store.EntryQuery{Kind: WaitingWithLicenseKind, After: after, Limit: limit}
		if waits != "" {
			q.From = string(waits) + "/"
			q.Before = store.PrefixEnd(q.From)
		}
		links, err := r.Entries(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(links) > 0 {
			some, err := LinkedPurchases(ctx, r, links)
			if err != nil {
				return nil, err
			}
			for _, p := range some {
				rows = append(rows, placed{p, store.Position{ID: string(p.Waits) + "/" + call.Digest(p.Reference)}})
			}
			slices.SortFunc(rows, func(a, b placed) int { return strings.Compare(a.at.ID, b.at.ID) })
		}
		after = store.Position{}
	}
	if len(rows) == limit {
		return rows, nil
	}
	entries, err := r.Entries(ctx, waitingQuery(waits, now, after, limit-len(rows)))
	if err != nil {
		return nil, err
	}
	all, err := DecodePurchases(entries)
	for i, p := range all {
		rows = append(rows, placed{p, store.Position{Time: entries[i].ExpiresAt, ID: entries[i].Key}})
	}
	return rows, err
}

// AllFulfillments iterates over the purchases that p selects; see package selling.
func (s Service) AllFulfillments(ctx context.Context, p api.ListFulfillmentsParams) iter.Seq2[api.Fulfillment, error] {
	p.Limit = call.MaxLimit
	return call.All(func(cursor string) (api.Page[api.Fulfillment], error) {
		p.Cursor = cursor
		return s.ListFulfillments(ctx, p)
	})
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
	for _, f := range list.Data {
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

// ShowPurchase returns the Fulfillment of a call that says nothing new. Its license is read
// if w is nil.
func (s Service) ShowPurchase(ctx context.Context, r store.Reader, p Purchase, w *whole) (api.Fulfillment, error) {
	d, err := s.decideChange(ctx, r, decision{before: p, after: p, whole: w}, Said[string]{})
	if err != nil {
		return api.Fulfillment{}, err
	}
	if d.after = p; !p.Granted && d.result != api.FulfillDeleted && d.result != api.FulfillRevoked {
		d.result = api.FulfillWaiting
	}
	var l api.License
	switch {
	case d.license == nil:
	case w != nil && w.shown != nil && w.shown.ID == d.license.ID:
		l = *w.shown
	default:
		if l, err = licenses.FromRecord(*d.license, s.Now()); w != nil && w.row.ID == l.ID {
			w.shown = &l
		}
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
			f, err := s.ShowPurchase(ctx, r, p, nil)
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
