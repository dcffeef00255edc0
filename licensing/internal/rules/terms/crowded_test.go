package terms_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

func TestLicensesWithMorePurchasesThanMayCount(t *testing.T) {
	for seed := range numSeeds(6) {
		r := rand.New(rand.NewPCG(4, uint64(seed)))
		var set []terms.Purchase
		for i := range pick(r, 104, 130, 504) {
			p := terms.Purchase{Reference: fmt.Sprintf("p%03d", i), FirstActive: sec(1 + r.IntN(8)), Quantity: 1}
			p.Plan = api.Plan{ID: pick(r, "pro", "plus"), ProductID: "app", Kind: pick(r, api.PlanBase, api.PlanAddOn, api.PlanAddOn), Duration: api.Duration{Seconds: pick(r, 0, 3, 5, 9)}}
			if p.UntilSaid = r.IntN(3) > 0; p.UntilSaid {
				p.Until = sec(pick(r, -1, 12, 15, 15, 20))
			}
			p.Plan.MaxActivations = counts(int64(1 + r.IntN(4)))
			p.Plan.Entitlements = map[string]any{fmt.Sprintf("e%03d", r.IntN(120)): 1.0, "n": 2.0}
			p.Plan.Meters = map[string]api.Meter{"calls": {Limit: counts(3)}, fmt.Sprintf("m%02d", r.IntN(25)): {Limit: counts(5), Per: pick(r, "", api.PerDay)}}
			set = append(set, p)
		}
		bought := len(set)
		if seed%2 == 0 {
			set = append(set, randomOwn(r)) // it takes no place
		}
		g, m := terms.GrantOf(set, "app"), modelOf(set, "app")
		s := terms.State{Terms: terms.Terms{ProductID: "app"}}.Follow(nil, set, sec(9))
		for now := 9; now < 24; now++ {
			is, _ := g.At(sec(now))
			want := m.at(sec(now).UnixMilli())
			if wrong := differ(sheetOf(is), want); wrong != "" {
				t.Fatalf("seed %d, %d purchases, at %d: %s", seed, len(set), now, wrong)
			}
			then, _ := s.Pass(sec(now))
			if wrong := differ(sheetOf(then.Terms), want); wrong != "" {
				t.Fatalf("seed %d, %d purchases, passed to %d: %s", seed, len(set), now, wrong)
			}
			c, waits := m.castAt(sec(now).UnixMilli()), 0
			for _, b := range m.all {
				if g.Standing(b.p.Reference, sec(now)).Waiting == api.WaitingLicenseFull {
					waits++
				}
			}
			if want := len(c.full) + max(0, bought-500); waits != want {
				t.Fatalf("seed %d, at %d: %d wait, want %d", seed, now, waits, want)
			}
		}
	}
}
