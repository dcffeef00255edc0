package host

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// The values of the sample licenses.
var (
	seedProducts  = []string{"atlas", "atlas-pro", "beacon"}
	seedCustomers = []string{"blue-harbour", "cedar-works", "delta-press", "lantern-labs", "north-quay", "open-meadow", "stone-bridge", "tall-ships"}
	seedPlans     = []string{"Team", "Site", "Trial"}
)

const (
	seedCount = 40
	day       = 24 * time.Hour
)

// isFresh reports whether the store is empty.
func isFresh(ctx context.Context, h *licensing.Handler) (bool, error) {
	page, err := h.Service().List(ctx, license.ListParams{Limit: 1})
	if err != nil {
		return false, err
	}
	clients, err := h.Auth().ListClients(ctx, auth.ListClientsParams{Limit: 1})
	if err != nil {
		return false, err
	}
	return len(page.Data) == 0 && len(clients.Data) == 0, nil
}

// seed creates the first licenses through the same rules that the HTTP side
// uses, all of them in one update.
func seed(ctx context.Context, svc *license.Service) error {
	today := time.Now().UTC().Truncate(day)
	return svc.Atomically(ctx, func(svc *license.Service) error {
		for i := range seedCount {
			if _, err := svc.Create(ctx, seedLicense(i, today)); err != nil {
				return fmt.Errorf("seed license %d: %w", i, err)
			}
		}
		return nil
	})
}

// seedLicense is the i-th license. Most run now; some have ended, some have
// yet to begin, and every fifth has no end.
func seedLicense(i int, today time.Time) license.CreateParams {
	customer := seedCustomers[i%len(seedCustomers)]
	product := seedProducts[i/2%len(seedProducts)]
	plan := seedPlans[i/3%len(seedPlans)]
	starts := today.Add(time.Duration(i*53%400-340) * day)
	p := license.CreateParams{
		Name:         fmt.Sprintf("%s %s %d", product, plan, i+1),
		ProductID:    product,
		CustomerID:   customer,
		StartsAt:     &starts,
		Entitlements: map[string]any{"export": true, "seats": 5 * (1 + i%4)},
		Metadata:     map[string]string{"order": fmt.Sprintf("A-%04d", 1000+i)},
	}
	if i%5 != 0 {
		expires := starts.Add(365 * day)
		if plan == "Trial" {
			expires = starts.Add(30 * day)
		}
		p.ExpiresAt = &expires
	}
	return p
}
