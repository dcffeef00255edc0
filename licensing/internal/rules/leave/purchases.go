package leave

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// givePurchases makes the purchases of a license those of the customer to whom it is
// transferred, and removes what they say of the former one.
func givePurchases(ctx context.Context, tx *call.Tx, d departure) error {
	return movePurchases(ctx, tx, d, func(p *purchases.Purchase) {
		p.Name, p.Reason, p.Metadata = purchases.Said[string]{}, purchases.Said[string]{}, nil
		for id := range p.Former {
			p.Former[id] = false
		}
	})
}

// renamePurchases gives the purchases of a license the corrected ID of their customer.
func renamePurchases(ctx context.Context, tx *call.Tx, d departure) error {
	return movePurchases(ctx, tx, d, func(*purchases.Purchase) {})
}

// movePurchases gives the purchases of a license the ID of its customer.
func movePurchases(ctx context.Context, tx *call.Tx, d departure, change func(*purchases.Purchase)) error {
	all, err := purchases.OfLicense(ctx, tx, d.from.ID)
	for _, before := range all {
		p := before
		if !p.IsOwn() {
			p = withCustomer(before, d.to.CustomerID)
		}
		if change(&p); err == nil {
			_, err = purchases.PutPurchase(ctx, tx, before, p)
		}
	}
	return err
}

// withCustomer returns a purchase with another ID of its customer.
func withCustomer(p purchases.Purchase, id string) purchases.Purchase {
	former := maps.Clone(p.Former)
	if former == nil {
		former = map[string]bool{}
	}
	former[call.Digest(p.CustomerID)] = true
	delete(former, call.Digest(id))
	p.CustomerID, p.Former = id, former
	return p
}

// bindTrial binds the corrected ID of a customer to the trial to which the ID before is
// bound, unless it has one of its own.
func bindTrial(ctx context.Context, tx *call.Tx, d departure) error {
	reference := purchases.TrialPrefix + d.from.ID
	trial, ok, err := purchases.ReadPurchase(ctx, tx, reference, tx.Now)
	if err != nil || !ok || len(trial.Subjects) == 0 {
		return err
	}
	bound, err := tx.Entries(ctx, store.EntryQuery{Kind: purchases.TrialKind, Keys: trial.Subjects})
	if err != nil {
		return err
	}
	product := trialProduct(trial, d.from)
	key := purchases.TrialKey("customer", product, d.to.CustomerID)
	was := purchases.TrialKey("customer", product, d.from.CustomerID)
	if !slices.ContainsFunc(bound, func(e store.Entry) bool { return e.Key == was && string(e.Data) == d.from.ID }) {
		return nil
	}
	own, err := tx.Entries(ctx, store.EntryQuery{Kind: purchases.TrialKind, Keys: []string{key}})
	if err != nil || len(own) > 0 {
		return err
	}
	before := trial
	trial.Subjects = append(slices.Clone(trial.Subjects), key)
	if _, err := purchases.PutPurchase(ctx, tx, before, trial); err != nil {
		return err
	}
	return purchases.PutTrial(ctx, tx, d.from.ID, []string{key})
}

// trialProduct returns the product for which the subjects of a trial are bound.
func trialProduct(trial purchases.Purchase, l record.License) string {
	if product := trial.ProductID(); product != "" {
		return product
	}
	return l.ProductID // it was imported without a plan
}

// blankPurchases blanks a batch of the purchases of a customer. What is left of one is
// that its reference was used. The entry of a reference may be that of another
// customer, who used it after the purchase had expired: that one stays.
func (e *erasure) blankPurchases(ctx context.Context, tx *call.Tx) error {
	prefix := call.Digest(e.customerID) + "/"
	links, err := tx.Entries(ctx, store.EntryQuery{Kind: purchases.PurchaseOfCustomerKind, From: prefix, Before: store.PrefixEnd(prefix), Limit: eraseBatch})
	if err != nil || len(links) == 0 {
		return err
	}
	e.more = true
	all, err := purchases.LinkedPurchases(ctx, tx, links)
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.CustomerID != e.customerID {
			continue
		}
		e.step.Purchases++
		blank := purchases.Purchase{Reference: p.Reference, Granted: true, Erased: true, Product: p.ProductID(), Subjects: p.Subjects}
		if _, err := purchases.PutPurchase(ctx, tx, p, blank); err != nil {
			return err
		}
	}
	return entries.Drop(ctx, tx, links, nil)
}
