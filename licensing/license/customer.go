package license

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ValidateCustomerParams are what a host asks about a customer whom it knows,
// such as the one who is signed in.
type ValidateCustomerParams struct {
	CustomerID   string   `json:"customer_id" validate:"text"`
	ProductID    string   `json:"product_id" validate:"omitempty,text"`      // empty: any product
	Entitlements []string `json:"entitlements" validate:"max=100,dive,text"` // one licence must have each
}

// ValidateCustomer says whether a customer has a licence that is valid now,
// without its key and without a seat. The verdict is that on the newest such
// licence; if there is none, that on the newest of all, and if the customer has
// no licence of the product, [VerdictNotFound]. It writes nothing. The error is
// an [*InvalidError] or one of the store.
func (s *Service) ValidateCustomer(ctx context.Context, p ValidateCustomerParams) (Verdict, error) {
	if err := check(p); err != nil {
		return Verdict{}, err
	}
	none := deny(Reason{VerdictNotFound, "The customer has no such licence."})
	none.RecheckAfter = seconds(recheckInvalid)
	q := question{entitlements: p.Entitlements}
	var v Verdict
	err := s.view(ctx, func(r store.Reader) error {
		v = none
		now := s.now()
		page := store.LicenseQuery{CustomerID: p.CustomerID, ProductID: p.ProductID, Descending: true, Limit: defaultLimit}
		for newest := true; ; {
			rows, err := r.Licenses(ctx, page)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if !s.sees(row.ProductID) {
					continue
				}
				found, err := judge(q, finding{at: now, license: row, found: true})
				if err != nil {
					return err
				}
				if newest || found.Valid {
					v, newest = found, false
				}
				if v.Valid {
					return nil
				}
			}
			if len(rows) < page.Limit {
				return nil
			}
			page.After.ID = rows[len(rows)-1].ID
		}
	})
	if err != nil {
		return Verdict{}, fmt.Errorf("validate customer: %w", err)
	}
	return v, nil
}
