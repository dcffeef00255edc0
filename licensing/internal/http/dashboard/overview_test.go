package dashboard_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestOverviewOfEmptyStore(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	done := func(a reply) int { return strings.Count(a.body, `<summary>1 done</summary>`) }
	a := v.get("")
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, "No licenses yet", `href="./licenses/new"`, `href="./settings/credentials/new"`)
	is.Equal(done(a), 0)
	_, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	is.Equal(done(v.get("")), 1)
	s.operator("vic@example.com", operator.RoleViewer)
	is.Equal(done(v.get("")), 1)
	require.NotContains(t, s.signedIn("vic@example.com").get("").body, "/new\"") // no buttons for viewers
	s.license(api.CreateLicenseParams{Name: "Atlas"})
	require.NotContains(t, v.get("").body, "No licenses yet")
}

func TestOverview(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{PublicURL: "https://example.com/licensing"})
	v := s.admin()
	in := func(days int) api.CreateLicenseParams {
		at := s.now.AddDate(0, 0, days)
		return api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &at}
	}
	for _, days := range []int{-5, 10, 20, 40} {
		p := in(days)
		if days < 0 {
			p.StartsAt = ptr(s.now.AddDate(-1, 0, 0))
		}
		s.license(p)
	}
	suspended := s.license(api.CreateLicenseParams{Name: "Atlas", StartsAt: ptr(s.now.AddDate(0, 1, 0))})
	s.license(api.CreateLicenseParams{Name: "Atlas", StartsAt: ptr(s.now.AddDate(0, 1, 0))})
	_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: suspended.ID})
	is.NoErr(err)

	a := v.get("")
	require.Contains(t, a.body, "6 licenses</h2>")
	var counts []string
	for _, m := range regexp.MustCompile(`href="\./licenses\?status=(\w+)"><span class="pill \w+">\w+</span> <span class="number(?: zero)?">(\d+)<`).FindAllStringSubmatch(a.body, -1) {
		counts = append(counts, m[1]+" "+m[2])
	}
	is.Equal(counts, []string{"active 3", "scheduled 1", "expired 1", "suspended 1", "revoked 0"})
	require.Contains(t, a.body, `<h2 id="due-title">Ends soon, in the next 30 days</h2> <span class="small">2</span>`, `href="./licenses?only=due"`)
	require.NotContains(t, a.body, "is suspended", "unencrypted")                     // nothing to act on
	is.Equal(strings.Count(a.body, `<span class="sub any">harbour-pilots</span>`), 2) // due
	week := v.get("licenses?expires=2026-03-09..2026-03-15&status=active")
	require.Contains(t, week.body, "1 matching license", "From 9 Mar 2026 to 15 Mar 2026")
	for _, wrong := range []string{"2026-03-09", "2026-03-15..2026-03-09", "..", "2026-03-09..soon"} {
		is.Equal(v.get("licenses?expires="+wrong).StatusCode, http.StatusBadRequest)
	}
}

func TestThousands(t *testing.T) {
	is := is.New(t)
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		is.Equal(dashboard.Thousands(n), want)
	}
}

func TestOverviewUsage(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	validate := func(key, product string) {
		_, err := s.Service().Validate(t.Context(), api.ValidateKeyParams{Key: key, ProductID: product})
		is.NoErr(err)
	}
	validate(l.Key, "other")
	s.advance(40 * 24 * time.Hour)
	validate(l.Key, "")
	validate(license.NewKey(), "")
	validate(license.NewKey(), "")
	validate(l.Key, "other")
	v := s.admin()

	a := v.get("")
	chart := v.get("refusals").body
	require.Contains(t, chart, "Validations in the last 90 days", "5 total, peak 4 a week.", `<th scope="col">Week of</th>`)
	require.Contains(t, chart, ": 1, 1 refused</text>", ": 4, 3 refused</text>", `text-anchor="end">4</text>`)
	ranking := func(a reply) (list []string) {
		for _, m := range regexp.MustCompile(`<li><p><span class="any">(.*?)</span> <span>(.*?)</span>`).FindAllStringSubmatch(a.body, -1) {
			list = append(list, m[1]+" "+m[2])
		}
		return list
	}
	is.Equal(ranking(a), []string{"Unknown key 2", `<a href="./refusals?days=90&amp;reason=product_mismatch">Wrong product</a> 2`})

	for range 200 {
		validate(l.Key, "")
	}
	require.Contains(t, v.get("refusals").body, "peak 204 a day.", ">10 Apr 2026: 204, 3 refused</text>") // by day

	_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	validate(l.Key, "")
	is.Equal(ranking(v.get(""))[2], `<a href="./refusals?days=90&amp;reason=suspended">Suspended</a> 1`)
}

// TestRefusedLicensesNeedAttention: the overview counts licenses that were refused
// because no seat is free or they have expired, until that is resolved, and links to
// a list of exactly those.
func TestRefusedLicensesNeedAttention(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	full := s.license(api.CreateLicenseParams{Name: "Full", Terms: api.Terms{MaxActivations: ptr(int64(1))}})
	other := s.license(api.CreateLicenseParams{Name: "Other", Terms: api.Terms{MaxActivations: ptr(int64(1))}})
	expired := s.license(api.CreateLicenseParams{Name: "Ended", StartsAt: ptr(s.now.AddDate(-1, 0, 0)), ExpiresAt: ptr(s.now.AddDate(0, 0, -1))})
	suspended := s.license(api.CreateLicenseParams{Name: "Held"})
	_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: suspended.ID})
	is.NoErr(err)
	for _, l := range []api.License{full, full, other, other, expired, suspended} {
		_, _ = s.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: license.NewKey()})
	}
	_, err = s.Service().Validate(t.Context(), api.ValidateKeyParams{Key: full.Key, ProductID: "lumen", Fingerprint: "pc-9"})
	is.NoErr(err)
	s.advance(2 * time.Hour)
	a := v.get("")
	require.Contains(t, a.body, `">2 licenses</a> <span class="muted">refused in the last 7 days: no seat free (2 requests)`, `">1 license</a> <span class="muted">refused in the last 7 days: expired (1 request)`)
	require.NotContains(t, a.body, "days: suspended")
	list := v.link(a, "2 licenses")
	rows := func(a reply) (names []string) {
		for _, m := range regexp.MustCompile(`/refusals">([^<]*)</a> <span class="pill`).FindAllStringSubmatch(a.body, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	is.Equal(rows(list), []string{"Full", "Other"})
	require.Contains(t, list.body, "Remove a device", `formaction="./licenses/selected/suspend"`)

	_, err = s.Service().Update(t.Context(), api.UpdateLicenseParams{ID: full.ID, MaxActivations: api.To(int64(2))})
	is.NoErr(err)
	_, err = s.Service().Renew(t.Context(), api.RenewLicenseParams{ID: expired.ID, Duration: api.Duration{Years: 1}})
	is.NoErr(err)
	a = v.get("")
	require.Contains(t, a.body, `">1 license</a> <span class="muted">refused in the last 7 days: no seat free`)
	require.NotContains(t, a.body, "days: expired")
	is.Equal(rows(v.link(a, "1 license")), []string{"Other"})
	is.Equal(rows(v.get("refusals?reason=activation_limit")), []string{"Full", "Other"})
	mismatch := v.get("refusals?reason=product_mismatch")
	is.Equal(rows(mismatch), []string{"Full"})
	require.Contains(t, mismatch.body, "Asked for <code>lumen</code>, license is <code>atlas</code>", "pc-9")
	require.Contains(t, v.get("refusals?reason=scheduled").body, "No license was refused for this reason")
	is.Equal(v.get("refusals?cursor=soon").StatusCode, http.StatusBadRequest)
}

// TestSetup: admins see the checklist until each step is done.
func TestSetup(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{PublicURL: "https://example.com/licensing", MasterKey: make([]byte, 32)})
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	require.Contains(t, v.get("").body, "Setup: 5 steps left")
	s.operator("vic@example.com", operator.RoleViewer)
	s.operator("sue@example.com", operator.RoleSupport)
	eve, yes, no := s.operator("eve@example.com", operator.RoleAdmin), true, false
	_, err := s.Operators().Update(t.Context(), operator.UpdateParams{ID: eve.ID, Disabled: &yes})
	is.NoErr(err)
	require.Contains(t, v.get("").body, "Setup: 5 steps left")
	require.Contains(t, v.get("").body, "Invite a second admin") // none of them can reset a password
	_, err = s.Operators().Update(t.Context(), operator.UpdateParams{ID: eve.ID, Disabled: &no})
	is.NoErr(err)
	require.Contains(t, v.get("").body, "Setup: 4 steps left", "<summary>4 done</summary>")
	require.NotContains(t, s.signedIn("vic@example.com").get("").body, "Setup:")
	_, _, err = s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	_, err = s.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "price_1", ProductID: "atlas"})
	is.NoErr(err)
	_, err = s.Service().Validate(t.Context(), api.ValidateKeyParams{Key: l.Key})
	is.NoErr(err)
	require.Contains(t, v.get("").body, "Setup: 1 step left", "Add the customer pages")
	s.Portal(licensing.Portal{Customer: func(http.ResponseWriter, *http.Request) (string, bool) { return "", false }})
	require.NotContains(t, v.get("").body, "Setup:")
}

// TestDismissSetup: an admin hides the checklist in this browser.
func TestDismissSetup(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.license(api.CreateLicenseParams{Name: "Atlas"})
	require.Contains(t, v.get("").body, "Setup:")
	is.Equal(v.post("dismiss-setup").to(), "./")
	require.NotContains(t, v.get("").body, "Setup:")
}

// TestOverviewIsInOrder: what needs attention comes first.
func TestOverviewIsInOrder(t *testing.T) {
	s := newSite(t)
	s.license(api.CreateLicenseParams{Name: "Atlas"})
	a := s.admin().get("")
	at := -1
	for _, heading := range []string{"Nothing needs attention.", "Setup:", "Sales, 23 February to 1 March 2026", "Ends soon, ", "Near the limit", "1 license</h2>", "Top refusal reasons"} {
		i := strings.Index(a.body, heading)
		if i <= at {
			t.Errorf("%q is missing or too early", heading)
		}
		at = i
	}
}
