package find

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// planCountTime is how long counting the licenses of plans takes at most. No index
// has the plan, so all licenses are read: about 100,000 in a second.
const planCountTime = time.Second

// planCounts are numbers of licenses, by the ID of the plan that they have.
type planCounts struct {
	ByPlan  map[string]int64
	Named   map[string]int64 // those whose plan no purchase has given them
	AtLeast bool             // there can be more, because counting took too long
}

// CountPlans counts the licenses of each plan. The counts are exact unless AtLeast is
// set, and are kept as those of [Service.Count].
func (s Service) CountPlans(ctx context.Context) (planCounts, error) {
	key := fmt.Sprintf("plans %t %q", s.Caller.Products == nil, s.OnlyProducts())
	c, err := kept(ctx, s, key, s.Kept.reading, func() (planCounts, error) { return s.countPlans(ctx) })
	if err != nil {
		return planCounts{}, fmt.Errorf("count licenses of plans: %w", err)
	}
	return c, nil
}

func (s Service) countPlans(ctx context.Context) (planCounts, error) {
	c := planCounts{ByPlan: map[string]int64{}, Named: map[string]int64{}}
	q := store.LicenseQuery{Limit: store.MaxLimit}
	for began := time.Now(); ; {
		rows, next, err := s.Reader().FindLicenses(ctx, q)
		if err != nil {
			return c, err
		}
		for _, row := range rows {
			rec, err := record.ReadLicense(row)
			if err != nil {
				return c, err
			}
			if rec.PlanID != "" && s.Sees(rec.ProductID) {
				c.ByPlan[rec.PlanID]++
				var hand terms.Hand
				if err := call.Decode(rec.Hand, &hand); err != nil {
					return c, fmt.Errorf("license %s: %w", rec.ID, err)
				}
				if !rec.Bought || rec.Reference == "" || hand.PlanID != nil {
					c.Named[rec.PlanID]++
				}
			}
		}
		if c.AtLeast = !next.IsZero() && time.Since(began) >= planCountTime; next.IsZero() || c.AtLeast {
			return c, nil
		}
		q.After = next
	}
}
