package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The kinds of tallies kept beside the licences, in the same Update as every
// change. Days are in UTC, in the form of [TallyDay].
const (
	TallyState    = "license.state"    // by stored state: "active", "suspended", "revoked"
	TallyProduct  = "license.product"  // by product id
	TallyCustomer = "license.customer" // by customer id
	TallyCreated  = "license.created"  // by day of creation; deleted licences do not count
	TallyExpires  = "license.expires"  // by day of ExpiresAt
)

// TallyDay is the layout of a day in the name of a tally.
const TallyDay = time.DateOnly

// tallyNames returns what l counts towards, by kind; an empty name: nothing.
func tallyNames(l store.License) [5][2]string {
	expires := ""
	if !l.ExpiresAt.IsZero() {
		expires = l.ExpiresAt.Format(TallyDay)
	}
	return [5][2]string{
		{TallyState, string(l.State)},
		{TallyProduct, l.ProductID},
		{TallyCustomer, l.CustomerID},
		{TallyCreated, l.CreatedAt.Format(TallyDay)},
		{TallyExpires, expires},
	}
}

// tally counts a licence that was before and is after a change; the zero
// record stands for none.
func (tx *transaction) tally(ctx context.Context, before, after store.License) error {
	was, is := tallyNames(before), tallyNames(after)
	for i := range is {
		if before.ID != "" && after.ID != "" && was[i] == is[i] {
			continue
		}
		if before.ID != "" && was[i][1] != "" {
			if err := tx.AddTally(ctx, was[i][0], was[i][1], -1); err != nil {
				return err
			}
		}
		if after.ID != "" && is[i][1] != "" {
			if err := tx.AddTally(ctx, is[i][0], is[i][1], +1); err != nil {
				return err
			}
		}
	}
	return nil
}
