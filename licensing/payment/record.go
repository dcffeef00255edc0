package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// RecordItems records the items of an order or a subscription, and returns their
// licenses. An add-on gets the license of the first base of its product.
func RecordItems(ctx context.Context, sales *selling.Service, items ...api.RecordPurchaseParams) (all []*api.License, err error) {
	addOns := map[string][]api.RecordPurchaseParams{} // that wait for a license, by product
	for _, p := range items {
		if p.Quantity != nil && *p.Quantity == 0 {
			p.Quantity = nil // of a price that is billed by usage
		}
		f, err := sales.RecordPurchase(ctx, p)
		if err != nil {
			return nil, err
		}
		if f.Waiting == api.WaitingLicenseID {
			addOns[f.ProductID] = append(addOns[f.ProductID], p)
		} else if f.License != nil && !slices.ContainsFunc(all, func(l *api.License) bool { return l.ID == f.License.ID }) {
			all = append(all, f.License)
		}
	}
	for _, l := range all {
		for _, p := range addOns[l.ProductID] {
			p.LicenseID = l.ID
			if _, err := sales.RecordPurchase(ctx, p); err != nil {
				return nil, err
			}
		}
		delete(addOns, l.ProductID)
	}
	return all, nil
}

// RecordKeys gives each unit of a purchase a license of its own. The licenses of units
// that are not bought any more are suspended until they are bought again. A customer ID of
// Options.ClaimFrom is an [*api.InvalidError]: the purchases would say of the buyer what the
// customers who claim the licenses may read. Create those with CreateBatch of package license.
func RecordKeys(ctx context.Context, sales *selling.Service, p api.RecordPurchaseParams) error {
	if inner.Of(sales).Claimable(p.CustomerID) {
		return api.Invalid("customer_id", api.FieldInvalidFormat, "is one of Options.ClaimFrom; create the licenses with CreateBatch, without a purchase")
	}
	reference, quantity := p.Reference, *p.Quantity
	p.Quantity = nil
	for n := int64(1); ; n++ {
		p.Reference = fmt.Sprintf("%s:%d", reference, n)
		if n > quantity {
			if _, err := sales.GetPurchase(ctx, p.Reference); errors.Is(err, api.ErrNotFound) {
				return nil
			} else if err != nil {
				return err
			}
			if p.State == api.PurchaseActive {
				p.State = api.PurchasePaused
			}
		}
		if _, err := sales.RecordPurchase(ctx, p); err != nil {
			return err
		}
	}
}
