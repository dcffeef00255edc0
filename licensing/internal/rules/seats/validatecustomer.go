package seats

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// customerBatch is how many licenses ValidateCustomer reads in each part of
// its search.
const customerBatch = store.MaxLimit

// ValidateCustomer reports whether a customer has a license that is valid now, without a
// license key or an activation; see package license.
func (s Service) ValidateCustomer(ctx context.Context, p api.ValidateCustomerParams) (api.Verdict, error) {
	if err := call.Check(p); err != nil {
		return api.Verdict{}, err
	}
	none := deny(api.Reason{Code: api.VerdictNotFound, Detail: "The customer has no matching license."})
	none.RecheckAfter = call.Seconds(s.Opts.RecheckAfter)
	q := question{entitlements: p.Entitlements}
	return call.View(ctx, s.Call, "validate customer", func(r store.Reader) (v api.Verdict, err error) {
		v = none
		now := s.Now()
		page := store.LicenseQuery{CustomerID: p.CustomerID, ProductID: p.ProductID, Descending: true, Limit: valid.DefaultLimit}
		newest := true
		look := func() (rows []store.License, err error) {
			if rows, err = r.Licenses(ctx, page); err != nil {
				return nil, err
			}
			for _, row := range rows {
				if !s.Sees(row.ProductID) {
					continue
				}
				rec, err := licenses.Read(row, now)
				if err != nil {
					return nil, err
				}
				found, err := evaluate(q, facts{at: now, license: rec, found: true, recheck: s.Opts.RecheckAfter})
				if err != nil {
					return nil, err
				}
				if newest || found.Valid {
					v, newest = found, false
				}
				if v.Valid {
					break
				}
			}
			return rows, nil
		}
		rows, err := look()
		if err != nil || v.Valid || len(rows) < page.Limit {
			return v, err
		}
		page.After.ID, page.State, page.Limit = rows[len(rows)-1].ID, store.StateActive, customerBatch
		for _, page.Expires = range []store.TimeRange{
			{From: now.Add(time.Millisecond), OrNone: true},
			{Before: now.Add(time.Millisecond)}, // may be in grace
		} {
			if _, err := look(); err != nil || v.Valid {
				return v, err
			}
		}
		return v, nil
	})
}
