package dashboard_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

var endInput = regexp.MustCompile(`name="(expires_at|updates_until)" type="date" value="([^"]*)"[^>]*><input name="[a-z_]+_time" type="time" step="[0-9.]+" value="([^"]*)"`)

// endsOf returns the date and the time that a form has for each end.
func endsOf(page string) map[string][2]string {
	ends := map[string][2]string{}
	for _, m := range endInput.FindAllStringSubmatch(page, -1) {
		ends[m[1]] = [2]string{m[2], m[3]}
	}
	return ends
}

// TestEndsOfForms: a form has the last day of an end, and its time if it ends within the day.
// Sent unchanged it changes no end, in each zone. A date ends with its day, in the zone, and
// pages show that day.
func TestEndsOfForms(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo", "Asia/Beirut"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip(err)
		}
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newSiteOn(t, memory.New(), licensing.Options{TimeZone: zone})
			v := s.admin()
			for _, end := range []time.Time{
				time.Date(2027, 1, 31, 10, 0, 0, 0, time.UTC), time.Date(2027, 1, 31, 10, 20, 30, 400e6, time.UTC),
				time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 2, 1, 0, 0, 0, 0, zone), time.Date(2027, 2, 1, 0, 0, 0, 1e6, zone),
				time.Date(2027, 1, 31, 23, 59, 59, 999e6, zone), time.Date(2027, 3, 28, 1, 30, 0, 0, zone), time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC),
				time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC),
			} {
				l := s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &end, UpdatesUntil: &end})
				edit := "licenses/" + l.ID + "/edit"
				page := v.get(edit)
				ends := endsOf(page.body)
				is.Equal(len(ends), 2)
				form := []string{"name", "Renamed", "product_id", l.ProductID, "customer_id", l.CustomerID}
				for name, value := range ends {
					form = append(form, name, value[0], name+"_time", value[1])
				}
				is.Equal(v.change(edit, form...).StatusCode, http.StatusSeeOther)
				after, err := s.Service().Get(t.Context(), l.ID)
				is.NoErr(err)
				is.Equal(after.Name, "Renamed")
				is.True(after.ExpiresAt.Equal(end) && after.UpdatesUntil.Equal(end)) // unchanged
				last := end.Add(-time.Millisecond).In(zone)
				if last.Year() < 9999 {
					require.Contains(t, v.get("licenses/"+l.ID).body, ">"+last.Format("2 Jan 2006")+"<")
				}

				form = []string{"name", "Renamed", "product_id", l.ProductID, "customer_id", l.CustomerID, "expires_at", "2027-01-31", "updates_until", "2027-01-31", "updates_until_time", "18:00"}
				is.Equal(v.change(edit, form...).StatusCode, http.StatusSeeOther)
				after, err = s.Service().Get(t.Context(), l.ID)
				is.NoErr(err)
				is.True(after.ExpiresAt.Equal(time.Date(2027, 2, 1, 0, 0, 0, 0, zone)))
				is.True(after.UpdatesUntil.Equal(time.Date(2027, 1, 31, 18, 0, 0, 0, zone)))
				require.Contains(t, v.get("customer?id="+l.CustomerID).body, ">31 Jan 2027<")
				ends = endsOf(v.get(edit).body)
				is.Equal(ends, map[string][2]string{"expires_at": {"2027-01-31", ""}, "updates_until": {"2027-01-31", "18:00:00"}})
			}
		})
	}
}

// TestDaysOfWhatComes: the history of a license, what comes, and its purchases have days of
// the zone, and ends by their last day. Seconds of an end are in UTC, which the page says, and
// so are the days of sales.
func TestDaysOfWhatComes(t *testing.T) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Skip(err)
	}
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{TimeZone: zone})
	v := s.admin()
	end := func(month time.Month, day, hour int) time.Time {
		return time.Date(2027, month, day, hour, 0, 0, 0, zone)
	}
	first, later := end(2, 1, 0), end(5, 1, 0) // in winter and in summer
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &first})
	for _, to := range []time.Time{later, end(5, 1, 6)} {
		_, err := s.Service().Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, ExpiresAt: api.To(to)})
		is.NoErr(err)
	}
	for _, page := range []string{"audit", "licenses/" + l.ID} {
		require.Contains(t, v.get(page).body, ">Expires: 31 Jan 2027 → 30 Apr 2027<", ">Expires: 1 May 2027, 07:00:00 UTC → 1 May 2027, 13:00:00 UTC<")
	}

	s.plan(api.PutPlanParams{ID: "base"})
	s.plan(api.PutPlanParams{ID: "extra", Kind: api.PlanAddOn})
	tell := func(reference, plan, license string, until time.Time) string {
		f, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{
			Reference: reference, PlanID: plan, LicenseID: license, At: s.clock(), CustomerID: "cus_ada", State: api.PurchaseActive, Until: api.To(until),
		})
		is.NoErr(err)
		return f.LicenseID
	}
	id := tell("shop:1", "base", "", later)
	tell("shop:2", "extra", id, first)
	page := v.get("licenses/" + id).body
	require.Contains(t, page, "counts until 30 April 2027", "extra · counts until 31 January 2027")
	require.Contains(t, v.get("?period=week").body, "Days are in UTC")
	s.advance(first.Sub(s.clock()))
	v = s.signedIn("ada@example.com") // the session has ended
	require.Contains(t, v.get("purchase/shop:2").body, "ended on 31 January 2027")
	require.Contains(t, v.get("licenses/import").body, "in America/Los_Angeles.")
}
