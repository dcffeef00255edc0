package purchases

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ImportReference returns the purchase that waits with the reference of a row, if
// there is one, or an [*api.InvalidError] if the row cannot have the reference.
func (s Service) ImportReference(ctx context.Context, r store.Reader, row api.LicenseRow) (waits Purchase, err error) {
	if row.Reference == "" {
		return Purchase{}, nil
	}
	p, ok, err := ReadPurchase(ctx, r, row.Reference, s.Now())
	if err == nil && ok && (p.Granted || s.Caller.Products != nil || differ(p.CustomerID, row.CustomerID) || differ(p.LicenseID, row.ID)) {
		err = api.Invalid("reference", api.FieldTaken, "is that of another purchase")
	}
	return p, err
}

// ImportPurchase makes an imported license that of a purchase, which has events if
// it has waited for the license. A row says nothing about the purchase itself: the
// license keeps its terms until the next event.
func (s Service) ImportPurchase(ctx context.Context, tx *call.Tx, row api.LicenseRow, rec record.License, waits Purchase) error {
	if row.Reference == "" {
		return nil
	}
	p := Purchase{Reference: row.Reference, CustomerID: row.CustomerID, LicenseID: rec.ID, Granted: true}
	if isTrial(p.Reference) {
		p.Subjects = []string{TrialKey("customer", rec.ProductID, row.CustomerID)}
		if err := PutTrial(ctx, tx, rec.ID, p.Subjects); err != nil {
			return err
		}
	}
	p, err := PutPurchase(ctx, tx, Purchase{}, p)
	if err != nil || waits.Reference == "" {
		return err
	}
	d, err := s.decideChange(ctx, tx, decision{before: p, after: p.merge(waits)}, waits.Plan)
	if err != nil {
		return err
	}
	_, err = s.carryOut(ctx, tx, d)
	return err
}
