package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Update changes the fields that p sets and appends a license.updated event
// with the changes. If nothing changes, it writes nothing and keeps the
// revision. When LeaseSeconds is set or shortened, activations that are not
// renewed end within a day plus the new lease; the leases of many activations are
// shortened in batches after the change, and by Run if that is interrupted. Another
// CustomerID is a correction: the same customer keeps everything, the purchases of the
// license get the ID, and so does its trial, unless the ID has one. To give the license
// to another customer, use [Service.Transfer]. It returns [api.ErrNotFound], an
// [*api.AmbiguousError], a [*api.StaleError], an [*api.InvalidError] or, if the license would move
// to a product outside the caller's limit, [api.ErrProductForbidden].
func (s *Service) Update(ctx context.Context, p api.UpdateLicenseParams) (api.License, error) {
	if (p.ID == "") == (p.Match == nil) {
		return api.License{}, api.Invalid("id", api.FieldRequired, "identify the license by its id, or by product_id and customer_id")
	}
	if err := invalidFields(checkUpdate(p)); err != nil {
		return api.License{}, err
	}
	return s.edit(ctx, edit{
		verb:    "update",
		event:   api.EventLicenseUpdated,
		find:    func(r store.Reader) (record.License, error) { return s.target(ctx, r, p) },
		ifMatch: p.IfMatch,
		apply: func(l api.License, next *record.License, _ time.Time) error {
			fields := paramsOf(l)
			apply(p, &fields)
			if err := invalidFields(normalize(&fields)); err != nil {
				return err
			}
			if !s.sees(fields.ProductID) {
				return api.ErrProductForbidden
			}
			writeFields(fields, next)
			return nil
		},
	})
}

// checkUpdate checks what does not depend on the license: the fields that p sets,
// in a license of which all other fields are valid.
func checkUpdate(p api.UpdateLicenseParams) []api.FieldError {
	fields := api.CreateLicenseParams{Name: "-", ProductID: "-", CustomerID: "-"}
	apply(p, &fields)
	broken := checkCreate(&fields)
	if p.Match != nil {
		broken = input.Merge(checkTags(p.Match), broken)
	}
	return broken
}

// target returns the record that p selects.
func (s *Service) target(ctx context.Context, r store.Reader, p api.UpdateLicenseParams) (record.License, error) {
	if p.Match != nil {
		return s.match(ctx, r, *p.Match)
	}
	return s.find(ctx, r, p.ID)
}
