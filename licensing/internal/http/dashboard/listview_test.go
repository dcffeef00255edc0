package dashboard_test

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// names returns the names on a page of the list.
func names(a reply) string {
	var list []string
	for _, m := range regexp.MustCompile(`rowheader"><a href="[^"]*">([^<]*)</a>`).FindAllStringSubmatch(a.body, -1) {
		list = append(list, m[1])
	}
	return strings.Join(list, " ")
}

func TestListTabs(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	soon, late, past := s.now.AddDate(0, 0, 10), s.now.AddDate(1, 0, 0), s.now.Add(time.Hour)
	for name, end := range map[string]*time.Time{"endless": nil, "soon": &soon, "late": &late, "past": &past} {
		s.license(api.CreateLicenseParams{Name: name, ExpiresAt: end})
	}
	held := s.license(api.CreateLicenseParams{Name: "held", CustomerID: "other"})
	_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: held.ID})
	is.NoErr(err)
	s.advance(2 * time.Hour)
	list := v.get("licenses")
	for label, want := range map[string]string{"All": "5", "Active": "3", "Expiring": "1", "Scheduled": "0", "Expired": "1", "Suspended": "1", "Revoked": "0"} {
		require.Contains(t, list.body, label+` <span class="muted">`+want+"</span>")
	}
	require.Contains(t, list.body, "5 licenses")
	expiring := v.link(list, "Expiring ")
	is.Equal(names(expiring), "soon")
	require.Matches(t, expiring.body, regexp.MustCompile(`aria-current="page">Expiring`))
	is.Equal(names(v.link(list, "Expired ")), "past")
	is.Equal(names(v.link(list, "Suspended ")), "held")

	other := v.get("licenses?customer=other&q=held") // tabs keep the search and the customer
	is.Equal(names(v.link(other, "Suspended ")), "held")
	is.Equal(names(v.link(other, "Active ")), "")
}

// TestListCount: the number is exact, on every page of the list.
func TestListCount(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	end := s.now.AddDate(0, 0, 10)
	for i := range 210 {
		p := api.CreateLicenseParams{Name: fmt.Sprintf("Number %d", i), ProductID: "atlas", CustomerID: fmt.Sprintf("c%d", i%3), ExpiresAt: &end}
		if i == 0 {
			p.Name, p.ProductID, p.ExpiresAt = "Other", "compass", nil
		}
		s.license(p)
	}
	for query, want := range map[string]string{
		"":                              "210 licenses",
		"?sort=oldest":                  "210 licenses",
		"?sort=soonest":                 "209 licenses. Licenses without an expiry are not in this order.",
		"?status=active":                "210 matching licenses",
		"?status=active&sort=soonest":   "209 matching licenses. Licenses without an expiry are not in this order.",
		"?status=active&expires=30d":    "209 matching licenses",
		"?product=atlas":                "209 matching licenses",
		"?product=compass":              "1 matching license",
		"?customer=c1":                  "70 matching licenses",
		"?customer=c1&status=active":    "70 matching licenses",
		"?product=atlas&status=active":  "209 matching licenses",
		"?expires=30d":                  "209 matching licenses",
		"?q=number":                     "209 matching licenses",
		"?q=number&customer=c1":         "70 matching licenses",
		"?q=other":                      "1 matching license",
		"?q=other&expires=7d":           "",
		"?status=revoked&product=atlas": "",
	} {
		t.Run(query, func(t *testing.T) {
			is := is.New(t)
			shown := func(a reply) string {
				if m := regexp.MustCompile(`<div class="toolbar"><p class="muted small">([^<]*)</p>`).FindStringSubmatch(a.body); m != nil {
					return html.UnescapeString(m[1])
				}
				return ""
			}
			first := v.get("licenses" + query)
			is.Equal(shown(first), want)
			if first.says(`rel="next"`) {
				is.Equal(shown(v.link(first, "Next page")), want)
			}
		})
	}
}

// TestTabCountsOfSearch: the tabs of a list with a search, a customer or a product
// count the licenses that match these, whichever tab is selected.
func TestTabCountsOfSearch(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	soon, past, future := s.now.AddDate(0, 0, 10), s.now.Add(time.Hour), s.now.AddDate(0, 1, 0)
	for i := range 120 {
		p := api.CreateLicenseParams{Name: fmt.Sprintf("Number %d", i), ProductID: "atlas", CustomerID: "large"}
		switch {
		case i >= 115:
			p.ExpiresAt = &soon
		case i >= 113:
			p.ExpiresAt = &past
		case i >= 110:
			p.CustomerID = "small"
		case i == 0:
			p.StartsAt = &future
		}
		l := s.license(p)
		if i == 110 || i < 5 && i > 0 {
			_, err := s.Service().Revoke(t.Context(), api.ChangeStateParams{ID: l.ID})
			is.New(t).NoErr(err)
		}
		s.advance(time.Millisecond)
	}
	s.advance(2 * time.Hour)
	all := func(n, active, expiring, scheduled, expired, suspended, revoked string) []string {
		return []string{"All" + n, "Active" + active, "Expiring" + expiring, "Scheduled" + scheduled, "Expired" + expired, "Suspended" + suspended, "Revoked" + revoked}
	}
	for query, want := range map[string][]string{
		"customer=small":                             all(" 3", " 2", " 0", " 0", " 0", " 0", " 1"),
		"customer=small&status=revoked":              all(" 3", " 2", " 0", " 0", " 0", " 0", " 1"),
		"customer=small&q=number":                    all(" 3", " 2", " 0", " 0", " 0", " 0", " 1"),
		"q=nothing":                                  all(" 0", " 0", " 0", " 0", " 0", " 0", " 0"),
		"q=115":                                      all(" 1", " 1", " 1", " 0", " 0", " 0", " 0"),
		"customer=large":                             all(" 117", " 110", " 5", " 1", " 2", " 0", " 4"),
		"customer=large&status=revoked":              all(" 117", " 110", " 5", " 1", " 2", " 0", " 4"),
		"customer=large&status=active&expires=30d":   all(" 117", " 110", " 5", " 1", " 2", " 0", " 4"),
		"product=atlas":                              all(" 120", " 112", " 5", " 1", " 2", " 0", " 5"),
		"product=atlas&status=active&sort=soonest":   all(" 120", " 112", " 5", " 1", " 2", " 0", " 5"),
		"product=atlas&sort=soonest":                 all(" 120", " 112", " 5", " 1", " 2", " 0", " 5"),
		"product=atlas&customer=large&status=active": all(" 117", " 110", " 5", " 1", " 2", " 0", " 4"),
		"q=number":                                   all(" 120", " 112", " 5", " 1", " 2", " 0", " 5"),
		"q=number&status=active":                     all(" 120", " 112", " 5", " 1", " 2", " 0", " 5"),
	} {
		t.Run(query, func(t *testing.T) {
			is := is.New(t)
			var got []string
			for _, m := range regexp.MustCompile(`<li><a href="[^"]*licenses\?[^"]*"[^>]*>(\w+)(?: <span class="muted">([^<]*)</span>)?</a></li>|<li><a href="[^"]*licenses"[^>]*>(All)</a></li>`).FindAllStringSubmatch(v.get("licenses?"+query).body, -1) {
				if m[2] != "" {
					m[1] += " " + html.UnescapeString(m[2])
				}
				got = append(got, m[1])
			}
			is.Equal(got, want)
		})
	}
}

func TestListSorts(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	for i, days := range []int{30, 0, 10, 20} {
		p := api.CreateLicenseParams{Name: fmt.Sprintf("n%d", i)}
		if days > 0 {
			end := s.now.AddDate(0, 0, days)
			p.ExpiresAt = &end
		}
		s.license(p)
		s.advance(time.Millisecond)
	}
	const note = "Licenses without an expiry are not in this order."
	for query, want := range map[string]string{
		"":                                     "n3 n2 n1 n0",
		"?sort=oldest":                         "n0 n1 n2 n3",
		"?sort=soonest":                        "n2 n3 n0",
		"?sort=latest":                         "n0 n3 n2",
		"?sort=soonest&status=active":          "n2 n3 n0",
		"?expires=90d":                         "n2 n3 n0",
		"?expires=90d&sort=latest":             "n0 n3 n2",
		"?sort=soonest&customer=unknown":       "",
		"?sort=soonest&q=n2":                   "n2",
		"?sort=oldest&q=harbour-pilots":        "n0 n1 n2 n3",
		"?customer=harbour-pilots&sort=latest": "n3 n2 n1 n0",
	} {
		t.Run(query, func(t *testing.T) {
			is := is.New(t)
			a := v.get("licenses" + query)
			is.Equal(names(a), want)
			is.Equal(a.says(note), strings.Contains(query, "sort=soonest") && len(want) > 2 || query == "?sort=latest")
		})
	}
}

func TestListPagesBackward(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for i := range 120 {
		end := s.now.AddDate(0, 0, i%20+1)
		s.license(api.CreateLicenseParams{Name: fmt.Sprintf("Number%03d", i), ExpiresAt: &end})
		s.advance(time.Millisecond)
	}
	for _, query := range []string{"", "?sort=oldest", "?expires=30d", "?customer=harbour-pilots&status=active", "?q=num", "?q=num&sort=oldest&customer=harbour-pilots"} {
		first := v.get("licenses" + query)
		require.NotContains(t, first.body, `rel="prev"`)
		second := v.link(first, "Next page")
		third := v.link(second, "Next page")
		require.NotContains(t, third.body, `rel="next"`)
		s.advance(time.Hour)
		is.Equal(names(v.link(third, "Previous")), names(second))
		back := v.link(v.link(third, "Previous"), "Previous")
		is.Equal(names(back), names(first))
		require.NotContains(t, back.body, `rel="prev"`)
		is.Equal(names(v.link(back, "Next page")), names(second))
	}
}

// An entryStore counts the reads of seat counts.
type entryStore struct {
	store.Store
	reads int
}

func (s *entryStore) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Kind == "seats" {
		s.reads++
	}
	return s.Store.Entries(ctx, q)
}

func TestListSeats(t *testing.T) {
	is := is.New(t)
	st := &entryStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	full := s.license(api.CreateLicenseParams{Name: "full", Terms: api.Terms{MaxActivations: ptr[int64](2)}})
	s.activate(full, "pc-1", "")
	s.activate(full, "pc-2", "")
	s.advance(time.Millisecond)
	floating := s.license(api.CreateLicenseParams{Name: "floating", Terms: api.Terms{MaxActivations: ptr[int64](50), LeaseSeconds: ptr[int64](60)}})
	s.activate(floating, "pc-1", "")
	s.advance(time.Millisecond)
	endless := s.license(api.CreateLicenseParams{Name: "endless"})
	s.activate(endless, "pc-1", "")
	s.advance(time.Millisecond)
	s.license(api.CreateLicenseParams{Name: "new", Terms: api.Terms{MaxActivations: ptr[int64](3000)}})
	s.advance(time.Millisecond)
	lapsed := s.license(api.CreateLicenseParams{Name: "lapsed", Terms: api.Terms{MaxActivations: ptr[int64](2), LeaseSeconds: ptr[int64](60)}})
	s.activate(lapsed, "pc-1", "")
	s.activate(lapsed, "pc-2", "")
	s.advance(time.Millisecond)
	lowered := s.license(api.CreateLicenseParams{Name: "lowered", Terms: api.Terms{MaxActivations: ptr[int64](2)}})
	s.activate(lowered, "pc-1", "")
	s.activate(lowered, "pc-2", "")
	s.advance(2 * time.Minute) // the leases end
	_, err := s.Service().Update(t.Context(), api.UpdateLicenseParams{ID: lowered.ID, MaxActivations: api.To(int64(1))})
	is.NoErr(err)
	_, err = s.Service().Update(t.Context(), api.UpdateLicenseParams{ID: lapsed.ID, MaxActivations: api.To(int64(1))})
	is.NoErr(err)
	a := v.get("licenses")
	is.Equal(st.reads, 1)
	var seats []string
	for _, m := range regexp.MustCompile(`<span class="seats"[^>]*><span>([^<]*)<.*`).FindAllStringSubmatch(a.body, -1) {
		bar := regexp.MustCompile(`class="(meter[^"]*)".*width="(\d+)" height="6"/></svg>`).FindStringSubmatch(m[0])
		if bar != nil {
			m[1] += " " + bar[1] + " " + bar[2]
		}
		seats = append(seats, html.UnescapeString(m[1]))
	}
	is.Equal(seats, []string{"2/1 meter over 100", "≤2/1 meter 100", "0/3,000 meter 0", "1", "≤1/50 meter 4", "2/2 meter 100"})
	require.Contains(t, v.get("licenses/"+lapsed.ID).body, ">0/1</a>")
	require.Contains(t, v.get("licenses/"+lowered.ID).body, `class="meter long over"`)
	for _, l := range []api.License{full, floating} {
		require.Contains(t, a.body, "/licenses/"+l.ID)
	}
	require.Contains(t, a.body, `href="./customer?id=harbour-pilots"`)
}
