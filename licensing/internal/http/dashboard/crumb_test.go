package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// link opens the target of the first link with the given text.
func (v *visitor) link(a reply, text string) reply {
	v.s.t.Helper()
	is := is.New(v.s.t)
	m := regexp.MustCompile(`<a [^>]*href="([^"]*)"[^>]*>` + text + `<`).FindStringSubmatch(a.body)
	if m == nil {
		v.s.t.Fatalf("%s has no link %q", a.Request.URL, text)
	}
	to, err := a.Request.URL.Parse(html.UnescapeString(m[1]))
	is.NoErr(err)
	req, err := http.NewRequestWithContext(v.s.t.Context(), http.MethodGet, to.String(), nil)
	is.NoErr(err)
	return v.do(req)
}

// submit submits the form of a page to its target.
func (v *visitor) submit(a reply, form url.Values) reply {
	v.s.t.Helper()
	is := is.New(v.s.t)
	to := a.Request.URL
	if m := regexp.MustCompile(`<form class="(?:card narrow fields|narrow stack)" method="post" action="([^"]*)"`).FindStringSubmatch(a.body); m != nil {
		var err error
		to, err = a.Request.URL.Parse(html.UnescapeString(m[1]))
		is.NoErr(err)
	}
	page := to.Path[len(mount+"/dashboard/"):]
	if to.RawQuery != "" {
		page += "?" + to.RawQuery
	}
	return v.post(page, flat(form)...)
}

// TestLinksBack: without a script, the pages of a license lead back to it and to the
// list, and a new license takes over the filter of the list.
func TestLinksBack(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	end := s.now.AddDate(1, 0, 0)
	seats := int64(5)
	l := s.license(api.CreateLicenseParams{Name: "Atlas & co", CustomerID: "a&b=c", ExpiresAt: &end, Terms: api.Terms{MaxActivations: &seats}})
	s.activate(l, "machine-1", "")
	list := v.get("licenses?customer=a%26b%3Dc&q=atlas&status=active")
	back := func(a reply) {
		t.Helper()
		is.Equal(a.Request.URL.Path, mount+"/dashboard/licenses")
	}
	one := v.link(list, "Atlas &amp; co")
	back(v.link(one, "Licenses"))
	for _, tab := range []string{"Overview", `Activations <span class="muted">\d</span>`, `Refusals <span class="muted">0</span>`} {
		back(v.link(v.link(one, tab), "Licenses"))
	}
	for _, label := range []string{"Edit", "Suspend", "Renew", "Replace key", "Revoke", "Delete", "Remove"} {
		from := one
		if label == "Remove" {
			from = v.link(one, `Activations <span class="muted">\d</span>`)
		}
		page := v.link(from, label)
		is.Equal(page.StatusCode, http.StatusOK)
		back(v.link(v.link(page, "Cancel"), "Licenses"))         // the button
		back(v.link(v.link(page, "Atlas &amp; co"), "Licenses")) // the breadcrumb
	}
	edited := v.submit(v.link(one, "Edit"), fields(v.link(one, "Edit")))
	is.Equal(edited.StatusCode, http.StatusSeeOther)
	is.Equal(v.follow(edited).notice(), "Nothing was changed.")
	back(v.link(v.get("licenses/lic_nowhere"), "Go to licenses"))
	create := v.link(list, "New license")
	back(v.link(create, "Cancel"))
	is.Equal(fields(create).Get("customer_id"), "a&b=c")

	back(v.link(v.get("licenses/selected/revoke"), "Go to licenses")) // nothing selected
	ask := v.get("licenses/selected/revoke?id=" + l.ID)
	back(v.link(ask, "Cancel"))
	back(v.link(ask, "Licenses"))
	back(v.link(v.submit(ask, url.Values{"id": {l.ID}, "number": {"1"}}), "Go to licenses"))
	deleted := v.submit(v.link(one, "Delete"), url.Values{"key": {lastGroup(l.Key)}})
	is.Equal(v.follow(deleted).notice(), "The license has been deleted.")

	odd := v.get("licenses?q=" + url.QueryEscape(`"><script>`))
	require.NotContains(t, odd.body, `"><script>`)
}

// TestPlaces: the script takes pages that can be returned to for the trail of the link
// above the heading.
func TestPlaces(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	for page, want := range map[string]bool{
		"": true, "licenses": true, "licenses/" + l.ID: true,
		"licenses/" + l.ID + "/edit": false, "licenses/selected/suspend?id=" + l.ID: false, "licenses?status=asleep": false, "nowhere": false,
	} {
		if v.get(page).says("data-place") != want {
			t.Errorf("%q: the page is a place: %t", page, !want)
		}
	}
	is.Equal(v.post("licenses/selected/suspend", "id", l.ID).says("data-place"), false)
}
