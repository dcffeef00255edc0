package terms_test

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// sold are the plans of the purchases that TestConcurrentPurchases reports.
var sold = map[string]api.PutPlanParams{
	"a": {Duration: api.Duration{Seconds: 1500}, Terms: api.Terms{GraceSeconds: 60, MaxActivations: counts(5), Entitlements: map[string]any{"export": true}}},
	"b": {Kind: api.PlanAddOn, Duration: api.Duration{Seconds: 1100}, Terms: api.Terms{MaxActivations: counts(2), Entitlements: map[string]any{"projects": 3}}},
	"c": {Line: "plan-a", Duration: api.Duration{Seconds: 500}, Terms: api.Terms{MaxActivations: counts(4), LeaseSeconds: counts(60)}},
	"d": {Kind: api.PlanAddOn, Terms: api.Terms{MaxActivations: counts(0), Entitlements: map[string]any{"sso": true, "projects": 1}}},
	"e": {Kind: api.PlanAddOn, Line: "pack", Duration: api.Duration{Seconds: 950}, Terms: api.Terms{Meters: map[string]api.Meter{"calls": {Limit: counts(100)}}}},
	"f": {Kind: api.PlanAddOn, Line: "pack", Duration: api.Duration{Seconds: 400}, Terms: api.Terms{Meters: map[string]api.Meter{"calls": {Limit: counts(50)}}}},
	"g": {Duration: api.Duration{Seconds: 1200}, Terms: api.Terms{MaxActivations: counts(1), Meters: map[string]api.Meter{"calls": {Limit: counts(10)}}}},
	"h": {UntilEnds: api.UntilEndsUpdates, Duration: api.Duration{Seconds: 1300}, Terms: api.Terms{MaxActivations: counts(3), Entitlements: map[string]any{"projects": 9}}},
}

// TestConcurrentPurchases: eight callers report 100 events each, of eight purchases of one
// license. It becomes what the model makes of them, then and later.
func TestConcurrentPurchases(t *testing.T) {
	for name, open := range map[string]func() store.Store{
		"memory": func() store.Store { return memory.New() },
		"sqlite": func() store.Store {
			st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
			is.New(t).NoErr(err)
			t.Cleanup(func() { st.Close() })
			return st
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			const events, now = 800, 900
			st := open()
			sell := selling.New(license.New(st, license.Options{Now: func() time.Time { return sec(now) }}))
			plans := plansOf{}
			for reference, p := range sold {
				p.ID, p.ProductID = "plan-"+reference, "app"
				plan, err := sell.PutPlan(t.Context(), p)
				is.NoErr(err)
				plans[reference] = plan
			}
			all := []said{{reference: "a", at: 1, state: "active"}}
			r := rand.New(rand.NewPCG(50, 8))
			ended := map[string]bool{"a": true, "h": true} // so that the license stays valid
			for at := range events {
				e := said{reference: pick(r, "a", "b", "c", "d", "e", "f", "g", "h"), at: at + 2, state: pick(r, "", "active", "active", "paused")}
				if e.reference == "a" && e.state == "paused" {
					e.state = "active"
				}
				if at > events*3/4 && r.IntN(100) == 0 && !ended[e.reference] {
					ended[e.reference], e.state = true, pick(r, "ended", "refunded")
				}
				if r.IntN(6) == 0 {
					e.quantity = 1 + r.Int64N(4)
				}
				if e.reference != "a" && r.IntN(30) == 0 {
					e.until = now + r.IntN(900)
				}
				all = append(all, e)
			}
			id := ""
			tell := func(e said) error {
				p := api.RecordPurchaseParams{Reference: e.reference, At: sec(e.at), CustomerID: "cus_1", PlanID: "plan-" + e.reference, State: api.PurchaseState(e.state)}
				if e.quantity > 0 {
					p.Quantity = &e.quantity
				}
				if e.until > 0 {
					p.Until = api.To(sec(e.until))
				}
				if e.reference != "a" {
					p.LicenseID = id
				}
				f, err := sell.RecordPurchase(t.Context(), p)
				if id == "" {
					id = f.LicenseID
				}
				return err
			}
			is.NoErr(tell(all[0]))
			order := r.Perm(events)
			var callers sync.WaitGroup
			for n := range 8 {
				callers.Go(func() {
					for _, i := range order[n*events/8 : (n+1)*events/8] {
						if err := tell(all[i+1]); err != nil {
							t.Error(err)
						}
					}
				})
			}
			callers.Wait()
			row, err := st.License(t.Context(), id)
			is.NoErr(err)
			rec, err := licenses.Read(row, sec(now))
			is.NoErr(err)
			state, err := licenses.StateOf(rec)
			is.NoErr(err)
			is.Equal(state.Name, "cus_1")
			state.Name = ""
			purchases := plans.purchasesOf(all)
			is.Equal(len(purchases), 8)
			for i := range purchases {
				purchases[i].Made = purchases[i].Reference == "a"
			}
			if err := compareLater(state, modelOf(purchases, "app"), now, now+2000); err != nil {
				t.Error(err)
			}
			is.True(len(state.Changes) > 2)
		})
	}
}
