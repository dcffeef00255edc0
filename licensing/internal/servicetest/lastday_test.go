package servicetest

import (
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestADateIsTheLastDay: a date that a spreadsheet has is the last day, in the zone of the
// vendor, and customers read that day, on which the license still works.
func TestADateIsTheLastDay(t *testing.T) {
	for _, c := range []struct{ zone, cell, stored, shown string }{
		{"", "2027-01-31", "2027-02-01T00:00:00Z", "31 January 2027"},
		{"", "2027-01-31 12:00", "2027-01-31T12:00:00Z", "31 January 2027"},
		{"", "2027-01-31T00:00:00Z", "2027-01-31T00:00:00Z", "30 January 2027"}, // an instant is one
		{"Europe/Berlin", "2027-01-31", "2027-01-31T23:00:00Z", "31 January 2027"},
		{"Europe/Berlin", "2027-03-28", "2027-03-28T22:00:00Z", "28 March 2027"}, // summer time begins
		{"America/Los_Angeles", "2027-01-31", "2027-02-01T08:00:00Z", "31 January 2027"},
		{"Asia/Tokyo", "2027-01-31", "2027-01-31T15:00:00Z", "31 January 2027"},
		{"", "9999-12-31", "9999-12-31T23:59:59.999Z", ""},
		{"Asia/Tokyo", "9999-12-31", "9999-12-31T23:59:59.999Z", ""},
		{"America/Los_Angeles", "9999-12-31", "9999-12-31T23:59:59.999Z", ""},
		{"Asia/Beirut", "2027-03-27", "2027-03-27T22:00:00Z", "27 March 2027"}, // the next day begins at 1:00
	} {
		t.Run(c.zone+" "+c.cell, func(t *testing.T) {
			is := is.New(t)
			opts := licensing.Options{}
			if c.zone != "" {
				var err error
				opts.TimeZone, err = time.LoadLocation(c.zone)
				if err != nil {
					t.Skip(err)
				}
			}
			host := newPortalHost(t, opts, licensing.Portal{})
			csv := "name,product_id,customer_id,key,starts_at,expires_at,updates_until\nAda,atlas,cus_ada,0123456789abcdef,2026-01-01," + c.cell + "," + c.cell + "\n"
			preview, err := inner.Of(host.Handler.Service()).MoveIn().PreviewCSV(t.Context(), []byte(csv))
			is.NoErr(err)
			is.NoErr(host.Handler.Service().Import(t.Context(), strings.NewReader(string(preview.NDJSON)), func(r api.RowResult) error { return nil }))
			page, err := host.Handler.Service().List(t.Context(), api.ListLicensesParams{CustomerID: "cus_ada"})
			is.NoErr(err)
			l := page.Data[0]
			is.Equal(l.ExpiresAt.UTC().Format(time.RFC3339Nano), c.stored)
			is.Equal(l.UpdatesUntil.UTC().Format(time.RFC3339Nano), c.stored)
			if c.shown == "" { // never
				return
			}
			zone := time.UTC
			if opts.TimeZone != nil {
				zone = opts.TimeZone
			}
			is.True(l.StartsAt.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, zone))) // the day begins
			body := host.visit("GET", l.ID, nil).Body.String()
			is.Equal(strings.Count(body, ">"+c.shown+"<"), 2) // the end, and that of the updates
			last := l.ExpiresAt.Add(-time.Millisecond)
			v, err := host.Handler.Service().Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID, At: last, BuiltAt: last})
			is.NoErr(err)
			is.True(v.Valid)
			host.Clock.Set(*l.ExpiresAt)
			require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), "Ended on "+c.shown)
		})
	}
}
