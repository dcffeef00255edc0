package metering_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
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
	for more := true; more; {
		var err error
		_, more, err = inner.Of(f.rules).Sales().Count(t.Context())
		is.NoErr(err)
	}
	near := func() map[string]bool {
		page, _, err := inner.Of(f.rules).Find().ListWhere(t.Context(), api.ListLicensesParams{Only: "near_limit"})
		is.NoErr(err)
		got := map[string]bool{}
		for _, l := range page.Data {
			got[name[l.ID]] = true
		}
		return got
	}
	is.Equal(near(), map[string]bool{"at": true, "over": true, "second": true})
	f.now = f.now.Add(day)
	is.Equal(near(), map[string]bool{"second": true}) // the next month; the others start again
}
