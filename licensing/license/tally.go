package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The kinds of tallies kept beside the licenses, in the same Update as every
// change. Days are in UTC, in the form of [TallyDay], instants in that of
// [TallyInstant].
const (
	TallyState    = "license.state"    // by stored state: "active", "suspended", "revoked"
	TallyProduct  = "license.product"  // by product id
	TallyCustomer = "license.customer" // by customer id
	TallyCreated  = "license.created"  // by day of creation; deleted licenses do not count

	// These count licenses that are neither suspended nor revoked: what the
	// clock will make of them, or has made.
	TallyStarts    = "license.starts"     // by day of StartsAt
	TallyStartsAt  = "license.starts_at"  // by StartsAt itself
	TallyExpires   = "license.expires"    // by day of ExpiresAt
	TallyExpiresAt = "license.expires_at" // by ExpiresAt itself
)

// The layouts of the names of tallies by time, in the order of time.
const (
	TallyDay     = time.DateOnly
	TallyInstant = "2006-01-02T15:04:05.000Z"
)

// tallyNames returns what l counts towards, by kind; an empty name: nothing.
func tallyNames(l store.License) [8][2]string {
	at := func(t time.Time, layout string) string {
		if t.IsZero() || l.State != store.StateActive {
			return ""
		}
		return t.Format(layout)
	}
	return [8][2]string{
		{TallyState, string(l.State)},
		{TallyProduct, l.ProductID},
		{TallyCustomer, l.CustomerID},
		{TallyCreated, l.CreatedAt.Format(TallyDay)},
		{TallyStarts, at(l.StartsAt, TallyDay)},
		{TallyStartsAt, at(l.StartsAt, TallyInstant)},
		{TallyExpires, at(l.ExpiresAt, TallyDay)},
		{TallyExpiresAt, at(l.ExpiresAt, TallyInstant)},
	}
}

// tally counts a license that was before and is after a change; the zero
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
