package license_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestMorePurchasesThanOnePage: a license keeps what it has, however many purchases wait
// because it has too many.
//
// Fault: the purchase with number 1,002 takes its base, which is not among the first 1,000,
// from the license.
func TestMorePurchasesThanOnePage(t *testing.T) {
	is := is.New(t)
	s := newSeller(t, memory.New())
	credits := api.Terms{Meters: map[string]api.Meter{"credits": {Limit: ptr[int64](10)}}}
	_, err := selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "pack", ProductID: "prod_editor", Kind: api.PlanAddOn, Terms: credits})
	is.NoErr(err)
	base := "shop:0"
	for i := 1; !strings.HasPrefix(call.Digest(base), "fff"); i++ { // the last in order
		base = fmt.Sprint("shop:", i)
	}
	l := s.tell(t, base, event{At: onDay(0), CustomerID: "cus_ada", PlanID: "forever", State: "active"}).License
	pack := func(reference string, day float64) api.Purchase {
		return s.tell(t, reference, event{At: onDay(day), CustomerID: "cus_ada", PlanID: "pack", LicenseID: l.ID, State: "active"})
	}
	pack("pack:0", 1)
	var row api.LicenseRow
	is.NoErr(json.Unmarshal([]byte(s.rows(t)), &row))
	text := func(v any) string {
		b, err := json.Marshal(v)
		is.NoErr(err)
		return string(b)
	}
	for i, p := range row.Purchases {
		if strings.Contains(text(p), "pack:0") {
			row.Purchases[0], row.Purchases[i] = row.Purchases[i], row.Purchases[0]
		}
	}
	for i := range 998 {
		var p map[string]any
		is.NoErr(json.Unmarshal([]byte(strings.ReplaceAll(text(row.Purchases[0]), "pack:0", fmt.Sprint("pack:", i+1))), &p))
		row.Purchases = append(row.Purchases, p)
	}

	s = newSeller(t, memory.New())
	_, err = selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "pack", ProductID: "prod_editor", Kind: api.PlanAddOn, Terms: credits})
	is.NoErr(err)
	is.Equal(importAll(t, s.Service, text(row))[0].Result, api.ImportCreated)
	has := s.mustGet(t, l.ID)
	is.Equal(*has.Meters["credits"].Limit, int64(990)) // of 99 packs: 100 purchases count
	for i := range 3 {
		f := pack(fmt.Sprint("late:", i), 2)
		is.Equal(f.Waiting, api.WaitingLicenseFull)
		is.Equal(*f.License, has)
	}
	is.NoErr(json.Unmarshal([]byte(s.rows(t)), &row))
	is.Equal(len(row.Purchases), 1003)
}

// TestPurchasesPastTheYear9999: what ends with the last of all years, or is laid end to end
// beyond it, makes a license that can be stored and shown.
//
// Fault: a shop that says "never" as 9999-12-31 can sell nothing beside a license that never
// ends, because the grace period ends in the year 10000.
func TestPurchasesPastTheYear9999(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	_, err := selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "ages", ProductID: "prod_editor", Duration: api.Duration{Years: 5000}})
	is.NoErr(err)
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	sold := func(reference, plan string, to *api.License, until api.Change[time.Time]) *api.License {
		e := event{At: onDay(0), CustomerID: "cus_ada", PlanID: plan, State: "active", Until: until}
		if to != nil {
			e.LicenseID = to.ID
		}
		f := s.tell(t, reference, e)
		_, err := json.Marshal(f)
		is.NoErr(err)
		return f.License
	}
	free := sold("shop:1", "forever", nil, api.Change[time.Time]{})
	l := sold("shop:2", "basic", free, api.To(last))
	is.Equal(l.Entitlements, map[string]any{"export": true})
	is.Equal(len(l.Upcoming), 0)

	ages := sold("shop:3", "ages", nil, api.Change[time.Time]{})
	l = sold("shop:4", "ages", ages, api.Change[time.Time]{})
	is.Equal(l.ExpiresAt.Year(), 9999)
	is.Equal(*l, s.mustGet(t, l.ID))
}
