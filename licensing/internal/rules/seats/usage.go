package seats

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/store"
)

// MayUse returns the verdict on a program that uses units of the meters of a license, for a
// product unless that is empty. Nil: there is no license. A verdict that is valid has no
// more than its code, so that a report decodes nothing of the license but the meters.
func (s Service) MayUse(l *record.License, productID string, at time.Time) (api.Verdict, error) {
	f, q := s.facts(at), question{productID: productID}
	if f.found = l != nil; f.found {
		f.license = *l
		if v := verdictAt(q, f, at); v.Valid {
			return v, nil
		}
	}
	return evaluate(q, f)
}

// reserve counts a new activation of a license that has a meter for that, or returns a
// [*api.DeniedError]. It writes nothing: see [meters.Service.Put].
func (s Service) reserve(ctx context.Context, r store.Reader, f facts) (*meters.Ledger, error) {
	units, refused, err := meters.Reserve(ctx, r, f.license, f.at, api.MeterActivations)
	if err == nil && refused != nil {
		var denied *api.DeniedError
		if denied, err = meters.Of(s.Call).Denied(f.license, *refused, f.at); err == nil {
			err = denied
		}
	}
	return units, err
}
