package dashboard_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

func newRequest(path string) *http.Request {
	return httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
}

// everyPage returns the responses of all GET routes and of some invalid forms.
func everyPage(s *site) map[string]reply {
	pages := map[string]reply{}
	stranger := s.visitor()
	pages["setup"] = stranger.get("setup")
	pages["setup, wrong"] = stranger.post("setup", "code", "x")
	v := s.admin()
	pages["sign-in"] = stranger.get("sign-in")
	pages["sign-in, wrong"] = stranger.post("sign-in", "email", "eve@example.com")
	at := s.paths()
	soon := s.clock().AddDate(0, 0, 7)
	s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &soon}) // shown on the overview
	for _, route := range dashboard.Routes() {
		if a := v.get(at(route.Path)); route.Method == http.MethodGet && a.StatusCode == http.StatusOK && strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			pages[route.Path] = a
		}
	}
	pages["licenses, wrong"] = v.get("licenses?status=asleep")
	pages["search, found"] = v.get("search?q=harb")
	pages["search, none"] = v.get("search?q=unheard+of")
	pages["licenses, none"] = v.get("licenses?q=unheard+of")
	pages["licenses/new, wrong"] = v.post("licenses/new", "grace_seconds", "a while")
	pages["credentials/new, wrong"] = v.post("settings/credentials/new")
	pages["password, wrong"] = v.post("password", "password", "short")
	pages["settings/keys/rotate, wrong"] = v.post("settings/keys/rotate", "next", v.get("settings/keys/rotate").hidden("next"))
	pages["settings/keys/{id}/compromise, wrong"] = v.post(at("settings/keys/{id}/compromise"))
	pages["customer"] = v.get("customer?id=harbour-pilots")
	_ = s.Service().Delete(s.t.Context(), api.DeleteLicenseParams{ID: s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "former"}).ID})
	pages["customer, without licenses"] = v.get("customer?id=former")
	pages["customer/suspend"] = v.get("customer/suspend?id=harbour-pilots")
	pages["customer/reinstate"] = v.get("customer/reinstate?id=harbour-pilots")
	pages["customer/devices"] = v.get("customer/devices?id=harbour-pilots")
	pages["customer/devices, none"] = v.get("customer/devices?id=former&unseen=2026-01-01")
	pages["customer/id"] = v.get("customer/id?id=harbour-pilots")
	s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "buyer"})
	pages["customer/id, merge"] = v.post("customer/id?id=harbour-pilots", "to", "buyer")
	pages["customer/id, wrong"] = v.post("customer/id?id=harbour-pilots", "to", "")
	pages["customer/erase"] = v.get("customer/erase?id=harbour-pilots")
	pages["customer/erase, wrong"] = v.post("customer/erase?id=harbour-pilots", "customer", "other")
	pages["not found"] = v.get("nowhere")
	pages["licenses/{id}, wrong"] = v.get(at("licenses/{id}") + "?at=soon")
	pages["licenses/{id}/renew, wrong"] = v.post(at("licenses/{id}/renew"))
	pages["licenses/{id}/file, wrong"] = v.post(at("licenses/{id}/file"))
	pages["licenses/selected/suspend, asked"] = v.get("licenses/selected/suspend?id=" + at("licenses/{id}")[len("licenses/"):])
	pages["licenses/selected/suspend, done"] = v.post("licenses/selected/suspend", "id", at("licenses/{id}")[len("licenses/"):])
	pages["audit, wrong"] = v.get("audit?from=soon")
	pages["webhooks/new, wrong"] = v.post("settings/webhooks/new", "url", "nowhere")
	pages["webhook secret"] = v.post("settings/webhooks/new", "url", "https://shop.example/other", "types", "all")
	pages["secret"] = v.post("settings/credentials/new", "name", "Partner", "scopes", auth.ScopeLicenseRead)
	return pages
}

func TestEveryPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	pages := everyPage(s)
	titles := map[string]string{}
	count := func(a reply, pattern string) int { return len(regexp.MustCompile(pattern).FindAllString(a.body, -1)) }
	if len(pages) < 25 {
		t.Fatalf("only %d pages were opened", len(pages))
	}
	for name, a := range pages {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			h := a.Header
			is.Equal(h.Get("Content-Type"), "text/html; charset=utf-8")
			is.Equal(h.Get("Cache-Control"), "no-store")
			is.Equal(h.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
				"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'")
			is.Equal(h.Get("Referrer-Policy"), "same-origin")
			is.Equal(h.Get("X-Content-Type-Options"), "nosniff")
			is.Equal(h.Get("Cross-Origin-Opener-Policy"), "same-origin")
			is.Equal(h.Get("Cross-Origin-Resource-Policy"), "same-origin")
			is.True(h.Get("X-Request-Id") != "")

			is.Equal(count(a, `<html lang="en"`), 1)
			is.Equal(count(a, `<h1[ >]`), 1)
			is.Equal(count(a, `<main id="main"`), 1)
			is.Equal(count(a, `<a class="skip" href="#main">`), 1)
			is.Equal(count(a, `<script`), 1)                      // one external file
			is.Equal(count(a, `<style|style="|<[^>]* on\w+=`), 0) // nothing inline
			require.NotContains(t, a.body, "ZgotmplZ", "<no value>", "%!")
			for _, link := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
				if link[1] == "https://github.com/seed-d8a106b4/licensekit/blob/main/licensing/docs/http.md" { // the guide to the API
					continue
				}
				is.True(!strings.HasPrefix(link[1], "/") && (!strings.Contains(link[1], "://") || strings.HasPrefix(link[1], "otpauth://totp/"))) // relative, for any mount
			}
			for _, control := range regexp.MustCompile(`<(?:input|select|textarea)[^>]* id="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
				is.True(a.says(`<label class="choice">`+control[0]) || a.says(`<label for="`+control[1]+`"`)) // each control has a label
			}
			for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
				is.Equal(strings.Count(a.body, ` id="`+id[1]+`"`), 1) // each id is unique
			}
			for _, ref := range regexp.MustCompile(`(?:aria-describedby|aria-labelledby|href)="#?([^"/?]+)"`).FindAllStringSubmatch(a.body, -1) {
				if strings.Contains(ref[0], `href="`) && !strings.Contains(ref[0], `href="#`) {
					continue
				}
				for id := range strings.FieldsSeq(ref[1]) {
					require.Contains(t, a.body, ` id="`+id+`"`) // the target exists
				}
			}
			if a.StatusCode == http.StatusUnprocessableEntity {
				require.Contains(t, a.body, `<title>Error: `, `role="alert"`)
			}
			title := regexp.MustCompile(`<title>(.*)</title>`).FindStringSubmatch(a.body)[1]
			if other, taken := titles[title]; taken && !strings.HasPrefix(other, strings.Split(name, ",")[0]) && !strings.HasPrefix(name, strings.Split(other, ",")[0]) {
				t.Errorf("%q is also the title of %s", title, other)
			}
			titles[title] = name
		})
	}
}

func TestUserInputIsEscaped(t *testing.T) {
	is := is.New(t)
	const nasty = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{
		Name: nasty, ProductID: nasty, CustomerID: nasty,
		Terms: api.Terms{Entitlements: map[string]any{"support": nasty}}, Metadata: map[string]string{"note": nasty},
	})
	_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: nasty})
	is.NoErr(err)
	other := nasty + "2"
	_, err = s.Service().Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: &other})
	is.NoErr(err)
	c, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: nasty, Products: []string{nasty}})
	is.NoErr(err)
	soon := s.now.AddDate(0, 0, 7)
	l2, err := s.Service().As(license.Caller{Actor: "client:" + c.ID}).Create(t.Context(), api.CreateLicenseParams{Name: nasty, ProductID: nasty, CustomerID: nasty, ExpiresAt: &soon})
	is.NoErr(err)

	s.activate(l2, nasty, nasty)
	hook, _, err := s.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: "https://shop.example/<script>", Description: nasty, Products: []string{nasty}})
	is.NoErr(err)

	typed := map[string]reply{}
	for _, page := range []string{
		"licenses/" + l2.ID, "licenses/" + l2.ID + "/activations", "licenses/" + l2.ID + "/renew", "licenses/selected/suspend?id=" + l2.ID,
		"", "customers", "products", "audit", "settings/webhooks", "settings/webhooks/" + hook.ID, "settings/webhooks/" + hook.ID + "/edit",
		"licenses", "licenses/" + l.ID, "licenses/" + l.ID + "/edit", "licenses/" + l.ID + "/delete", "licenses/" + l.ID + "/revoke",
		"settings/credentials", "settings/credentials/" + c.ID, "settings/credentials/" + c.ID + "/edit", "settings/credentials/" + c.ID + "/rotate",
	} {
		typed[page] = v.get(page)
		is.Equal(typed[page].StatusCode, http.StatusOK)
		require.Contains(t, typed[page].body, "&lt;script&gt;") // shown as text
	}
	escaped := strings.NewReplacer("<", "%3C", ">", "%3E", `"`, "%22", " ", "+", "'", "%27", "=", "%3D").Replace(nasty)
	typed["search everything"] = v.get("search?q=" + escaped)
	typed["search"] = v.get("licenses?q=" + escaped + "&status=" + escaped + "&product=" + escaped + "&customer=" + escaped + "&cursor=" + escaped)
	typed["verdict"] = v.get("licenses/" + l.ID + "?at=" + escaped + "&fingerprint=" + escaped + "&product=" + escaped)
	typed["directory"] = v.get("customers?q=" + escaped + "&after=" + escaped)
	typed["audit search"] = v.get("audit?type=" + escaped + "&subject=" + escaped + "&customer=" + escaped)
	typed["renew"] = v.post("licenses/"+l2.ID+"/renew", "term", "length", "duration", nasty, "expires_at", nasty, "reason", nasty)
	typed["new webhook"] = v.post("settings/webhooks/new", "url", nasty, "description", nasty, "types", nasty, "products", nasty)
	typed["selected"] = v.post("licenses/selected/suspend", "id", l2.ID, "id", nasty, "reason", nasty)
	typed["no such license"] = v.get("licenses/" + strings.ReplaceAll(escaped, "+", "%20"))
	typed["sign-in"] = s.visitor().post("sign-in", "email", nasty, "password", nasty, "return", nasty)
	typed["new license"] = v.post("licenses/new", "name", nasty, "product_id", nasty, "customer_id", nasty, "starts_at", nasty, "expires_at", nasty,
		"grace_seconds", nasty, "max_activations", nasty, "lease_seconds", nasty, "entitlements_name", nasty, "entitlements_value", nasty, "metadata_name", nasty, "metadata_value", nasty, "key", nasty, "once", nasty)
	typed["new credential"] = v.post("settings/credentials/new", "name", nasty, "products", nasty, "scopes", nasty)
	typed["reason"] = v.post("licenses/"+l.ID+"/revoke", "reason", nasty+"\x00")
	typed["delete"] = v.post("licenses/"+l.ID+"/delete", "name", nasty)
	typed["password"] = v.post("password", "current", nasty, "password", nasty)
	typed["secret"] = v.post("settings/credentials/new", "name", nasty, "scopes", auth.ScopeLicenseRead)
	typed["theme"] = v.post("theme", "theme", nasty, "return", nasty)
	for page, a := range typed {
		t.Run(page, func(t *testing.T) {
			is := is.New(t)
			require.Less(t, a.StatusCode, 500)
			require.NotContains(t, a.body, "<script>", "<img") // escaped
			is.True(!strings.ContainsAny(a.Header.Get("Location"), "<>\""))
		})
	}
}

func TestAssets(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.visitor()
	for name, want := range map[string]struct {
		contentType string
		most        int
	}{"app.css": {"text/css; charset=utf-8", 22 << 10}, "app.js": {"text/javascript; charset=utf-8", 10 << 10}, "icon.svg": {"image/svg+xml", 1 << 10}} {
		a := v.get("static/" + dashboard.Assets()[name])
		is.Equal(a.StatusCode, http.StatusOK)
		is.Equal(a.Header.Get("Content-Type"), want.contentType)
		is.Equal(a.Header.Get("Cache-Control"), "public, max-age=31536000, immutable")
		require.AtMost(t, len(a.body), want.most)
		require.Matches(t, dashboard.Assets()[name], regexp.MustCompile(`^\w+\.[0-9a-f]{12}\.\w+$`))
	}
}

// TestLargePagesAreCompressed, but none that another site may have made the browser request:
// its size would tell what the page has in common with the query.
func TestLargePagesAreCompressed(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for range 30 {
		s.license(api.CreateLicenseParams{Name: "Atlas"})
	}
	for _, tt := range []struct {
		page, from string
		packed     bool
	}{{"licenses", "same-origin", true}, {"licenses", "none", true}, {"licenses", "cross-site", false}, {"licenses", "same-site", false}, {"licenses", "", false}, {"settings/webhooks", "none", false}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/dashboard/"+tt.page, nil)
		is.NoErr(err)
		if tt.from != "" {
			req.Header.Set("Sec-Fetch-Site", tt.from)
		}
		a := v.do(req) // accepts gzip
		is.Equal(a.Uncompressed, tt.packed)
		require.Contains(t, a.body, "</html>")
		is.Equal(a.Header.Get("Vary"), "Accept-Encoding, Sec-Fetch-Site")
	}
}

func TestTheme(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	require.Contains(t, v.get("licenses?q=a").body, `<html lang="en">`) // the theme of the system
	a := v.post("theme", "theme", "dark", "return", "licenses?q=a")
	is.Equal(a.StatusCode, http.StatusSeeOther)
	is.Equal(a.Header.Get("Location"), "./licenses?q=a")
	require.Contains(t, v.get("licenses").body, `<html lang="en" data-theme="dark">`)
	v.post("theme", "theme", "")
	require.Contains(t, v.get("licenses").body, `<html lang="en">`)
}

func TestPagesWriteNothing(t *testing.T) {
	is := is.New(t)
	st := &limitedStore{Store: memory.New()}
	st.left.Store(1000)
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	at := s.paths()
	end := s.clock().AddDate(0, 0, 7)
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &end})
	a := s.activate(l, "machine-1", "")
	done := v.post("licenses/" + l.ID + "/suspend")

	v.get("licenses") // brings the search index up to date
	st.left.Store(0)  // from now on, every Update fails
	for _, route := range dashboard.Routes() {
		if route.Method == http.MethodGet && route.Path != "licenses.csv" { // an export appends an event
			if a := v.get(at(route.Path)); a.StatusCode >= 500 || st.left.Load() != 0 {
				t.Errorf("%s: %d, %d Updates", route.Path, a.StatusCode, -st.left.Swap(0))
			}
		}
	}
	require.Contains(t, v.get("licenses/"+l.ID+"/activations/"+a.ID+"/release").body, "<p>machine-1</p>")
	require.Contains(t, v.get("licenses/"+l.ID+"/renew?term=P1M&from=later").body, "New expiry: ") // not yet confirmed
	is.True(v.follow(done).notice() != "")
	is.Equal(v.follow(done).notice(), "")
	is.Equal(st.left.Load(), int64(0)) // none was tried
}

// pairs are the combinations of foreground and background colors, with the
// minimum contrast of WCAG 2.2: 4.5 for text (1.4.3), 3 for the parts that
// identify a control (1.4.11).
var pairs = []struct {
	color, ground string
	least         float64
}{
	{"text", "ground", 4.5}, {"text", "surface", 4.5}, {"text", "sunken", 4.5},
	{"muted", "ground", 4.5}, {"muted", "surface", 4.5}, {"muted", "sunken", 4.5},
	{"quiet", "surface", 4.5}, {"quiet", "ground", 4.5}, {"quiet", "quiet-soft", 4.5},
	{"accent", "ground", 4.5}, {"accent", "surface", 4.5}, {"accent", "accent-soft", 4.5},
	{"accent-hover", "ground", 4.5}, {"accent-hover", "surface", 4.5}, {"accent-hover", "accent-soft", 4.5},
	{"surface", "accent", 4.5}, {"surface", "accent-hover", 4.5}, // buttons
	{"surface", "bad", 4.5}, {"surface", "bad-hover", 4.5},
	{"good", "good-soft", 4.5}, {"warn", "warn-soft", 4.5}, {"bad", "bad-soft", 4.5}, {"bad", "surface", 4.5}, {"bad", "sunken", 4.5},
	{"control", "surface", 3}, {"control", "ground", 3}, {"control", "sunken", 3}, // borders of controls
	{"accent", "sunken", 3},                                                      // focus ring
	{"data-1", "surface", 3}, {"data-2", "surface", 3}, {"data-3", "surface", 3}, // charts
}

func TestContrast(t *testing.T) {
	css, err := os.ReadFile("kit/static/app.css")
	is.New(t).NoErr(err)
	tokens := map[string][2]string{}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(string(css), -1) {
		tokens[m[1]] = [2]string{m[2], m[3]}
	}
	for _, p := range pairs {
		used[p.color], used[p.ground] = true, true
		for theme, name := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%s on %s, %s", p.color, p.ground, name), func(t *testing.T) {
				is := is.New(t)
				a, okA := tokens[p.color]
				b, okB := tokens[p.ground]
				is.True(okA && okB) // both are tokens of the stylesheet
				if got := contrast(a[theme], b[theme]); got < p.least {
					t.Errorf("%s on %s is %.2f, want %.1f", a[theme], b[theme], got, p.least)
				}
			})
		}
	}
	for name := range tokens {
		if name != "line" && !used[name] { // lines between rows are decoration
			t.Errorf("no pair has the color %s", name)
		}
	}
	if rest := regexp.MustCompile(`(?s)^.*?\n}\n`).ReplaceAllString(string(css), ""); regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|rgb\(|hsl\(`).MatchString(rest) {
		t.Error("the stylesheet has a color that is not a token")
	}
}

// contrast returns the contrast ratio of WCAG 2.2.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(hex string) float64 {
	channel := func(s string) float64 {
		n, _ := strconv.ParseUint(s, 16, 8)
		c := float64(n) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(hex[1:3]) + 0.7152*channel(hex[3:5]) + 0.0722*channel(hex[5:7])
}
