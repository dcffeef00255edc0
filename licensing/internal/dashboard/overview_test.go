package dashboard_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/dashboard"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestOverviewOfEmptyStore(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	done := func(a reply) int { return strings.Count(a.body, `<li class="done">`) }
	a := v.get("")
	is.Equal(a.StatusCode, http.StatusOK)
	is.True(a.says("No licenses yet") && a.says(`href="./licenses/new"`) && a.says(`href="./settings/credentials/new"`))
	is.Equal(done(a), 0)
	_, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	is.Equal(done(v.get("")), 1)
	s.operator("vic@example.com", operator.RoleViewer)
	is.Equal(done(v.get("")), 2)
	is.True(!s.signedIn("vic@example.com").get("").says("/new\"")) // no buttons for viewers
	s.license(license.CreateParams{Name: "Atlas"})
	is.True(!v.get("").says("No licenses yet"))
}

func TestOverview(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{PublicURL: "https://example.com/licensing"})
	v := s.admin()
	in := func(days int) license.CreateParams {
		at := s.now.AddDate(0, 0, days)
		return license.CreateParams{Name: "Atlas", ExpiresAt: &at}
	}
	for _, days := range []int{-5, 10, 20, 40} {
		p := in(days)
		if days < 0 {
			p.StartsAt = ptr(s.now.AddDate(-1, 0, 0))
		}
		s.license(p)
	}
	suspended := s.license(license.CreateParams{Name: "Atlas", StartsAt: ptr(s.now.AddDate(0, 1, 0))})
	s.license(license.CreateParams{Name: "Atlas", StartsAt: ptr(s.now.AddDate(0, 1, 0))})
	_, err := s.Service().Suspend(t.Context(), license.MoveParams{ID: suspended.ID})
	is.NoErr(err)

	a := v.get("")
	is.True(a.says("6 licenses by status"))
	var counts []string
	for _, m := range regexp.MustCompile(`href="\./licenses\?status=(\w+)"><span class="number(?: muted)?">(\d+)<`).FindAllStringSubmatch(a.body, -1) {
		counts = append(counts, m[1]+" "+m[2])
	}
	is.Equal(counts, []string{"active 3", "scheduled 1", "expired 1", "suspended 1", "revoked 0"})
	is.True(a.says(`<a href="./licenses?status=active&amp;expires=30d">2 licenses</a> expire in the next 30 days`))
	is.True(a.says(`<a href="./licenses?status=suspended">1 license</a> is suspended`))
	is.Equal(strings.Count(a.body, `<tr><th scope="row">`), 90+26) // the tables of the charts
	is.True(a.says("6 total, peak 6 a day.") && a.says(`<title>1 Mar 2026: 6</title>`))
	is.Equal(strings.Count(a.body, "harbour-pilots ·"), 2) // expiring soon
}

func TestThousands(t *testing.T) {
	is := is.New(t)
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		is.Equal(dashboard.Thousands(n), want)
	}
}
