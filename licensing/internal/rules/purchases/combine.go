package purchases

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ownPrefix begins the reference of the purchase that stands for a license that no
// purchase made; the ID of the license follows.
const ownPrefix = "license:"

func isOwn(reference string) bool { return strings.HasPrefix(reference, ownPrefix) }

// IsOwn reports whether the purchase stands for a license that no purchase made.
func (p Purchase) IsOwn() bool { return isOwn(p.Reference) }

// silent reports whether the events of a purchase do not say enough for a part in its
// license, as those of one whose license was imported.
func (p *Purchase) silent() bool {
	return !isOwn(p.Reference) && (p.FirstActive.IsZero() || p.Terms.Value.ID == "")
}

// terms returns what package terms knows of a purchase.
func (p *Purchase) terms() terms.Purchase {
	t := terms.Purchase{
		Reference: p.Reference, Plan: p.Terms.Value, Quantity: p.Quantity.Value, FirstActive: p.FirstActive,
		UntilSaid: !p.Until.At.IsZero(), Until: p.Until.Value, EndedAt: p.FirstEnded, RefundedAt: p.FirstRefunded,
		Activated: p.Activated, Made: p.Made, UpdatesUntil: p.Updates, Name: p.Name.Value, Reason: p.Reason.Value,
	}
	if p.State.Value == api.PurchasePaused {
		t.PausedAt = p.State.At
	}
	for name, v := range p.Metadata {
		if t.Metadata == nil {
			t.Metadata = make(map[string]*string, len(p.Metadata))
		}
		t.Metadata[name] = v.Value
	}
	return t
}

// termsOf returns what package terms knows of purchases, without silent ones. There is room for
// two more.
func termsOf(all ...Purchase) []terms.Purchase {
	known := make([]terms.Purchase, 0, len(all)+2)
	for i := range all {
		if p := &all[i]; !p.silent() {
			known = append(known, p.terms())
		}
	}
	return known
}

// ofOwn returns how the purchase that stands for a license is stored.
func ofOwn(own terms.Purchase) Purchase {
	first := time.UnixMilli(0).UTC()
	p := Purchase{
		Reference: own.Reference, LicenseID: strings.TrimPrefix(own.Reference, ownPrefix), Granted: true, FirstActive: own.FirstActive,
		Activated: own.Activated, Updates: own.UpdatesUntil, Terms: Said[api.Plan]{own.Plan, first},
	}
	say(&p.Until, own.Until, first, own.UntilSaid)
	say(&p.Name, own.Name, first, own.Name != "")
	for name, v := range own.Metadata {
		if p.Metadata == nil {
			p.Metadata = map[string]Said[*string]{}
		}
		p.Metadata[name] = Said[*string]{v, first}
	}
	return p
}

// newOwn returns the purchase that stands for a license from its first purchase on.
func newOwn(ctx context.Context, r store.Reader, rec record.License) (Purchase, error) {
	state, err := licenses.StateOf(rec)
	if err != nil {
		return Purchase{}, err
	}
	line := ""
	if rec.PlanID != "" {
		plan, _, err := plans.ReadPlan(ctx, r, rec.PlanID)
		if err != nil {
			return Purchase{}, err
		}
		line = cmp.Or(plan.Line, rec.PlanID)
	}
	return ofOwn(terms.Own(rec.ID, line, rec.CreatedAt, state.Terms)), nil
}

// TermsOf returns what package terms knows of the purchases of a license.
func (s Service) TermsOf(ctx context.Context, r store.Reader, licenseID string) ([]terms.Purchase, error) {
	all, err := OfLicense(ctx, r, licenseID)
	return termsOf(all...), err
}

// Continued reports whether another purchase of the license that is a base of its line
// counted when the one with a reference had ended.
func Continued(ctx context.Context, r store.Reader, l api.License, reference string, at time.Time) (bool, error) {
	all, err := OfLicense(ctx, r, l.ID)
	return terms.GrantOf(termsOf(all...), l.ProductID).Continued(reference, at), err
}

// PutOwn stores what an edit by hand made of the purchase that stands for a license.
func (s Service) PutOwn(ctx context.Context, tx *call.Tx, own terms.Purchase) error {
	before, _, err := ReadPurchase(ctx, tx, own.Reference, tx.Now)
	if err == nil {
		_, err = PutPurchase(ctx, tx, before, ofOwn(own))
	}
	return err
}

// LicenseDeleted removes what is stored of the purchases of a license that is deleted,
// except what says that their references were used: the one that stands for a license,
// and what they wait for.
func LicenseDeleted(ctx context.Context, tx *call.Tx, licenseID string) error {
	all, err := OfLicense(ctx, tx, licenseID)
	for _, p := range all {
		to := store.Entry{Kind: PurchaseKind, Key: call.Digest(p.Reference)}
		was, left := p.links(to), p
		if left.Waits = ""; p.IsOwn() {
			was, left = append(was, to), Purchase{}
		}
		if err := entries.Drop(ctx, tx, was, left.links(to)); err != nil {
			return err
		}
	}
	return err
}

// combine decides what a license becomes when its purchases change: all but the one of
// the decision stay.
func (s Service) combine(ctx context.Context, r store.Reader, d *decision) error {
	if d.whole != nil {
		d.is, d.grant, d.grantFor = d.whole.is, d.whole.grant, d.whole.rec.ProductID
		return nil
	}
	all, err := OfLicense(ctx, r, d.license.ID)
	if err != nil {
		return err
	}
	if err := d.after.start(ctx, r, all); err != nil {
		return err
	}
	d.all, d.was = all, termsOf(all...)
	if len(d.was) == 0 && !d.after.silent() {
		own, err := newOwn(ctx, r, *d.license)
		if err != nil {
			return err
		}
		d.own, d.was = &own, append(d.was, own.terms())
	}
	d.is = d.was
	if i := slices.IndexFunc(d.is, func(p terms.Purchase) bool { return p.Reference == d.after.Reference }); i >= 0 {
		d.is = slices.Delete(slices.Clone(d.is), i, i+1)
	}
	if !d.after.silent() {
		d.is = append(d.is, d.after.terms())
	}
	return nil
}

// change changes a license, whose record is next, as its purchases have changed.
func (d *decision) change(next *record.License, now time.Time) error {
	state, err := licenses.StateOf(*next)
	if err != nil {
		return err
	}
	product := terms.ProductAfter(state.ProductID, d.was, d.is)
	state = state.FollowGrants(d.had(state.ProductID), d.granted(product), now)
	putState(state, next)
	next.Bought = len(d.is) > 0
	return d.suspend(next, now)
}

// putState is licenses.PutState of a license whose end its purchases set.
func putState(state terms.State, rec *record.License) {
	licenses.PutState(state, rec)
	if !rec.StartsAt.IsZero() && !rec.ExpiresAt.IsZero() && !rec.ExpiresAt.After(rec.StartsAt) {
		rec.StartsAt = time.Time{} // of a license that begins after it ends
	}
}

// create sets what package terms knows of a new license, whose fields may differ from
// what its purchase gives.
func (d *decision) create(rec *record.License, now time.Time) error {
	want, err := licenses.StateOf(*rec)
	if err != nil {
		return err
	}
	given := terms.State{}.Follow(nil, d.is, now)
	given.Name = cmp.Or(given.Name, d.after.CustomerID)
	state, _ := given.Edit(d.is, want.Terms, now)
	licenses.PutState(state, rec)
	rec.Bought = true
	return d.suspend(rec, now)
}

// suspend sets who suspends a license.
func (d *decision) suspend(next *record.License, now time.Time) error {
	is, err := licenses.SuspensionOf(*next)
	if err == nil {
		licenses.PutSuspension(is.Follow(d.granted(next.ProductID), now), next, now)
	}
	return err
}

// eventOf returns the type of the event of a change by a purchase.
func (d *decision) eventOf(before, next record.License, now time.Time) string {
	if event := licenses.StateEvent(before, next); event != "" {
		return event
	}
	if terms.Renews(d.had(before.ProductID), d.granted(next.ProductID), now) {
		return api.EventLicenseRenewed
	}
	return api.EventLicenseUpdated
}

// putWaits stores what other purchases of the license wait for now, as far as the change
// of one of them changed it.
func (d *decision) putWaits(ctx context.Context, tx *call.Tx, next record.License) error {
	wait := d.granted(next.ProductID).Waits(tx.Now)
	for i := range d.all {
		p := &d.all[i]
		waits := wait[p.Reference]
		if waits == "" && p.Waits != api.WaitingOtherProduct && p.Waits != api.WaitingLicenseFull {
			waits = p.Waits
		}
		if waits == p.Waits || p.Reference == d.after.Reference {
			continue
		}
		before, after := *p, *p
		after.Waits = waits
		if _, err := PutPurchase(ctx, tx, before, after); err != nil {
			return err
		}
	}
	return nil
}
