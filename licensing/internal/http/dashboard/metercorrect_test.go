package dashboard_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestCorrectUsage: the form sets what was used, in one event with the reason. It keeps what
// is counted while it is open, changes nothing when it is sent again, and does not correct
// another period than it shows.
func TestCorrectUsage(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{Meters: map[string]api.Meter{"exports": {Limit: new(int64(1000)), Per: api.PerMonth}}}})
	path := "licenses/" + l.ID + "/meters/exports/correct"
	count := func(id string, total int64) {
		_, err := s.Metering().CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{{Meter: "exports", ID: id, Total: total}}})
		is.NoErr(err)
	}
	used := func() int64 {
		now, err := s.Service().Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID})
		is.NoErr(err)
		return now.Meters[0].Used
	}
	send := func(form reply, used, reason string) reply {
		return v.post(path, "once", form.hidden("once"), "version", form.hidden("version"), "shown", form.hidden("shown"), "used", used, "reason", reason)
	}
	count("a", 900)
	require.Contains(t, v.get("licenses/"+l.ID).body, path)
	form := v.get(path)
	require.Contains(t, form.body, "exports: 900 of 1,000 used", `value="900"`)
	count("b", 20)
	for _, wrong := range []string{"", "-1", "1.5", "9007199254740993"} {
		is.Equal(send(form, wrong, "").StatusCode, http.StatusUnprocessableEntity)
	}
	is.Equal(used(), int64(920))
	is.Equal(send(form, "400", "a failed export").StatusCode, http.StatusSeeOther)
	is.Equal(used(), int64(420))
	is.Equal(send(form, "400", "a failed export").StatusCode, http.StatusSeeOther)
	is.Equal(used(), int64(420))
	require.Contains(t, v.get("licenses/"+l.ID).body, "exports: 420 of 1,000 used", "a failed export")
	page, err := s.Service().Events(t.Context(), api.ListEventsParams{Subject: l.ID, Types: []string{api.EventUsageCounted}})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
	require.HasPrefix(t, page.Data[0].Actor, "operator:")

	form = v.get(path)
	s.advance(32 * 24 * time.Hour)
	v = s.signedIn("ada@example.com")
	count("c", 5)
	again := send(form, "400", "")
	is.Equal(again.StatusCode, http.StatusConflict)
	is.Equal(used(), int64(5))
	require.Contains(t, again.body, "exports: 5 of 1,000 used")
	is.Equal(send(again, "4", "").StatusCode, http.StatusSeeOther)
	is.Equal(used(), int64(4))

	is.Equal(v.get("licenses/"+l.ID+"/meters/none/correct").StatusCode, http.StatusNotFound)
	s.operator("sue@example.com", operator.RoleSupport)
	support := s.signedIn("sue@example.com")
	is.Equal(support.get(path).StatusCode, http.StatusForbidden)
	require.NotContains(t, support.get("licenses/"+l.ID).body, path)
}
