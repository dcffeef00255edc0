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

// GetPurchase returns a purchase as it was last reported. It returns
// [api.ErrNotFound] if there is none with that reference, or an [*api.InvalidError].
func (s Service) GetPurchase(ctx context.Context, reference string) (f api.Purchase, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		p, ok, err := ReadPurchase(ctx, r, reference, s.Now())
		if err == nil && (!ok || !s.SeesPurchase(p)) {
			err = api.ErrNotFound
		}
		if err == nil {
			p.Reference = reference
			f, err = s.ShowPurchase(ctx, r, p)
		}
		return err
	})
	if err != nil {
		return api.Purchase{}, fmt.Errorf("purchase %q: %w", reference, err)
	}
	return f, nil
}

// SeesPurchase reports whether a purchase exists for the caller: one that is limited to products
// sees those of their plans.
func (s Service) SeesPurchase(p Purchase) bool {
	return s.Caller.Products == nil || s.Sees(p.ProductID())
}

// ListPurchases returns all purchases of a license on one page, the governing one
// first, or a page of the purchases that wait; see package selling.
func (s Service) ListPurchases(ctx context.Context, p api.ListPurchasesParams) (page api.Page[api.Purchase], err error) {
	page, err = s.listPurchases(ctx, p)
	for i := range page.Data {
		page.Data[i].License = nil
	}
	return page, err
}

// listPurchases is [Service.ListPurchases], with the licenses.
func (s Service) listPurchases(ctx context.Context, p api.ListPurchasesParams) (page api.Page[api.Purchase], err error) {
	if err := call.Check(p); err != nil {
		return api.Page[api.Purchase]{}, err
	}
	limit := cmp.Or(p.Limit, valid.DefaultLimit)
	scope := call.ScopeOf("purchases %q %q %t %q", p.LicenseID, p.Waiting, s.Caller.Products != nil, s.OnlyProducts())
	at := call.Cursor{Scope: scope, Pinned: s.Now()}
	if p.Cursor != "" {
		var ok bool
		if at, ok = call.ParseCursor(p.Cursor, scope, ""); !ok {
			return api.Page[api.Purchase]{}, call.ErrCursor
		}
	}
	return call.View(ctx, s.Call, "list purchases", func(r store.Reader) (page api.Page[api.Purchase], err error) {
		page = api.Page[api.Purchase]{Data: []api.Purchase{}}
		if p.LicenseID != "" {
			parts, err := s.partsOf(ctx, r, p.LicenseID)
			for _, part := range parts {
				page.Data = append(page.Data, part.Purchase)
			}
			return page, err
		}
		examined := limit + 1
		if s.Caller.Products != nil {
			examined = store.MaxLimit
		}
		rows, err := waitingAfter(ctx, r, p.Waiting, s.Now(), at.After, examined)
		if err != nil {
			return page, err
		}
		page.HasMore = len(rows) == examined
		r = Together(r)
		for _, row := range rows {
			if s.SeesPurchase(row.Purchase) {
				if page.HasMore = page.HasMore || len(page.Data) == limit; len(page.Data) == limit {
					break
				}
				f, err := s.ShowPurchase(ctx, r, row.Purchase)
				if err != nil {
					return page, err
				}
				page.Data = append(page.Data, f)
			}
			at.After = row.at
		}
		if page.HasMore {
			page.NextCursor = at.String()
		}
		return page, nil
	})
}

// placed is a purchase with its position in a list.
type placed struct {
	Purchase
	at store.Position
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

// AllPurchases iterates over the purchases that p selects; see package selling.
func (s Service) AllPurchases(ctx context.Context, p api.ListPurchasesParams) iter.Seq2[api.Purchase, error] {
	return allPages(ctx, p, s.ListPurchases)
}

// AllWaiting iterates over the purchases that wait, with their licenses.
func (s Service) AllWaiting(ctx context.Context) iter.Seq2[api.Purchase, error] {
	return allPages(ctx, api.ListPurchasesParams{}, s.listPurchases)
}

func allPages(ctx context.Context, p api.ListPurchasesParams, list func(context.Context, api.ListPurchasesParams) (api.Page[api.Purchase], error)) iter.Seq2[api.Purchase, error] {
	p.Limit = call.MaxLimit
	return call.All(func(cursor string) (api.Page[api.Purchase], error) {
		p.Cursor = cursor
		return list(ctx, p)
	})
}

// A Part is a purchase of a license, and what it allows, or adds to the bases, while it
// counts.
type Part struct {
	api.Purchase
	Kind  api.PlanKind // empty: nothing is known
	Terms api.Terms
}

// Parts returns the purchases of a license in the order of ListPurchases.
func (s Service) Parts(ctx context.Context, licenseID string) (parts []Part, err error) {
	err = s.Read(ctx, func(r store.Reader) (err error) {
		parts, err = s.partsOf(ctx, r, licenseID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("purchases of a license: %w", err)
	}
	return parts, nil
}

// partsOf returns the purchases of a license that the caller sees, the one that governs it first,
// then the latest.
func (s Service) partsOf(ctx context.Context, r store.Reader, licenseID string) (parts []Part, err error) {
	t := Together(r).(*together)
	w, err := t.whole(ctx, s, licenseID)
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(slices.Clone(w.all), func(p Purchase) bool { return p.IsOwn() || !s.SeesPurchase(p) })
	slices.SortFunc(rows, func(a, b Purchase) int {
		return cmp.Or(b.FirstActive.Compare(a.FirstActive), strings.Compare(b.Reference, a.Reference))
	})
	for _, p := range rows {
		f, err := s.ShowPurchase(ctx, t, p)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p.part(f))
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(btoi(b.Governs), btoi(a.Governs)) })
	return parts, nil
}

// part returns the part of a purchase that f is.
func (p Purchase) part(f api.Purchase) Part {
	part := Part{Purchase: f, Kind: p.Terms.Value.Kind}
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

// ShowPurchase returns the Purchase of a call that says nothing new. Of several purchases,
// r reads once what they have in common; see [Together].
func (s Service) ShowPurchase(ctx context.Context, r store.Reader, p Purchase) (api.Purchase, error) {
	var w *whole
	var err error
	if p.Granted && !p.Erased {
		t, ok := r.(*together)
		if !ok {
			t = Together(r).(*together)
		}
		if w, err = t.whole(ctx, s, p.LicenseID); err != nil {
			return api.Purchase{}, err
		}
	}
	d, err := s.decideChange(ctx, r, decision{before: p, after: p, whole: w}, Said[string]{})
	if err != nil {
		return api.Purchase{}, err
	}
	if d.after = p; !p.Granted && d.result != api.PurchaseResultDeleted && d.result != api.PurchaseResultRevoked {
		d.result = api.PurchaseResultWaiting
	}
	var l api.License
	switch {
	case d.license == nil:
	case w != nil && w.shown != nil:
		l = *w.shown
	default:
		if l, err = licenses.FromRecord(*d.license, s.Now()); w != nil {
			w.shown = &l
		}
	}
	return s.shownPurchase(d, l), err
}

// OfCustomer returns the newest purchases of a customer, with or without a license, up to
// a number, and whether there are more. It looks at 1,000.
func (s Service) OfCustomer(ctx context.Context, customerID string, n int) (list []api.Purchase, more bool, err error) {
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
		r = Together(r)
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
