package sales_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
)

// TestPeriods: each period with the one before it, on days at their edges.
func TestPeriods(t *testing.T) {
	is := is.New(t)
	for _, tt := range []struct{ name, now, from, to, before string }{
		{"week", "2026-11-30", "2026-11-30", "2026-12-07", "2026-11-23"}, // a Monday
		{"week", "2026-11-29", "2026-11-23", "2026-11-30", "2026-11-16"}, // a Sunday
		{"last-week", "2026-11-30", "2026-11-23", "2026-11-30", "2026-11-16"},
		{"month", "2026-01-31", "2026-01-01", "2026-02-01", "2025-12-01"},
		{"last-month", "2026-03-31", "2026-02-01", "2026-03-01", "2026-01-01"},
		{"quarter", "2026-01-01", "2026-01-01", "2026-04-01", "2025-10-01"},
		{"quarter", "2026-03-31", "2026-01-01", "2026-04-01", "2025-10-01"},
		{"quarter", "2026-11-30", "2026-10-01", "2027-01-01", "2026-07-01"},
		{"last-quarter", "2026-02-28", "2025-10-01", "2026-01-01", "2025-07-01"},
		{"last-quarter", "2026-08-31", "2026-04-01", "2026-07-01", "2026-01-01"},
		{"year", "2026-11-30", "2025-12-01", "2026-12-01", "2024-12-01"},
	} {
		now, err := time.Parse(time.DateOnly, tt.now)
		is.NoErr(err)
		p, before := sales.PeriodOf(tt.name, now.Add(24*time.Hour-1))
		day := func(at time.Time) string { return at.Format(time.DateOnly) }
		is.Equal([]string{p.Name, day(p.From), day(p.To), day(before.From), day(before.To)}, []string{tt.name, tt.from, tt.to, tt.before, tt.from})
	}
}
