package seats

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// keepEnded is how long ended activations are kept, so that their programs
// can learn why they ended.
const keepEnded = 30 * 24 * time.Hour

// sweep finds a few activations that ended long ago, which a new activation deletes. It
// reads a handful of rows created after a random instant in the license's life (and the
// time before it), so that ended activations are found before they outnumber the
// rest, wherever they lie. An activation that only let its lease end is still in the
// seat count, and leaves it.
func (d *decision) sweep(ctx context.Context, r store.Reader) error {
	age := d.at.Sub(d.license.CreatedAt)
	if age < keepEnded {
		return nil
	}
	instant := d.at.Add(-time.Duration(rand.Int64N(int64(age + age/8))))
	rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: d.license.ID, After: store.NewID("act", instant), Limit: 8})
	if err != nil {
		return err
	}
	for _, row := range rows {
		end := row.EndedAt
		if end.IsZero() {
			end = row.LeaseEndsAt
		}
		if row.ID == d.replaced || end.IsZero() || d.at.Sub(end) < keepEnded {
			continue
		}
		a, err := record.ReadActivation(row)
		if err != nil {
			return err
		}
		if d.at.Sub(a.HeldUntil) < keepEnded {
			continue
		}
		d.swept = append(d.swept, row.ID)
		freed := func(a store.Activation) bool { return a.ID == row.ID }
		if row.EndedAt.IsZero() && !slices.ContainsFunc(d.leases, freed) {
			d.count--
		}
	}
	return nil
}
