package selling

import (
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// RecordPurchase records what an event says about a purchase, and creates or changes its
// license accordingly. The same events lead to the same license in any order,
// however often they arrive and however many calls run concurrently: of each
// field, what the event with the latest At says counts. So the same call serves
// webhooks, the page after a payment, and a nightly synchronization.
//
// The license is created once the plan, the customer and one active event are
// known; before that, the purchase waits, for up to 90 days after its last event. An
// unknown plan is no error. A purchase of an add-on waits for LicenseID, and makes no
// license. Nothing changes a license that is revoked or deleted.
//
// The terms of a license are what all its purchases make of it at each instant: it is
// valid while a base counts, has the most activations of its bases and those of its
// add-ons, and all their entitlements. Purchases of one line without Until are laid end to
// end. What time will change is applied by every read. A field that was set by hand stays
// until its value in the purchases changes; an end that was set by hand gives way only to a
// later one, or when that of the purchases becomes earlier. A paused purchase suspends the
// license unless another base counts, and ends only its own suspension.
//
// After a correction of the customer ID, events may name the old ID. After a
// transfer, an event that names the former customer, or none, still counts for plan,
// quantity, end and state. What it says of a person is dropped, and the result is
// PurchaseResultTransferred, without a license. If a license is transferred while a purchase
// waits for it, the purchase gets a license of its own once it can have one. So does one
// whose LicenseID names a license of another customer, unless an event names both: that is
// refused.
//
// If the license changed, RecordPurchase appends a license.created, license.renewed,
// license.suspended, license.reinstated or license.updated event. It returns an
// [*api.InvalidError], or [api.ErrReferenceTaken] if the purchase, or the license of
// LicenseID, is one of another customer or if LicenseID is not the license of the
// purchase. A caller limited to products must set PlanID in each call and gets
// [api.ErrProductForbidden] for other plans. Options.BeforeCreate runs as for Create.
func (s *Service) RecordPurchase(ctx context.Context, p api.RecordPurchaseParams) (api.Purchase, error) {
	return inner.Of(s.rules).Purchases().RecordPurchase(ctx, p)
}

// GetPurchase returns a purchase as it was last reported. It returns
// [api.ErrNotFound] if there is none with that reference, or an [*api.InvalidError].
func (s *Service) GetPurchase(ctx context.Context, reference string) (api.Purchase, error) {
	return inner.Of(s.rules).Purchases().GetPurchase(ctx, reference)
}

// ListPurchases returns all purchases of a license on one page, the governing one first.
// Without a license, it returns a page of the purchases that wait: those with a license
// first, then the ones that expire first. Elements have LicenseID, and no License. It returns an
// [*api.InvalidError].
func (s *Service) ListPurchases(ctx context.Context, p api.ListPurchasesParams) (api.Page[api.Purchase], error) {
	return inner.Of(s.rules).Purchases().ListPurchases(ctx, p)
}

// AllPurchases iterates over the purchases that p selects, in the order of
// [Service.ListPurchases], and stops after the first error. It ignores p.Limit and
// p.Cursor. Each page is a separate read.
func (s *Service) AllPurchases(ctx context.Context, p api.ListPurchasesParams) iter.Seq2[api.Purchase, error] {
	return inner.Of(s.rules).Purchases().AllPurchases(ctx, p)
}

// ReopenPurchase continues a purchase that was ended by mistake: events that say ended or refunded with
// an At up to that of p do not count any more, also if they arrive again, and later
// ones do. It changes the license as RecordPurchase does. It returns [api.ErrNotFound], or an
// [*api.InvalidError] if the purchase has not ended, or if an event ended it after At.
func (s *Service) ReopenPurchase(ctx context.Context, p api.ReopenPurchaseParams) (api.Purchase, error) {
	return inner.Of(s.rules).Purchases().ReopenPurchase(ctx, p)
}

// StartTrial creates a license for the Duration of a plan, unless the customer or one
// of the subjects has had a trial of the product. To a customer who has had one, it
// returns the license of that, and binds those of the subjects that have had no trial: a
// trial has at most 20 subjects, and at most five more than its first call named. It
// returns [api.ErrTrialTaken] if another customer had a trial with one of the subjects, or
// if the license of the trial has been revoked or deleted, and an [*api.InvalidError].
//
// To turn the trial into a purchase, name its license in RecordPurchaseParams.LicenseID.
func (s *Service) StartTrial(ctx context.Context, p api.StartTrialParams) (api.Trial, error) {
	return inner.Of(s.rules).Purchases().StartTrial(ctx, p)
}

// AllowTrial allows the customer and the subjects of a trial another one, and appends
// a trial.allowed event. The license of the trial does not change. It returns
// [api.ErrNotFound] if no trial with that license is in the way of another.
func (s *Service) AllowTrial(ctx context.Context, p api.AllowTrialParams) error {
	return inner.Of(s.rules).Purchases().AllowTrial(ctx, p)
}
