package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Fulfill records what an event says about a purchase, and creates or changes its
// license accordingly. The same events lead to the same license in any order,
// however often they arrive and however many calls run concurrently: of each
// field, what the event with the latest At says counts. So the same call serves
// webhooks, the page after a payment, and a nightly synchronization.
//
// The license is created once the plan, the customer and one active event are
// known; before that, the purchase waits, for up to 90 days after its last event. An
// unknown plan is no error. Later events change only the fields of the license for
// which the purchase changed: seats and dates that were set by hand stay until its
// quantity, plan or end changes, and only a suspension that a purchase made is
// ended by one. Nothing changes a license that is revoked or deleted.
//
// After a correction of the customer ID, events may name the ID before. After a
// transfer, an event that names the former customer, or none, still counts for plan,
// quantity, end and state. What it says of a person is dropped, and the result is
// FulfillTransferred, without a license. If a license is transferred while a purchase
// waits for it, the purchase gets a license of its own once it can be fulfilled.
//
// If the license changed, Fulfill appends a license.created, license.renewed,
// license.suspended, license.reinstated or license.updated event. It returns an
// [*api.InvalidError], or [api.ErrReferenceTaken] if the purchase, or the license of
// LicenseID, is one of another customer or if LicenseID is not the license of the
// purchase. A caller limited to products must set PlanID in each call and gets
// [api.ErrProductForbidden] for other plans. Options.BeforeCreate runs as for Create.
func (s *Service) Fulfill(ctx context.Context, p api.FulfillParams) (api.Fulfillment, error) {
	if err := invalidFields(checkFulfill(&p, s.now())); err != nil {
		return api.Fulfillment{}, err
	}
	return s.fulfill(ctx, "fulfill "+p.Reference, func(ctx context.Context, r store.Reader) (decision, error) {
		return s.decide(ctx, r, p)
	})
}

// checkFulfill checks p and normalizes it as stored.
func checkFulfill(p *api.FulfillParams, now time.Time) []api.FieldError {
	broken := checkTags(p)
	if !isIdentifier(p.Reference) {
		broken = append(broken, api.FieldError{Field: "reference", Code: api.FieldInvalidFormat, Detail: identifierRule})
	} else if isTrial(p.Reference) {
		broken = append(broken, api.FieldError{Field: "reference", Code: api.FieldInvalidFormat, Detail: `must not begin with "trial:", which marks a trial`})
	}
	if p.At.IsZero() {
		p.At = now
	}
	if p.At = toMillis(p.At); p.At.After(now.Add(24 * time.Hour)) {
		broken = append(broken, errAhead)
	}
	p.Until.Value = toMillis(p.Until.Value)
	if p.Until.Set && !p.Until.Null && !valid.IsInstant(p.Until.Value) {
		broken = append(broken, api.FieldError{Field: "until", Code: api.FieldOutOfRange, Detail: "must be a time between the years 1970 and 9999"})
	}
	values := map[string]string{}
	for name, v := range p.Metadata {
		if values[name] = ""; v != nil {
			values[name] = *v
		}
	}
	_, wrong := checkMetadata(values)
	return append(broken, wrong...)
}

var errAhead = api.FieldError{Field: "at", Code: api.FieldOutOfRange, Detail: "must be at most 24 hours ahead"}

// purchaseOf returns the purchase of which nothing but p is known.
func purchaseOf(p api.FulfillParams) purchase {
	e := purchase{Reference: p.Reference, CustomerID: p.CustomerID, LicenseID: p.LicenseID}
	say(&e.Plan, p.PlanID, p.At, p.PlanID != "")
	say(&e.Name, p.Name, p.At, p.Name != "")
	say(&e.Reason, p.Reason, p.At, p.Reason != "")
	if p.Quantity != nil {
		say(&e.Quantity, *p.Quantity, p.At, true)
	}
	end := p.Until.Value
	if p.Until.Null {
		end = time.Time{}
	}
	say(&e.Until, end, p.At, p.Until.Set)
	say(&e.State, p.State, p.At, p.State == api.PurchaseActive || p.State == api.PurchasePaused)
	for name, v := range p.Metadata {
		if e.Metadata == nil {
			e.Metadata = map[string]said[*string]{}
		}
		e.Metadata[name] = said[*string]{v, p.At}
	}
	switch p.State {
	case api.PurchaseActive:
		e.FirstActive = p.At
	case api.PurchaseEnded:
		e.FirstEnded, e.LastEnded = p.At, p.At
	}
	return e
}

func say[T any](field *said[T], v T, at time.Time, says bool) {
	if says {
		*field = said[T]{v, at}
	}
}
