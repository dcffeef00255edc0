package dashboard_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
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

// fields returns the values of the form on a page, as a browser would submit them.
func fields(a reply) url.Values {
	form := url.Values{}
	for _, m := range regexp.MustCompile(`<input[^>]* name="([^"]*)"[^>]* value="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		unchecked := strings.Contains(m[0], `type="radio"`) && !strings.Contains(a.body, m[0]+" checked")
		if strings.HasSuffix(m[1], "_name") || strings.HasSuffix(m[1], "_value") { // a row
			form.Add(m[1], html.UnescapeString(m[2]))
		} else if m[1] != "return" && m[1] != "theme" && !unchecked {
			form.Set(m[1], html.UnescapeString(m[2]))
		}
	}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for _, m := range regexp.MustCompile(`<select[^>]* name="([^"]*)"[^>]*>.*<option value="([^"]*)" selected`).FindAllStringSubmatch(a.body, -1) {
		form.Set(m[1], m[2])
	}
	for _, m := range regexp.MustCompile(`(?s)<textarea[^>]* name="([^"]*)"[^>]*>\n(.*?)</textarea>`).FindAllStringSubmatch(a.body, -1) {
		form.Set(m[1], strings.ReplaceAll(html.UnescapeString(m[2]), "\n", "\r\n"))
	}
	return form
}

// setPairs replaces the rows of a field with names and values.
func setPairs(form url.Values, field string, pairs ...string) {
	form.Del(field + "_name")
	form.Del(field + "_value")
	for i := 0; i < len(pairs); i += 2 {
		form.Add(field+"_name", pairs[i])
		form.Add(field+"_value", pairs[i+1])
	}
}

func flat(form url.Values) (list []string) {
	for name, values := range form {
		for _, value := range values {
			list = append(list, name, value)
		}
	}
	return list
}

func TestCreateLicense(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	form := fields(v.get("licenses/new"))
	for name, value := range map[string]string{
		"term": "date", "name": "Atlas Pro", "product_id": "atlas-pro", "customer_id": "studio", "starts_at": "2026-04-01T09:30", "expires_at": "2027-04-01",
		"grace_seconds": "1d 12h", "max_activations": "25", "lease_seconds": "15min",
	} {
		form.Set(name, value)
	}
	setPairs(form, "entitlements", "export", "", "projects", "250", "", "", " support ", " business hours ", "level", `"7"`)
	setPairs(form, "metadata", "order", "17 = b", "", "", "note", `"x"`)
	a := v.post("licenses/new", flat(form)...)
	is.Equal(a.StatusCode, http.StatusSeeOther)
	m := regexp.MustCompile(`^\.\./licenses/(lic_\w+)$`).FindStringSubmatch(a.to())
	is.Equal(v.follow(a).notice(), "The license has been created.")
	l, err := s.Service().Get(t.Context(), m[1])
	is.NoErr(err)
	is.Equal(l.Name+l.ProductID+l.CustomerID, "Atlas Proatlas-prostudio")
	is.Equal(*l.StartsAt, time.Date(2026, 4, 1, 9, 30, 0, 0, time.UTC))
	is.Equal(*l.ExpiresAt, time.Date(2027, 4, 2, 0, 0, 0, 0, time.UTC)) // the end of the day
	is.Equal(l.GraceSeconds, int64(36*3600))
	is.Equal(*l.MaxActivations, int64(25))
	is.Equal(*l.LeaseSeconds, int64(900))
	is.Equal(l.Entitlements, map[string]any{"export": true, "projects": 250.0, "support": "business hours", "level": "7"})
	is.Equal(l.Metadata, map[string]string{"order": "17 = b", "note": `"x"`})

	again := v.post("licenses/new", flat(form)...)
	is.Equal(again.to(), "../licenses/"+l.ID) // the same form creates no second license
	is.Equal(v.follow(again).notice(), "This form was already submitted. Nothing was created this time.")
	page, err := s.Service().List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)

	shown := v.get("licenses/" + l.ID)
	for _, text := range []string{l.Key, "1 Apr 2027<", "1 day 12 hours", ">0/25</a>", "business hours", "ada@example.com"} {
		require.Contains(t, shown.body, text)
	}
}

func TestCreateLicenseErrors(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	for _, tt := range []struct{ field, value, error string }{
		{"name", "", ""},
		{"name", strings.Repeat("x", 256), ""},
		{"name", "a\tb", ""},
		{"customer_id", "lic_x", ""},
		{"starts_at", "tomorrow", "Enter a date"},
		{"expires_at", "2026-13-01", "Enter a date"},
		{"grace_seconds", "a while", "Enter a whole number and select its unit"},
		{"grace_seconds", "-1d", "Enter a whole number and select its unit"},
		{"grace_seconds", "14", "Enter a whole number and select its unit"},
		{"grace_seconds", "18m", "The unit m is ambiguous"},
		{"lease_seconds", "1mo", "Months and years are not allowed"},
		{"max_activations", "many", "Enter a whole number"},
		{"max_activations", "-1", ""},
		{"lease_seconds", "0", ""},
		{"key", "short", ""},
		{"key", l.Key, "Is the key of another license."},
	} {
		t.Run(tt.field+"="+tt.value[:min(len(tt.value), 12)], func(t *testing.T) {
			is := is.New(t)
			form := url.Values{"name": {"Atlas"}, "product_id": {"atlas"}, "customer_id": {"bakery"}}
			form.Set(tt.field, tt.value)
			a := v.post("licenses/new", flat(form)...)
			is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
			m := regexp.MustCompile(`<a href="#f-` + tt.field + `">[^<]*</a>: ([^<]+)<`).FindStringSubmatch(a.body) // in the summary
			is.True(m != nil)
			require.HasPrefix(t, m[1], tt.error)
			require.Contains(t, a.body, `id="f-`+tt.field+`-error">`+m[1]) // and next to the field
			is.True(fields(a).Get("customer_id") != "")                    // the input is kept
		})
	}
}

func TestExpiryShortcuts(t *testing.T) {
	for _, tt := range []struct {
		form []string
		want string // the expiry; empty: none
		bad  string // the control with the error
	}{
		{[]string{"term", "never"}, "", ""},
		{[]string{"term", "P30D"}, "2026-03-31T12:00:00Z", ""},
		{[]string{"term", "P1Y"}, "2027-03-01T12:00:00Z", ""},
		{[]string{"term", "P1Y", "starts_at", "2028-02-29"}, "2029-02-28T00:00:00Z", ""},
		{[]string{"term", "date", "expires_at", "2030-01-01"}, "2030-01-02T00:00:00Z", ""},
		{[]string{"term", "date", "expires_at", "2030-01-01", "expires_at_time", "10:00"}, "2030-01-01T10:00:00Z", ""},
		{[]string{"term", "date", "expires_at_time", "10:00"}, "", "expires_at"},
		{[]string{"expires_at", "2030-01-01"}, "2030-01-02T00:00:00Z", ""},
		{[]string{"term", "date"}, "", "expires_at"},
		{[]string{"term", "date", "expires_at", "9999-12-31T23:59:59-01:00"}, "", "expires_at"}, // in UTC, the year 10000
		{[]string{"term", "date", "expires_at", "0000-01-01T00:00:00+14:00"}, "", "expires_at"}, // before the year 0
		{[]string{"term", "P30D", "expires_at", "2030-01-01"}, "", "expires_at"},
		{[]string{"term", "never", "expires_at", "2030-01-01"}, "", "expires_at"},
	} {
		t.Run(strings.Join(tt.form, " "), func(t *testing.T) {
			is := is.New(t)
			s := newSite(t)
			v := s.admin()
			a := v.post("licenses/new", append(tt.form, "name", "Atlas", "product_id", "atlas", "customer_id", "ada")...)
			if tt.bad != "" {
				is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
				require.Contains(t, a.body, `<a href="#f-`+tt.bad+`">`)
				return
			}
			is.Equal(a.StatusCode, http.StatusSeeOther)
			page, err := s.Service().List(t.Context(), api.ListLicensesParams{})
			is.NoErr(err)
			end := ""
			if at := page.Data[0].ExpiresAt; at != nil {
				end = at.Format(time.RFC3339)
			}
			is.Equal(end, tt.want)
		})
	}
}

func TestEditLicenseSendsOnlyChangedFields(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	expires := time.Date(2027, 4, 1, 1, 2, 3, 456e6, time.UTC)
	seats := int64(3)
	l := s.license(api.CreateLicenseParams{
		Name: "Atlas", ExpiresAt: &expires,
		Terms:    api.Terms{MaxActivations: &seats, GraceSeconds: 90, Entitlements: map[string]any{"a": true, "b": 1.5, "c": "true"}},
		Metadata: map[string]string{"x": "1", "y": "", "z": "\"quoted\""},
	})
	page := "licenses/" + l.ID + "/edit"
	a := v.post(page, flat(fields(v.get(page)))...)
	is.Equal(a.to(), "../../licenses/"+l.ID)
	is.Equal(v.follow(a).notice(), "Nothing was changed.") // unchanged, to the millisecond
	same, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(same, l)

	form := fields(v.get(page))
	form.Set("name", "Atlas Pro")
	form.Set("max_activations", "")
	setPairs(form, "entitlements", "b", "2", "e", "")
	setPairs(form, "metadata", "y", "2")
	a = v.post(page, flat(form)...)
	is.Equal(a.to(), "../../licenses/"+l.ID)
	l, err = s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(l.Name, "Atlas Pro")
	is.Equal(*l.ExpiresAt, expires)
	is.Equal(l.MaxActivations, nil)
	is.Equal(l.Entitlements, map[string]any{"b": 2.0, "e": true})
	is.Equal(l.Metadata, map[string]string{"y": "2"})

	form.Set("name", "Too late")
	a = v.post(page, flat(form)...) // an outdated form
	is.Equal(a.StatusCode, http.StatusConflict)
	require.Contains(t, a.body, "was changed while the form was open")
	is.Equal(fields(a).Get("name"), "Too late")
	a = v.post(page, flat(fields(a))...)
	is.Equal(a.StatusCode, http.StatusSeeOther) // after the operator reviewed it
}

func TestStateChanges(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	page := "licenses/" + l.ID
	status := func() api.LicenseStatus {
		l, err := s.Service().Get(t.Context(), l.ID)
		is.NoErr(err)
		return l.Status
	}
	refused := v.get(page + "/reinstate")
	is.Equal(refused.StatusCode, http.StatusConflict)
	require.HasSuffix(t, v.link(refused, "Go to the license").Request.URL.String(), page)
	is.Equal(v.post(page+"/reinstate").StatusCode, http.StatusConflict)
	is.Equal(v.get(page+"/explode").StatusCode, http.StatusNotFound)
	is.Equal(v.post(page+"/suspend", "reason", strings.Repeat("x", 256)).StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.post(page+"/suspend", "reason", "The invoice is open").to(), "../../"+page)
	is.Equal(status(), api.LicenseSuspended)
	require.Contains(t, v.get(page).body, "The invoice is open")
	require.Matches(t, v.get(page).body, regexp.MustCompile(`class="button primary" data-dialog href="[^"]*/reinstate"`)) // the next step
	is.Equal(v.post(page+"/reinstate").StatusCode, http.StatusSeeOther)
	is.Equal(status(), api.LicenseActive)
	is.Equal(v.post(page+"/rekey", "reason", "Leaked").StatusCode, http.StatusSeeOther)
	require.NotContains(t, v.get(page).body, l.Key)
	require.NotContains(t, v.get("audit?subject="+l.ID).body, l.Key) // not even in the history

	is.Equal(v.post(page+"/revoke", "key", lastGroup(l.Key)).StatusCode, http.StatusUnprocessableEntity) // the old key
	is.Equal(status(), api.LicenseActive)
	l, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	ask := v.get(page + "/revoke")
	require.Contains(t, ask.body, "Type "+lastGroup(l.Key)+" to confirm.")
	is.Equal(v.post(page+"/revoke", "key", " "+strings.ToLower(lastGroup(l.Key))).StatusCode, http.StatusSeeOther)
	is.Equal(status(), api.LicenseRevoked)
	is.Equal(v.post(page+"/revoke", "key", "wrong").StatusCode, http.StatusConflict) // the status is the problem

	wrong := v.post(page+"/delete", "key", "")
	is.Equal(wrong.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, wrong.body, `id="f-key-error">This is not the last group of the key.`)
	is.Equal(v.post(page+"/delete", "key", lastGroup(l.Key)).to(), "../../licenses")
	is.Equal(v.get(page).StatusCode, http.StatusNotFound)
}

// lastGroup returns the part of a license key that confirms a dangerous change.
func lastGroup(key string) string { return key[len(key)-5:] }

// TestConfirmationOfForeignKeys checks keys from other systems, which need not
// have groups.
func TestConfirmationOfForeignKeys(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	for key, end := range map[string]string{
		"ABCDEFGHIJKLMNOPQRST": "OPQRST", "1234-5678-9012-3456-78": "78", "trailing-dash-is-odd-": "s-odd-", "long-groupofmanyletters": "etters",
	} {
		t.Run(key, func(t *testing.T) {
			is := is.New(t)
			page := "licenses/" + s.license(api.CreateLicenseParams{Name: "Atlas", Key: key}).ID + "/delete"
			require.Contains(t, v.get(page).body, "Type "+end+" to confirm.")
			is.Equal(v.post(page, "key", end).StatusCode, http.StatusSeeOther)
		})
	}
}

func TestListLicenses(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	soon, late := s.now.AddDate(0, 0, 10), s.now.AddDate(1, 0, 0)
	for i := range 120 {
		p := api.CreateLicenseParams{Name: fmt.Sprintf("Number %03d", i), ProductID: "atlas", CustomerID: "bakery", ExpiresAt: &late}
		if i%2 == 1 {
			p.ProductID, p.ExpiresAt = "compass", &soon
		}
		s.license(p)
		s.advance(time.Millisecond)
	}
	names := func(page string) (list []string) {
		for {
			a := v.get(page)
			is.Equal(a.StatusCode, http.StatusOK)
			for _, m := range regexp.MustCompile(`rowheader"><a href="[^"]*">([^<]*)</a>`).FindAllStringSubmatch(a.body, -1) {
				list = append(list, m[1])
			}
			next := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(a.body)
			if next == nil {
				return list
			}
			page = "licenses" + html.UnescapeString(next[1])
			s.advance(time.Hour) // the list stays the same over time
		}
	}
	all := names("licenses")
	is.Equal(len(all), 120)
	is.Equal(all[0], "Number 119") // newest first
	is.True(slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }))
	is.Equal(len(names("licenses?product=compass&status=active")), 60)
	is.Equal(len(names("licenses?expires=30d")), 60)
	is.Equal(len(names("licenses?customer=unknown")), 0)
	_, err := s.Service().EraseCustomer(t.Context(), "cus_none") // completes the index
	is.NoErr(err)
	is.Equal(names("licenses?q=007+number"), []string{"Number 007"})
	is.Equal(len(names("licenses?q=+NUMBER+bakery")), 120)
	page, err := s.Service().List(t.Context(), api.ListLicensesParams{Search: "number 042"})
	is.NoErr(err)
	one := page.Data[0]
	is.Equal(names("licenses?q="+one.ID), []string{"Number 042"})
	is.Equal(names("licenses?q="+strings.ToLower(one.Key)), []string{"Number 042"})

	is.Equal(v.get("licenses?status=asleep").StatusCode, http.StatusBadRequest)
	is.Equal(v.get("licenses?cursor=garbage").StatusCode, http.StatusBadRequest)
}

func TestExportLicenses(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for i := range 450 {
		s.license(api.CreateLicenseParams{Name: fmt.Sprintf("Number %03d, \"quoted\"", i), ProductID: []string{"atlas", "compass"}[i%2]})
	}
	formulas := []string{"=1+1", "+1", "-1", "@SUM(A1)", "＝1", "one;=1+1; +2;-b;\"@c"}
	texts := []string{"'=1+1", "'+1", "'-1", "'@SUM(A1)", "'＝1", "one;'=1+1; '+2;'-b;\"'@c"}
	for _, name := range formulas {
		s.license(api.CreateLicenseParams{Name: name, ProductID: "formula", Metadata: map[string]string{"a": "b"}})
		s.advance(time.Millisecond)
	}
	read := func(query string) [][]string {
		a := v.get("licenses.csv" + query)
		is.Equal(a.StatusCode, http.StatusOK)
		is.Equal(a.Header.Get("Content-Type"), "text/csv; charset=utf-8")
		is.Equal(a.Header.Get("Content-Disposition"), `attachment; filename="licenses-2026-03-01.csv"`)
		text, marked := strings.CutPrefix(a.body, "\ufeff") // so that spreadsheets read it as UTF-8
		is.True(marked)
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		is.NoErr(err)
		return rows
	}
	rows := read("")
	is.Equal(len(rows), 1+450+len(formulas))
	is.Equal(rows[0][:4], []string{"id", "name", "product_id", "customer_id"})
	is.Equal(len(read("?product=compass")), 1+225)
	for i, row := range read("?product=formula")[1:] {
		is.Equal(row[1], texts[len(texts)-1-i]) // not a formula for a spreadsheet
	}
	is.Equal(v.get("licenses.csv?status=asleep").StatusCode, http.StatusBadRequest) // an invalid filter does not export everything

	audit := v.get("audit?type=license_export.created")
	require.Contains(t, audit.body, "License export created", "456 licenses with keys, as CSV", "product_id: compass")
	events, err := s.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventLicensesExported}})
	is.NoErr(err)
	is.Equal(len(events.Data), 3)
	require.HasPrefix(t, events.Data[0].Actor, "operator:opr_")
	is.Equal(string(events.Data[1].Data), `{"export":{"format":"csv","rows":225,"filter":{"product_id":"compass"}}}`)

	s.operator("vic@example.com", operator.RoleViewer) // an export without keys
	a := s.signedIn("vic@example.com").get("licenses.csv")
	require.Contains(t, a.body, "id,name,product_id,customer_id,status,", "Number 001")
	events, err = s.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventLicensesExported}})
	is.NoErr(err)
	is.Equal(len(events.Data), 3)
}

func TestHistoryPages(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Name 0"})
	for i := range 24 {
		name := fmt.Sprintf("Name %d", i+1)
		_, err := s.Service().Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: &name})
		is.NoErr(err)
	}
	var steps []string
	one := v.get("licenses/" + l.ID)
	for page := v.link(one, "All activity"); ; page = v.link(page, "Next page") {
		for _, m := range regexp.MustCompile(`Name: Name \d+ → (Name \d+)`).FindAllStringSubmatch(page.body, -1) {
			steps = append(steps, m[1])
		}
		if !page.says(`rel="next"`) {
			require.Contains(t, page.body, "License created")
			break
		}
	}
	is.Equal(len(steps), 24)
	is.Equal(steps[0], "Name 24")
	is.Equal(steps[23], "Name 1")
	require.Contains(t, one.body, "Name: Name 23 → Name 24")
	require.NotContains(t, one.body, "Name 18 → Name 19")
}

func TestParseSeconds(t *testing.T) {
	is := is.New(t)
	for s, want := range map[string]int64{"0": 0, "90s": 90, "15min": 900, "1 day 12 hours": 129600, "2w": 1209600, "36h": 129600, "1d 12h": 129600, "14D": 1209600} {
		n, err := dashboard.ParseSeconds(s)
		is.NoErr(err)
		is.Equal(n, want)
	}
	for _, s := range []string{"", " ", "d", "90", "15m", "1mo", "1y", "-1d", "1.5h", "99999999999999999999", "9999999999999d"} {
		_, err := dashboard.ParseSeconds(s)
		is.True(err != nil)
	}
}

func TestRelative(t *testing.T) {
	is := is.New(t)
	for d, want := range map[time.Duration]string{
		0: "in a moment", -time.Second: "just now", time.Minute: "in 1 minute", -90 * time.Second: "2 minutes ago", 59*time.Minute + 40*time.Second: "in 1 hour",
		24*time.Hour - time.Second: "in 1 day", -25 * time.Hour: "1 day ago", 36 * time.Hour: "in 2 days", 59 * 24 * time.Hour: "in 59 days", 800 * 24 * time.Hour: "in 2 years",
	} {
		is.Equal(dashboard.Relative(d), want)
	}
}

// A change that the status forbids is named as the pages name it.
func TestForbiddenChangesAreNamed(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	_, err := s.Service().Revoke(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	for name, words := range map[string]string{
		"void-files": "cancel license files", "rekey": "replace key", "suspend": "suspend license", "plan": "apply plan", "transfer": "transfer license",
		"reinstate": "reinstate license", "revoke": "revoke license",
	} {
		want := "Cannot " + words + ": the license is revoked."
		require.Contains(t, v.get("licenses/"+l.ID+"/"+name).body, want) // want
		// Cancel license files ends files whatever the status is.
		if name != "void-files" {
			a := v.post("licenses/" + l.ID + "/" + name)
			is.Equal(a.StatusCode, http.StatusConflict)
			require.Contains(t, a.body, want) // want
		}
	}
}

// TestNewProductIsConfirmed: a product that no license has may be a typo, so it is
// created only if that is selected.
func TestNewProductIsConfirmed(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "First", ProductID: "atlas"})
	typo := []string{"name", "Second", "product_id", "altas", "customer_id", "ada"}
	a := v.post("licenses/new", typo...)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, a.body, "Create the product “altas”", "No license has this product yet.")
	is.Equal(s.count(), 1)
	is.Equal(v.post("licenses/new", append(typo, "new_product", "atlast")...).StatusCode, http.StatusUnprocessableEntity) // of another one
	is.Equal(v.post("licenses/new", append(typo, "new_product", "altas")...).StatusCode, http.StatusSeeOther)
	is.Equal(v.post("licenses/new", append(typo, "once", v.get("licenses/new").hidden("once"))...).StatusCode, http.StatusSeeOther) // known now
	is.Equal(s.count(), 3)
	edit := []string{"name", "First", "product_id", "atlass", "customer_id", l.CustomerID}
	is.Equal(v.change("licenses/"+l.ID+"/edit", edit...).StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.change("licenses/"+l.ID+"/edit", append(edit, "new_product", "atlass")...).StatusCode, http.StatusSeeOther)
}

// TestCreateManyLicenses: one form creates many licenses, whose keys an export has. The same
// form creates what is missing and no more, and one that takes long says how far it came.
func TestCreateManyLicenses(t *testing.T) {
	is := is.New(t)
	var s *site
	hook := func() error { return nil }
	s = newSiteOn(t, memory.New(), licensing.Options{BeforeCreate: func(context.Context, *api.CreateLicenseParams) error { return hook() }})
	v := s.admin()
	number := func() int64 {
		counts, err := s.Service().Count(t.Context(), api.ListLicensesParams{CustomerID: "batch:spring"})
		is.NoErr(err)
		return counts.Total
	}
	form := func(count string) []string {
		return []string{"name", "Spring bundle", "product_id", "atlas", "customer_id", "batch:spring", "count", count, "once", v.get("licenses/new").hidden("once")}
	}
	sent := form("230")
	a := v.post("licenses/new", sent...)
	is.Equal(a.StatusCode, http.StatusSeeOther)
	is.Equal(a.to(), "../licenses?customer=batch%3Aspring")
	is.Equal(number(), int64(230))
	is.Equal(v.follow(a).notice(), "230 licenses of batch:spring exist. Export them for their keys.")
	is.Equal(v.post("licenses/new", sent...).StatusCode, http.StatusSeeOther)
	is.Equal(number(), int64(230))
	sent[7] = "250" // the same form, with another number
	is.Equal(v.post("licenses/new", sent...).StatusCode, http.StatusSeeOther)
	is.Equal(number(), int64(250))
	is.Equal(strings.Count(v.get("licenses.csv?customer=batch%3Aspring").body, "\n"), 251)

	for _, wrong := range []string{"0", "1001", "-1", "many"} {
		a := v.post("licenses/new", form(wrong)...)
		is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
		require.Contains(t, a.body, `<a href="#f-count">`)
	}
	is.Equal(v.post("licenses/new", append(form("2"), "key", "0123456789abcdefg")...).StatusCode, http.StatusUnprocessableEntity)
	is.Equal(number(), int64(250))

	// A failure after the second hundred: the same form continues after it.
	made := 0
	hook = func() error {
		if made++; made == 250 {
			return errors.New("the shop does not answer")
		}
		return nil
	}
	sent = form("1000")
	is.Equal(v.post("licenses/new", sent...).StatusCode, http.StatusInternalServerError)
	is.Equal(number(), int64(450))
	hook = func() error { s.advance(100 * time.Millisecond); return nil }
	a = v.post("licenses/new", sent...)
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, "400 of 1,000 licenses exist.", ">Continue</button>")
	is.Equal(number(), int64(650))
	for a.StatusCode == http.StatusOK {
		a = v.post("licenses/new", flat(fields(a))...)
	}
	is.Equal(v.follow(a).notice(), "1,000 licenses of batch:spring exist. Export them for their keys.")
	is.Equal(number(), int64(1250))
}
