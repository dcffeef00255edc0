package metering_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestNearLimit: licenses are near a limit from 80 % of it, in the present period.
func TestNearLimit(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	name := map[string]string{} // by ID
	for called, l := range map[string]struct {
		meters map[string]api.Meter
		used   int64
	}{
		"none":    {},
		"counted": {map[string]api.Meter{"exports": {}}, 1000},
		"below":   {exports(10), 7},
		"at":      {exports(10), 8},
		"over":    {exports(10), 15},
		"second":  {map[string]api.Meter{"exports": {Limit: limit(5)}, "calls": {Limit: limit(10), Soft: true, Per: api.PerDay}}, 4},
		"zero":    {map[string]api.Meter{"exports": {Limit: limit(0)}}, 0},
	} {
		made := f.create(t, l.meters)
		name[made.ID] = called
		if l.used > 0 {
			f.count(t, made, at(use("exports", "a", l.used), f.now))
		}
	}
	near := func(at time.Time) map[string]bool {
		rows, err := f.store.Licenses(t.Context(), store.LicenseQuery{})
		is.NoErr(err)
		found, err := find.NearLimit(t.Context(), f.store, rows, at)
		is.NoErr(err)
		got := map[string]bool{}
		for id := range found {
			got[name[id]] = true
		}
		return got
	}
	is.Equal(near(f.now), map[string]bool{"at": true, "over": true, "second": true})
	is.Equal(near(f.now.Add(day)), map[string]bool{"second": true}) // the next month; the others start again
}
