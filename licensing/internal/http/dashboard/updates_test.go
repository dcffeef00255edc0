package dashboard_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A renewal moves the end of the license or that of its updates; the form asks which
// if there are both.
func TestRenewUpdates(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	until := time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC)
	l := s.license(api.CreateLicenseParams{Name: "Atlas", UpdatesUntil: &until})
	renew := "licenses/" + l.ID + "/renew"
	require.Contains(t, v.get("licenses/"+l.ID).body, "/renew")
	form := v.get(renew).body
	require.Contains(t, form, "Currently includes updates until 10 Mar 2026", "New end of updates: 10 Mar 2027")
	require.NotContains(t, form, `name="extend"`)
	is.Equal(v.change(renew, "term", "P1Y", "from", "later").StatusCode, http.StatusSeeOther)
	l, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(l.ExpiresAt, nil)
	is.Equal(*l.UpdatesUntil, until.AddDate(1, 0, 0))
	is.Equal(v.change(renew, "term", "date", "expires_at", "2027-01-01").StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, v.change(renew, "term", "date", "expires_at", "2027-01-01").body, `<a href="#f-expires_at">`)
	is.Equal(v.change(renew, "term", "date", "expires_at", "2029-01-01").StatusCode, http.StatusSeeOther)
	l, err = s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(l.UpdatesUntil.Year(), 2029)

	l = s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &until, UpdatesUntil: &until})
	renew = "licenses/" + l.ID + "/renew"
	require.Contains(t, v.get(renew).body, "New expiry: 10 Mar 2027", `name="extend"`)
	require.Contains(t, v.get(renew+"?extend=updates&term=P1M&from=later").body, "New end of updates: 10 Apr 2026")
	is.Equal(v.change(renew, "extend", "updates", "term", "P1M", "from", "later").StatusCode, http.StatusSeeOther)
	is.Equal(v.change(renew, "extend", "license", "term", "P3M", "from", "later").StatusCode, http.StatusSeeOther)
	l, err = s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal([]time.Time{*l.ExpiresAt, *l.UpdatesUntil}, []time.Time{until.AddDate(0, 3, 0), until.AddDate(0, 1, 0)})

	// A test validation returns the verdict for a build.
	page := v.get("licenses/" + l.ID + "?built=2026-04-12").body
	require.Contains(t, page, "The license includes updates until 11 Apr 2026, 00:00, and this build is newer")
	require.NotContains(t, v.get("licenses/"+l.ID+"?built=2026-04-11").body, "this build is newer")
	require.Contains(t, v.get("licenses/"+l.ID+"?built=soon").body, `<a href="#f-built">`)

	// A build that is too new is refused, and the page says what resolves it.
	_, err = s.Service().Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, BuiltAt: ptr(until.AddDate(1, 0, 0))})
	is.NoErr(err)
	require.Contains(t, v.get("licenses/"+l.ID+"/refusals").body, "Updates ended", "newer than the updates", "/renew")

	is.Equal(v.change(renew, "extend", "updates", "term", "date", "expires_at", "2026-05-01").StatusCode, http.StatusSeeOther)
	l, err = s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal([]time.Time{*l.ExpiresAt, *l.UpdatesUntil}, []time.Time{until.AddDate(0, 3, 0), time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)})
}
