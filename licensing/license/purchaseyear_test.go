package license_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

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
