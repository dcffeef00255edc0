package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/purchasetest"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// TestPurchasesConverge delivers the events of purchases in random orders, twice and
// concurrently. Each license ends the same, and one of two customers gets a trial.
func TestPurchasesConverge(t *testing.T) {
	is := is.New(t)
	st := newStore(t, open(t, "pgx", sharedDSN(t)), newSchema(t, open(t, "pgx", sharedDSN(t))))
	rules := license.New(storetest.Twice(st), license.Options{})
	for id, seats := range map[string]int64{"basic": 1, "pro": 5} {
		_, err := selling.New(rules).PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: "atlas", Terms: api.Terms{MaxActivations: &seats}, Duration: api.Duration{Months: 1}})
		is.NoErr(err)
	}
	_, err := selling.New(rules).PutPlan(t.Context(), api.PutPlanParams{ID: "maintained", ProductID: "atlas", UntilEnds: api.UntilEndsUpdates})
	is.NoErr(err)
	day := func(n int) time.Time { return time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC) }
	history := []api.RecordPurchaseParams{
		{At: day(1), CustomerID: "cus_1", PlanID: "basic"},
		{At: day(2), State: api.PurchaseActive, Until: api.To(day(30))},
		{At: day(2), State: api.PurchasePaused, Quantity: new(int64(2))},
		{At: day(2), PlanID: "maintained"},
		{At: day(3), PlanID: "pro"},
		{At: day(4), State: api.PurchaseEnded},
		{At: day(5), State: api.PurchaseActive, Until: api.ToNull[time.Time]()},
	}
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			var each sync.WaitGroup
			for _, i := range append(rand.Perm(len(history)), rand.Perm(len(history))...) {
				e := history[i]
				e.Reference = fmt.Sprint("shop:", n)
				deliver := func() {
					if _, err := selling.New(rules).RecordPurchase(t.Context(), e); err != nil {
						t.Error(err)
					}
				}
				if n%2 == 0 {
					each.Go(deliver)
				} else {
					deliver()
				}
			}
			each.Wait()
		})
	}
	trials := make([]api.Trial, 20)
	for i := range trials {
		wg.Go(func() {
			trials[i], _ = selling.New(rules).StartTrial(t.Context(), api.StartTrialParams{PlanID: "basic", CustomerID: fmt.Sprint("cus_", i%2), Subjects: []string{"mail:common"}})
		})
	}
	wg.Wait()
	for n := range 20 {
		f, err := selling.New(rules).GetPurchase(t.Context(), fmt.Sprint("shop:", n))
		is.NoErr(err)
		l := f.License
		is.Equal([]any{l.PlanID, *l.MaxActivations, *l.ExpiresAt, l.UpdatesUntil, l.Status}, []any{"pro", int64(10), day(4), (*time.Time)(nil), api.LicenseExpired})
	}
	started := 0
	for _, trial := range trials {
		if trial.Started {
			started++
		}
	}
	is.Equal(started, 1)
}

// TestOrdinaryHistories: licenses with several purchases end the same in every order.
func TestOrdinaryHistories(t *testing.T) {
	purchasetest.Run(t, storetest.Twice(newStore(t, open(t, "pgx", sharedDSN(t)), newSchema(t, open(t, "pgx", sharedDSN(t))))), nil)
}

// TestRandomPurchasesOfTwoServices reports random histories of several purchases to two
// processes, concurrently. Each license is then what the memory store has after the events in
// order, which package license compares with a model.
func TestRandomPurchasesOfTwoServices(t *testing.T) {
	one, other := open(t, "pgx", sharedDSN(t)), open(t, "postgres", sharedDSN(t))
	schema := newSchema(t, one)
	purchasetest.Converge(t, 1, 40, memory.New(), newStore(t, one, schema), newStore(t, other, schema))
}
