package purchasetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Converge reports n random histories in order to a service on the reference store, and
// concurrently to services on the others, which have the same data. It compares what each
// license is then and later. Both stores must be empty of plans.
func Converge(t *testing.T, seed uint64, n int, reference store.Store, others ...store.Store) {
	now := onDay(110)
	r := rand.New(rand.NewPCG(seed, 51))
	all := make([]*license.Service, 0, 1+len(others))
	for i, st := range append([]store.Store{reference}, others...) {
		all = append(all, license.New(st, license.Options{Now: func() time.Time { return now }}))
		for _, p := range plans {
			if p.ProductID = "prod_editor"; i < 2 {
				if _, err := selling.New(all[i]).PutPlan(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for h := range n {
		now = onDay(110)
		sales := randomSales(r, h)
		known, other := tell(t, all[0], sales[0], ""), tell(t, all[1], sales[0], "")
		for _, e := range sales[1:] {
			tell(t, all[0], e, known)
		}
		var work sync.WaitGroup
		for i, service := range all[1:] {
			order := r.Perm(len(sales))
			work.Go(func() {
				for _, j := range order {
					if j%len(others) == i || j%3 == 0 { // some events come to each
						tell(t, service, sales[j], other)
					}
				}
			})
		}
		work.Wait()
		for _, day := range []float64{110, 125, 150, 380, 1000} {
			now = onDay(day)
			want := document(t, all[0], known)
			for _, service := range all[1:] {
				if got := document(t, service, other); got != want {
					t.Fatalf("history %d on day %v:\n%s\nand on the reference store:\n%s\n%+v", h, day, got, want, sales)
				}
			}
		}
	}
}

// randomSales returns events of up to three purchases of one license. The first event
// makes it.
func randomSales(r *rand.Rand, history int) (sales []sale) {
	for n := range 1 + r.IntN(3) {
		reference, day := fmt.Sprint(string(rune('a'+n)), ":", history), float64(r.IntN(60))
		plan := plans[r.IntN(len(plans))].ID
		if n == 0 {
			plan = plans[r.IntN(3)].ID
		}
		sales = append(sales, sold(reference, plan, day))
		for range r.IntN(4) {
			e := said(reference, day+float64(r.IntN(50)), []api.PurchaseState{"active", "paused", "ended", "refunded", ""}[r.IntN(5)])
			switch r.IntN(4) {
			case 0:
				e.Quantity = new(1 + r.Int64N(4))
			case 1:
				e = until(e, day+float64(r.IntN(90)))
			case 2:
				e.PlanID = plans[r.IntN(len(plans))].ID
			}
			sales = append(sales, e)
		}
	}
	return sales
}

// tell reports an event of a purchase of a license, and returns its license.
func tell(t *testing.T, rules *license.Service, e sale, licenseID string) string {
	if e.CustomerID = "cus_ada"; e.Reference[0] != 'a' {
		e.LicenseID = licenseID
	}
	f, err := selling.New(rules).RecordPurchase(t.Context(), e)
	if err != nil {
		t.Error(err)
	}
	return f.LicenseID
}

// document returns a license without what depends on the order of events.
func document(t *testing.T, rules *license.Service, id string) string {
	l, err := rules.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	l.ID, l.Key, l.Revision, l.Generation, l.StatusReason, l.CreatedAt, l.UpdatedAt = "", "", 0, 0, "", time.Time{}, time.Time{}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
