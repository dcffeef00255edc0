package dashboard

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// TestMeterText: what a form shows for a meter reads back as the same meter.
func TestMeterText(t *testing.T) {
	limit := func(n int64) *int64 { return &n }
	for text, want := range map[string]api.Meter{
		"":                             {},
		"soft":                         {Soft: true},
		"1000":                         {Limit: limit(1000)},
		"0":                            {Limit: limit(0)},
		"per day":                      {Per: api.PerDay},
		"1000 per month":               {Limit: limit(1000), Per: api.PerMonth},
		"50 per license month, soft":   {Limit: limit(50), Per: api.PerLicenseMonth, Soft: true},
		"50  PER  License Year soft":   {Limit: limit(50), Per: api.PerLicenseYear, Soft: true},
		"10 per billing month":         {Limit: limit(10), Per: api.PerBillingMonth},
		"9223372036854775807 per year": {Limit: limit(9223372036854775807), Per: api.PerYear},
	} {
		is := is.New(t)
		got, err := parseMeter(text)
		is.NoErr(err)
		is.Equal(got, want)
		again, err := parseMeter(kit.FormatMeter(got))
		is.NoErr(err)
		is.Equal(again, want)
	}
	for _, text := range []string{"many", "1,000", "10 per week", "10 a month", "per", "10 per", "1.5"} {
		if _, err := parseMeter(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
