package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestRenew(t *testing.T) {
	for _, tt := range []struct {
		name string
		form []string
		want string // the new expiry; empty: the form is rejected
		bad  string // the control with the error
	}{
		{"a year from the expiry", []string{"term", "P1Y", "from", "later"}, "2027-03-11T00:00:00Z", ""},
		{"half a year from now", []string{"term", "P6M", "from", "now"}, "2026-09-01T12:00:00Z", ""},
		{"custom length", []string{"term", "length", "duration", "1y 6mo", "from", "expiry"}, "2027-09-11T00:00:00Z", ""},
		{"number and unit", []string{"term", "length", "duration", "18", "duration_unit", "mo", "from", "expiry"}, "2027-09-11T00:00:00Z", ""},
		{"ISO 8601 duration", []string{"term", "length", "duration", "P2W", "from", "expiry"}, "2026-03-25T00:00:00Z", ""},
		{"custom date", []string{"term", "date", "expires_at", "2030-01-31T09:00", "from", "later"}, "2030-01-31T09:00:00Z", ""},
		{"a length with a fixed term", []string{"term", "P1Y", "duration", "45d"}, "", "duration"},
		{"a date with a fixed term", []string{"term", "P1Y", "expires_at", "2026-06-01"}, "", "expires_at"},
		{"a date with a custom length", []string{"term", "length", "duration", "45d", "expires_at", "2026-06-01"}, "", "expires_at"},
		{"a length with a custom date", []string{"term", "date", "duration", "45d", "expires_at", "2026-06-01"}, "", "duration"},
		{"months or minutes", []string{"term", "length", "duration", "18m"}, "", "duration"},
		{"nothing selected", []string{"from", "later"}, "", "term-0"},
		{"no length", []string{"term", "length"}, "", "duration"},
		{"invalid length", []string{"term", "length", "duration", "a while"}, "", "duration"},
		{"zero length", []string{"term", "length", "duration", "0d"}, "", "duration"},
		{"no date", []string{"term", "date"}, "", "expires_at"},
		{"an earlier date", []string{"term", "date", "expires_at", "2026-03-02"}, "", "expires_at"},
		{"not later than the current expiry", []string{"term", "length", "duration", "1d", "from", "now"}, "", "term-0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			s := newSite(t)
			v := s.admin()
			end := time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC)
			l := s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &end})
			require.Contains(t, v.get("licenses/"+l.ID).body, "/renew")
			query := url.Values{}
			for i := 0; i < len(tt.form); i += 2 {
				query.Set(tt.form[i], tt.form[i+1])
			}
			preview := v.get("licenses/" + l.ID + "/renew?" + query.Encode()).body // what the script shows meanwhile
			before, err := s.Service().Get(t.Context(), l.ID)
			is.NoErr(err)
			is.Equal(before, l)
			if tt.want != "" {
				want, err := time.Parse(time.RFC3339, tt.want)
				is.NoErr(err)
				require.Contains(t, preview, "New expiry: "+want.Add(-time.Millisecond).Format("2 Jan 2006")+",")
			} else if query.Has("term") {
				require.Contains(t, preview, "The new end is not known yet.")
			}
			a := v.change("licenses/"+l.ID+"/renew", append(tt.form, "reason", "Paid")...)
			after, err := s.Service().Get(t.Context(), l.ID)
			is.NoErr(err)
			if tt.want == "" {
				is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
				require.Contains(t, a.body, `<a href="#f-`+tt.bad+`">`)
				is.Equal(after.ExpiresAt, &end)
				return
			}
			is.Equal(a.to(), "../../licenses/"+l.ID)
			is.Equal(after.ExpiresAt.Format(time.RFC3339), tt.want)
			require.Contains(t, v.follow(a).body, "Paid")
		})
	}
}

func TestRenewRejectsAnOutdatedForm(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	end := s.now.AddDate(0, 0, 10)
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &end})
	page := "licenses/" + l.ID + "/renew"
	seen := fields(v.get(page))
	require.Contains(t, v.get(page).body, "New expiry: 11 Mar 2027") // a year, which is selected
	is.Equal(v.post(page, flat(seen)...).StatusCode, http.StatusSeeOther)

	again := v.post(page, flat(seen)...) // submitted twice or from an outdated page
	is.Equal(again.StatusCode, http.StatusConflict)
	require.Contains(t, again.body, "was changed while the form was open")
	after, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(*after.ExpiresAt, end.AddDate(1, 0, 0)) // one year, not two
}

func TestRenewRequiresExpiry(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	endless := s.license(api.CreateLicenseParams{Name: "Endless"})
	require.NotContains(t, v.get("licenses/"+endless.ID).body, "/renew")
	is.Equal(v.get("licenses/"+endless.ID+"/renew").StatusCode, http.StatusConflict)
	is.Equal(v.post("licenses/"+endless.ID+"/renew", "term", "P1Y").StatusCode, http.StatusConflict)
	end := s.now.AddDate(1, 0, 0)
	revoked := s.license(api.CreateLicenseParams{Name: "Revoked", ExpiresAt: &end})
	_, err := s.Service().Revoke(t.Context(), api.ChangeStateParams{ID: revoked.ID})
	is.NoErr(err)
	is.Equal(v.get("licenses/"+revoked.ID+"/renew").StatusCode, http.StatusConflict)
	is.Equal(v.post("licenses/"+revoked.ID+"/renew", "term", "P1Y").StatusCode, http.StatusConflict)
}

func TestParseTerm(t *testing.T) {
	is := is.New(t)
	for s, want := range map[string]string{"2y": "P2Y", "1y 6mo": "P1Y6M", "18 MO": "P18M", "18 months": "P18M", "1 month 2 weeks": "P1M2W", "90min": "PT90M", "45d": "P45D", "P1Y6M": "P1Y6M", "pt12h": "PT12H"} {
		d, err := dashboard.ParseTerm(s)
		is.NoErr(err)
		is.Equal(d.String(), want)
	}
	for _, s := range []string{"", "P", "a while", "18m", "1y 6m", "-1y", "1.5y", "0d", "999999999d", "99999999d 1d"} {
		_, err := dashboard.ParseTerm(s)
		is.True(err != nil)
	}
}

// TestRenewalByPlan: a renewal is for the duration of the plan unless the operator chooses
// another one, and says which purchase governs the license.
func TestRenewalByPlan(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	_, err := s.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "price_2w", Name: "Sprint", ProductID: "atlas", Duration: api.Duration{Days: 14}})
	is.NoErr(err)
	bought, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "sub_1", At: s.clock(), CustomerID: "ada", Name: "Ada", PlanID: "price_2w", State: api.PurchaseActive})
	is.NoErr(err)
	l := *bought.License
	ask := v.get("licenses/" + l.ID + "/renew")
	require.Contains(t, ask.body, "Its plan, Sprint, lasts 14 days.", "The purchase sub_1 governs it", `value="P14D" checked`, "New expiry: 29 Mar 2026, in")
	require.Contains(t, v.get("licenses/"+l.ID).body, "Paid until · in ")
	is.Equal(v.change("licenses/"+l.ID+"/renew", "term", "P14D", "from", "later").StatusCode, http.StatusSeeOther)
	after, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(*after.ExpiresAt, l.ExpiresAt.AddDate(0, 0, 14))

	plain := s.license(api.CreateLicenseParams{Name: "By hand", ExpiresAt: after.ExpiresAt})
	ask = v.get("licenses/" + plain.ID + "/renew")
	require.Contains(t, ask.body, `value="P1Y" checked`)
	require.NotContains(t, ask.body, "Its plan", "governs it", "P14D")
	require.Contains(t, v.get("licenses/"+plain.ID).body, "Expires · in ")
}

// TestAskAnAdmin: support reads what an admin can do, and gets a link to each page and action.
func TestAskAnAdmin(t *testing.T) {
	s := newSiteOn(t, memory.New(), licensing.Options{PublicURL: "https://acme.example/licensing"})
	s.operator("sue@example.com", operator.RoleSupport)
	l := s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "a & b"})
	support, admin := s.signedIn("sue@example.com"), s.admin()
	pages := []string{"customer?id=a+%26+b"}
	for _, name := range []string{"edit", "plan", "transfer", "rekey", "void-files", "revoke", "delete"} {
		pages = append(pages, "licenses/"+l.ID+"/"+name)
		require.Contains(t, support.get("licenses/"+l.ID).body, "Ask an admin</li>", `/`+name+`">`)
	}
	require.NotContains(t, admin.get("licenses/"+l.ID).body, "Ask an admin")
	require.NotContains(t, admin.get(pages[0]).body, "Ask an admin")
	for _, name := range []string{"licenses/new?customer=", "customer/suspend?id=", "customer/id?id=", "customer.json?id=", "customer/erase?id="} {
		pages = append(pages, name+"a%20%26%20b")
		require.Contains(t, support.get(pages[0]).body, `<summary class="button">Ask an admin</summary>`, `href="./`+name+`a%20%26%20b"`)
	}
	for _, page := range pages[1:] {
		asked := support.get(page)
		is.New(t).Equal(asked.StatusCode, http.StatusForbidden)
		require.Contains(t, html.UnescapeString(asked.body), "<h1>Ask an admin</h1>", `id="ask"`, ">https://acme.example/licensing/dashboard/"+page+"</a>")
		is.New(t).Equal(admin.get(page).StatusCode, http.StatusOK)
	}
	require.NotContains(t, support.post("licenses/"+l.ID+"/revoke").body, `id="ask"`) // not what was submitted
	_, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "sub_1", At: s.clock(), CustomerID: "ada", PlanID: "price_1", State: api.PurchaseActive})
	is.New(t).NoErr(err)
	require.Contains(t, s.signedIn("sue@example.com").get("purchase/sub_1").body, `plans/new?id=price_1">Ask an admin</a> to create its plan.`)
}
