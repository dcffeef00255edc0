package purchases

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// RecordPurchase records what an event says about a purchase, and creates or changes its license
// accordingly; see package license.
func (s Service) RecordPurchase(ctx context.Context, p api.RecordPurchaseParams) (api.Purchase, error) {
	if err := call.InvalidFields(CheckPurchase(&p, s.Now())); err != nil {
		return api.Purchase{}, err
	}
	return s.inUpdate(ctx, "record purchase "+p.Reference, func(ctx context.Context, r store.Reader) (decision, error) {
		return s.decide(ctx, r, p)
	})
}

// CheckPurchase checks p and normalizes it as stored.
func CheckPurchase(p *api.RecordPurchaseParams, now time.Time) []api.FieldError {
	broken := call.CheckTags(p)
	if !call.IsIdentifier(p.Reference) {
		broken = append(broken, api.FieldError{Field: "reference", Code: api.FieldInvalidFormat, Detail: call.IdentifierRule})
	} else if isTrial(p.Reference) {
		broken = append(broken, api.FieldError{Field: "reference", Code: api.FieldInvalidFormat, Detail: `must not begin with "trial:", which marks a trial`})
	}
	if isOwn(p.Reference) {
		broken = append(broken, ErrOwn)
	}
	if p.At.IsZero() {
		p.At = now
	}
	if p.At = call.ToMillis(p.At); p.At.After(now.Add(24 * time.Hour)) {
		broken = append(broken, errAhead)
	}
	p.Until.Value = call.ToMillis(p.Until.Value)
	if p.Until.Set && !p.Until.Null && !valid.IsInstant(p.Until.Value) {
		broken = append(broken, api.FieldError{Field: "until", Code: api.FieldOutOfRange, Detail: "must be a time between the years 1970 and 9999"})
	}
	values := map[string]string{}
	for name, v := range p.Metadata {
		if values[name] = ""; v != nil {
			values[name] = *v
		}
	}
	_, wrong := call.CheckMetadata(values)
	return append(broken, wrong...)
}

// ErrOwn is the error of a reference that only the service may give a purchase.
var ErrOwn = api.FieldError{Field: "reference", Code: api.FieldInvalidFormat, Detail: `must not begin with "license:", which marks a license that no purchase made`}

var errAhead = api.FieldError{Field: "at", Code: api.FieldOutOfRange, Detail: "must be at most 24 hours ahead"}

// purchaseOf returns the purchase of which nothing but p is known.
func purchaseOf(p api.RecordPurchaseParams) Purchase {
	e := Purchase{Reference: p.Reference, CustomerID: p.CustomerID}
	if p.LicenseID != "" {
		e.LicenseID, e.LicenseAt = p.LicenseID, p.At
	}
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
	if p.Renews != nil {
		say(&e.Renews, *p.Renews, p.At, true)
	}
	say(&e.State, p.State, p.At, p.State == api.PurchaseActive || p.State == api.PurchasePaused)
	for name, v := range p.Metadata {
		if e.Metadata == nil {
			e.Metadata = map[string]Said[*string]{}
		}
		e.Metadata[name] = Said[*string]{v, p.At}
	}
	switch p.State {
	case api.PurchaseActive:
		e.FirstActive = p.At
	case api.PurchaseEnded:
		e.FirstEnded, e.LastEnded = p.At, p.At
	case api.PurchaseRefunded:
		e.FirstRefunded, e.LastRefunded = p.At, p.At
	}
	return e
}

func say[T any](field *Said[T], v T, at time.Time, says bool) {
	if says {
		*field = Said[T]{v, at}
	}
}
