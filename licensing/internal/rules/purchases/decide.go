package purchases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A decision is what a call makes of a purchase and its license. Making it writes
// nothing.
type decision struct {
	result        api.PurchaseResult // what is certain before the license is written
	waits         api.Waiting
	before, after Purchase
	license       *record.License          // the current license; nil: there is none
	all           []Purchase               // of the license, before the call
	own           *Purchase                // to be stored: the one that stands for the license; nil: none
	was, is       []terms.Purchase         // of the license, before and after the call
	params        *api.CreateLicenseParams // of the license to create; nil: none
	id            string                   // of the license to create; empty: any
	reason        string                   // recorded in the event
	at            time.Time                // of the call
	hidden        bool                     // the answer says nothing about the license; see [purchase.hear]
	whole         *whole                   // nil: it is to be read
	grant         *terms.Grant             // of is, for the product grantFor; nil: to be made
	grantFor      string
	hadGrant      *terms.Grant // of was, for the product hadFor; nil: to be made
	hadFor        string
	subjects      []string // keys that a trial binds beside its own
}

// license returns the current license with an ID.
func (d *decision) readLicense(ctx context.Context, r store.Reader, id string, now time.Time) (record.License, error) {
	if d.whole != nil && d.whole.id == id {
		return d.whole.rec, d.whole.err
	}
	row, err := r.License(ctx, id)
	if err != nil {
		return record.License{}, err
	}
	return licenses.Read(row, now)
}

// granted returns what the purchases make of the license after the call.
func (d *decision) granted(productID string) *terms.Grant {
	if d.grant == nil || d.grantFor != productID {
		d.grant, d.grantFor = terms.GrantOf(d.is, productID), productID
	}
	return d.grant
}

// had returns what the purchases made of the license before the call.
func (d *decision) had(productID string) *terms.Grant {
	if d.hadGrant == nil || d.hadFor != productID {
		d.hadGrant, d.hadFor = terms.GrantOf(d.was, productID), productID
	}
	return d.hadGrant
}

// standing returns how the purchase stands in its license.
func (d *decision) standing(productID string) terms.Standing {
	return d.granted(productID).Standing(d.after.Reference, d.at)
}

// decide decides what RecordPurchase does.
func (s Service) decide(ctx context.Context, r store.Reader, p api.RecordPurchaseParams) (decision, error) {
	limited := s.Caller.Products != nil
	if limited && p.PlanID == "" {
		return decision{}, api.Invalid("plan_id", api.FieldRequired, "is required from a caller that is limited to products")
	}
	if limited {
		if _, ok, err := plans.Of(s.Call).FindPlan(ctx, r, p.PlanID); err != nil {
			return decision{}, err
		} else if !ok {
			return decision{}, api.ErrProductForbidden
		}
	}
	before, ok, err := ReadPurchase(ctx, r, p.Reference, s.Now())
	if err != nil {
		return decision{}, err
	}
	meant, err := s.meant(ctx, r, before, &p)
	if err != nil {
		return decision{}, err
	}
	hidden := meant.hear(&p, s.Opts.EmailKey)
	if ok && limited && !s.Sees(before.ProductID()) || differ(before.CustomerID, p.CustomerID) || before.Granted && differ(before.LicenseID, p.LicenseID) {
		return decision{}, api.ErrReferenceTaken
	}
	d := decision{before: before, after: meant.merge(purchaseOf(p)), reason: p.Reason, hidden: hidden}
	if len(d.after.Metadata) > call.MaxMetadata {
		return decision{}, api.Invalid("metadata", api.FieldTooMany, "a purchase must have at most 50 names of metadata, including removed names")
	}
	return s.decideChange(ctx, r, d, purchaseOf(p).Plan)
}

// meant returns the purchase, which has no license yet, without the one that it was meant for if
// that is one of another customer than the purchase. So does an event that names no customer:
// the purchase gets a license of its own in any order of its events. An event that names both is
// refused.
func (s Service) meant(ctx context.Context, r store.Reader, p Purchase, event *api.RecordPurchaseParams) (Purchase, error) {
	customer := cmp.Or(p.CustomerID, event.CustomerID)
	isOthers := func(licenseID string) (bool, error) {
		if customer == "" || licenseID == "" {
			return false, nil
		}
		row, err := r.License(ctx, licenseID)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil && row.CustomerID != customer && s.Sees(row.ProductID), err
	}
	if !p.Granted {
		others, err := isOthers(p.LicenseID)
		if err != nil {
			return p, err
		}
		if others {
			p.LicenseID, p.LicenseAt, p.NotFor = "", time.Time{}, p.LicenseID
		}
	}
	if event.CustomerID != "" || event.LicenseID == p.LicenseID || event.LicenseID == p.NotFor {
		return p, nil
	}
	others, err := isOthers(event.LicenseID)
	if others {
		p.NotFor = event.LicenseID // not heard
	}
	return p, err
}

// hear changes what an event says as far as the customer or the license of a purchase
// has changed. An event that names an earlier customer is one of the purchase. If that
// is another customer, or if after a transfer the event names no customer, hidden is true:
// what the event says about a person is dropped, since it is not about the customer.
func (p Purchase) hear(event *api.RecordPurchaseParams, emailKey string) (hidden bool) {
	if event.LicenseID == p.NotFor {
		event.LicenseID = ""
	}
	if event.CustomerID == p.CustomerID {
		return false
	}
	if p.Claimed {
		event.Metadata = maps.Clone(event.Metadata)
		delete(event.Metadata, emailKey)
	}
	same, former := p.Former[call.Digest(event.CustomerID)]
	if former {
		event.CustomerID = p.CustomerID
	}
	if hidden = former && !same || event.CustomerID == "" && p.transferred(); hidden {
		event.Name, event.Reason, event.Metadata = "", "", nil
	}
	return hidden
}

// differ reports whether two texts that are known are not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// decideChange decides how to change the license, after an event that may name a plan.
func (s Service) decideChange(ctx context.Context, r store.Reader, d decision, plan Said[string]) (decision, error) {
	d.at = s.Now()
	p := &d.after
	if isOwn(p.Reference) {
		return decision{}, fmt.Errorf("purchase %q: %w", p.Reference, api.ErrNotFound)
	}
	if p.Erased {
		d.result = api.PurchaseResultDeleted
		return d, nil
	}
	if p.LicenseID != "" {
		rec, err := d.readLicense(ctx, r, p.LicenseID, s.Now())
		if errors.Is(err, store.ErrNotFound) || err == nil && !s.Sees(rec.ProductID) {
			d.result = api.PurchaseResultDeleted
			return d, nil
		}
		if err != nil {
			return d, err
		}
		switch {
		case p.Granted || !differ(rec.CustomerID, p.CustomerID):
			if d.license = &rec; rec.State == store.StateRevoked {
				d.result = api.PurchaseResultRevoked
				return d, nil
			}
		case d.before.LicenseID != p.LicenseID:
			return d, api.ErrReferenceTaken
		default: // the license was transferred while the purchase waited, so it gets another
			p.LicenseID, p.LicenseAt, p.NotFor = "", time.Time{}, p.LicenseID
		}
	}
	var err error
	if d.waits, err = p.resolvePlan(ctx, r, plan); err != nil {
		return d, err
	}
	if !p.Granted {
		switch {
		case p.CustomerID == "":
			d.waits = api.WaitingCustomer
		case p.Plan.Value == "":
			d.waits = api.WaitingPlan
		case p.FirstActive.IsZero():
			d.waits = api.WaitingActive
		case p.Terms.Value.ID != "" && p.Terms.Value.Kind == api.PlanAddOn && d.license == nil:
			d.waits = api.WaitingLicenseID
		case p.Terms.Value.ID != "":
			return s.decideGrant(ctx, r, d)
		}
		d.result = api.PurchaseResultWaiting
		return d, nil
	}
	return s.decideGrant(ctx, r, d)
}

// decideGrant decides how to change the license of a purchase that has one, or
// that now gets one.
func (s Service) decideGrant(ctx context.Context, r store.Reader, d decision) (decision, error) {
	d.after.Granted, d.after.LicenseAt = true, time.Time{}
	if d.license == nil {
		d.after.Made = true
		d.is = termsOf(d.after)
		params := d.newLicense(s.Now())
		d.result, d.params = api.PurchaseResultCreated, &params
		return d, nil
	}
	if err := s.combine(ctx, r, &d); err != nil {
		return d, err
	}
	d.result = api.PurchaseResultUnchanged
	if waits := d.standing(d.license.ProductID).Waiting; waits != "" {
		d.waits = waits
	}
	return d, nil
}

// newLicense returns the fields of the license that a purchase makes.
func (d *decision) newLicense(now time.Time) api.CreateLicenseParams {
	state := terms.State{}.Follow(nil, d.is, now)
	var rec record.License
	state.Name = cmp.Or(state.Name, d.after.CustomerID)
	licenses.PutState(state, &rec)
	l := licenses.FromParts(rec, state.Entitlements, nil, state.Meters, now)
	l.CustomerID, l.Metadata = d.after.CustomerID, map[string]string{}
	for name, v := range state.Metadata {
		l.Metadata[name] = *v
	}
	return licenses.ParamsOf(l)
}

// resolvePlan sets the terms of a purchase to those of the latest plan that exists.
// While its plan stays the same, a purchase that has been granted keeps the terms that
// it has. It returns what the latest plan waits for.
func (p *Purchase) resolvePlan(ctx context.Context, r store.Reader, event Said[string]) (waits api.Waiting, err error) {
	terms := Said[string]{p.Terms.Value.ID, p.Terms.At}
	named := []Said[string]{event, p.Plan}
	if !p.Granted { // the terms as they are now
		named = append(named, terms)
		slices.SortFunc(named, func(a, b Said[string]) int { return a.At.Compare(b.At) })
		p.Terms, terms = Said[api.Plan]{}, Said[string]{}
	}
	for _, plan := range named {
		switch {
		case plan.Value == "" || later(terms, plan, strings.Compare) == terms:
			continue
		case plan.Value == terms.Value:
			waits, terms.At, p.Terms.At = "", plan.At, plan.At
			continue
		}
		found, ok, err := plans.ReadPlan(ctx, r, plan.Value)
		switch {
		case err != nil:
			return "", err
		case !ok:
			waits = api.WaitingUnknownPlan
		default:
			waits, terms = "", plan
			p.Terms = Said[api.Plan]{found, plan.At}
		}
	}
	return waits, nil
}

// purchase returns what the API shows of a decision about l.
func (d decision) purchase(l *api.License) api.Purchase {
	p := d.after
	f := api.Purchase{
		Object: "purchase", Reference: p.Reference, Result: d.result, Waiting: d.waits, License: l,
		Governs: l != nil && p.Reference != "" && l.Reference == p.Reference, LicenseID: p.LicenseID, CustomerID: p.CustomerID, ProductID: p.ProductID(),
		Fields: map[string]api.PurchaseField{}, FirstActiveAt: record.OptionalTime(p.FirstActive), EndedAt: record.OptionalTime(p.FirstEnded),
		RefundedAt:  record.OptionalTime(p.FirstRefunded),
		ActivatedAt: record.OptionalTime(p.Activated),
		ReopenedAt:  record.OptionalTime(p.Reopened), CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
	if l != nil && len(d.is) > 0 {
		is := d.standing(l.ProductID)
		f.Counts, f.Governs = is.Counts, is.Governs
		f.StartsAt, f.EndsAt = record.OptionalTime(is.StartsAt), record.OptionalTime(is.EndsAt)
	}
	_, f.Clamped = plans.TermsOfPlan(p.Terms.Value, p.units())
	show := func(name string, value any, at time.Time) {
		if !at.IsZero() {
			f.Fields[name] = api.PurchaseField{Value: value, At: at}
		}
	}
	show("plan_id", p.Plan.Value, p.Plan.At)
	show("name", p.Name.Value, p.Name.At)
	show("reason", p.Reason.Value, p.Reason.At)
	show("quantity", p.Quantity.Value, p.Quantity.At)
	show("until", record.OptionalTime(p.Until.Value), p.Until.At)
	show("renews", p.Renews.Value, p.Renews.At)
	show("state", p.State.Value, p.State.At)
	for name, v := range p.Metadata {
		show(call.Pointer("metadata", name), v.Value, v.At)
	}
	return f
}
