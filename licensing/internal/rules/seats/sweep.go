package seats

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// keepEnded is how long ended activations are kept, so that their programs
// can learn why they ended.
const keepEnded = 30 * 24 * time.Hour

// sweep deletes a few activations that ended long ago. It reads a handful of
// rows created after a random instant in the license's life (and the time
// before it), so that ended activations are found before they outnumber the
// rest, wherever they lie. It returns how many of the deleted activations
// had only let their lease end, and so are still in the seat count.
func sweep(ctx context.Context, tx *call.Tx, l record.License) (counted int, err error) {
	age := tx.Now.Sub(l.CreatedAt)
	if age < keepEnded {
		return 0, nil
	}
	instant := tx.Now.Add(-time.Duration(rand.Int64N(int64(age + age/8))))
	rows, err := tx.Activations(ctx, store.ActivationQuery{LicenseID: l.ID, After: store.NewID("act", instant), Limit: 8})
	if err != nil {
		return 0, err
	}
	var old []string
	for _, row := range rows {
		end := row.EndedAt
		if end.IsZero() {
			end = row.LeaseEndsAt
		}
		if end.IsZero() || tx.Now.Sub(end) < keepEnded {
			continue
		}
		a, err := record.ReadActivation(row)
		if err != nil {
			return 0, err
		}
		if tx.Now.Sub(a.HeldUntil) < keepEnded {
			continue
		}
		old = append(old, row.ID)
		if row.EndedAt.IsZero() {
			counted++
		}
	}
	return counted, tx.DeleteActivations(ctx, l.ID, old...)
}
