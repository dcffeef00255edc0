package licenses

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Update changes the fields that p sets and appends a license.updated event with the
// changes; see package license.
func (s Service) Update(ctx context.Context, p api.UpdateLicenseParams) (api.License, error) {
	if (p.ID == "") == (p.Match == nil) {
		return api.License{}, api.Invalid("id", api.FieldRequired, "must be set, or product_id and customer_id that name the license, and not both")
	}
	if err := call.InvalidFields(CheckUpdate(p)); err != nil {
		return api.License{}, err
	}
	return s.Edit(ctx, Edit{
		Verb:    "update",
		Event:   api.EventLicenseUpdated,
		Find:    func(r store.Reader) (record.License, error) { return s.target(ctx, r, p) },
		IfMatch: p.IfMatch,
		Apply: func(l api.License, next *record.License, _ time.Time) error {
			fields := ParamsOf(l)
			apply(p, &fields)
			if err := call.InvalidFields(call.Normalize(&fields)); err != nil {
				return err
			}
			if !s.Sees(fields.ProductID) {
				return api.ErrProductForbidden
			}
			WriteFields(fields, next)
			return nil
		},
	})
}

// CheckUpdate checks what does not depend on the license: the fields that p sets,
// in a license of which all other fields are valid.
func CheckUpdate(p api.UpdateLicenseParams) []api.FieldError {
	fields := api.CreateLicenseParams{Name: "-", ProductID: "-", CustomerID: "-"}
	apply(p, &fields)
	broken := call.CheckCreate(&fields)
	if p.Match != nil {
		broken = input.Merge(call.CheckTags(p.Match), broken)
	}
	return broken
}

// target returns the record that p selects.
func (s Service) target(ctx context.Context, r store.Reader, p api.UpdateLicenseParams) (record.License, error) {
	if p.Match != nil {
		return s.match(ctx, r, *p.Match)
	}
	return s.Find(ctx, r, p.ID)
}
