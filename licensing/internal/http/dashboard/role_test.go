package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// The rule of who may do what, stated without the table of the package: a page
// with a form action is for operators who may submit the form, and every other
// page is for all operators. These are the exceptions.
var (
	// ownAccount are forms about the account of the operator.
	ownAccount = []string{"password", "sessions", "second-factor"}
	// supportChanges are the changes that the support role may make.
	supportChanges = []string{
		"licenses/{id}/renew", "licenses/{id}/reinstate", "licenses/selected/reinstate", "licenses/selected/renew",
		"licenses/{id}/suspend", "licenses/selected/suspend", "licenses/{id}/file",
		"licenses/{id}/activations/{activation}/release", "licenses/{id}/activations/release", "customer/release",
		"licenses/{id}/mail-link", "customer/mail-link", "customer/email",
		"purchase/{reference}/allow-trial",
	}
	// adminPages are pages for admins without a form action.
	adminPages = []string{"settings/keys", "settings/keys.json", "customer.json"}
)

// mayUse reports whether a role may use a route.
func mayUse(role operator.Role, route dashboard.Route, hasForm bool) bool {
	switch {
	case role == operator.RoleAdmin, route.Public, slices.Contains(ownAccount, route.Path):
		return true
	case role == operator.RoleSupport && slices.Contains(supportChanges, route.Path):
		return true
	case role == operator.RoleSupport && strings.HasPrefix(route.Path, "settings/credentials"):
		return false
	}
	return !hasForm && !slices.Contains(adminPages, route.Path)
}

func TestEveryRouteChecksTheRole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	at := s.paths()
	routes := dashboard.Routes()
	forms := map[string]bool{}
	for _, r := range routes {
		forms[r.Path] = forms[r.Path] || r.Method == http.MethodPost
	}
	for _, role := range []operator.Role{operator.RoleAdmin, operator.RoleSupport, operator.RoleViewer} {
		email := string(role) + "@example.com"
		s.operator(email, role)
		v := s.signedIn(email)
		for _, route := range routes {
			// An admin may submit every form; other tests do.
			if route.Public || role == operator.RoleAdmin && route.Method == http.MethodPost {
				continue
			}
			t.Run(string(role)+" "+route.Method+" "+route.Path, func(t *testing.T) {
				is := is.New(t)
				allowed := v.visit(route.Method, at(route.Path)).StatusCode != http.StatusForbidden
				is.Equal(allowed, mayUse(role, route, forms[route.Path]))
			})
		}
	}
}

// keyParts returns the texts that would give away a license key: its groups. Of the
// last one, a masked key shows the last four characters.
func keyParts(key string) []string {
	parts := strings.Split(key, "-")
	return parts
}

func TestKeysAreShownOnlyToAdmins(t *testing.T) {
	s := newSite(t)
	at := s.paths()
	is := is.New(t)
	l, err := s.Service().Get(t.Context(), strings.TrimPrefix(at("licenses/{id}"), "licenses/"))
	is.NoErr(err)
	key := l.Key
	secret := func(body string) string {
		for _, part := range keyParts(key) {
			if strings.Contains(strings.ToUpper(body), part) {
				return part
			}
		}
		return ""
	}
	masked := "…" + key[len(key)-4:]
	s.operator("ada@example.com", operator.RoleAdmin)
	require.Contains(t, s.signedIn("ada@example.com").get(at("licenses/{id}")).body, key)
	require.Contains(t, s.signedIn("ada@example.com").get("licenses.csv").body, key)

	for _, role := range []operator.Role{operator.RoleSupport, operator.RoleViewer} {
		email := string(role) + "@example.com"
		s.operator(email, role)
		v := s.signedIn(email)
		require.Contains(t, v.get(at("licenses/{id}")).body, masked)
		for _, route := range dashboard.Routes() {
			// Without a query, and with the queries that pages read.
			for _, query := range []string{"", "?q=Atlas", "?search=Atlas", "?from=" + l.ID, "?id=atlas", "?ended=1"} {
				if route.Method == http.MethodPost && query != "" {
					continue
				}
				if a := v.visit(route.Method, at(route.Path)+query); secret(a.body) != "" {
					t.Errorf("%s %s%s shows a part of a key to %s: %s", route.Method, route.Path, query, role, secret(a.body))
				}
			}
		}
	}
}

// A search for a group of a key or the beginning of one gets the same answer as a
// search for nothing, so that it cannot be used to guess a key. The whole key that
// a customer sends finds the license, whose page masks it.
func TestSearchDoesNotRevealKeys(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	imported := s.license(api.CreateLicenseParams{Name: "Atlas", Key: "OLD-SYSTEM-KEY-00000001"})
	s.operator("ada@example.com", operator.RoleAdmin)
	link := regexp.MustCompile(`licenses/lic_\w+`)
	finds := func(v *visitor, page, text string) bool {
		return link.MatchString(v.get(page + url.QueryEscape(text)).body)
	}
	admin := s.signedIn("ada@example.com")
	is.True(finds(admin, "licenses?q=", l.Key) && finds(admin, "licenses?q=", l.Key[:5]) && finds(admin, "licenses?q=", imported.Key))
	for _, role := range []operator.Role{operator.RoleSupport, operator.RoleViewer} {
		email := string(role) + "@example.com"
		s.operator(email, role)
		v := s.signedIn(email)
		is.True(finds(v, "licenses?q=", "atlas") && finds(v, "licenses?q=", l.ID))
		for _, text := range []string{l.Key, strings.ToLower(l.Key), imported.Key} {
			is.True(finds(v, "licenses?q=", text))
			is.Equal(v.get("search?q="+url.QueryEscape(text)).StatusCode, http.StatusSeeOther)
			is.True(!finds(v, "audit?subject=", text))
			page := v.follow(v.get("search?q=" + url.QueryEscape(text)))
			require.Contains(t, page.body, "Atlas")
			require.NotContains(t, page.body, text)
		}
		for _, text := range []string{l.Key[:len(l.Key)-1], l.Key[:5], l.Key[:3], l.Key[6:11], l.Key[len(l.Key)-5:], l.Key[len(l.Key)-4:], l.Key[:11], imported.Key[:10], imported.Key[:22], "00000001"} {
			for _, page := range []string{"licenses?q=", "licenses.csv?q=", "audit?subject=", "search?q="} {
				if finds(v, page, text) {
					t.Errorf("%s%s finds the license for %s", page, text, role)
				}
			}
			require.NotContains(t, v.get("licenses.csv?q="+url.QueryEscape(text)).body, "Atlas")
		}
	}
}

func TestSupportMayRenewReinstateAndRelease(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	end := s.clock().AddDate(0, 1, 0)
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &end})
	a := s.activate(l, "machine-1", "Reception")
	s.operator("sue@example.com", operator.RoleSupport)
	v := s.signedIn("sue@example.com")
	home := "licenses/" + l.ID

	body := v.get(home).body
	require.Contains(t, body, home+`/renew"`)
	own, asks, _ := strings.Cut(body, "Ask an admin")
	for _, no := range []string{"/edit", "/revoke", "/rekey", "/delete"} {
		require.NotContains(t, own, no)
		require.Contains(t, asks, no)
	}
	require.NotContains(t, body, "from=", `data-copy="key"`)
	require.Contains(t, v.get(home+"/activations").body, a.ID+"/release")
	is.Equal(v.post(home+"/activations/"+a.ID+"/release").StatusCode, http.StatusSeeOther)
	_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	require.Contains(t, v.get(home).body, home+"/reinstate")
	is.Equal(v.post(home+"/reinstate").StatusCode, http.StatusSeeOther)
	is.Equal(v.change(home+"/renew", "term", "P1Y", "from", "later").StatusCode, http.StatusSeeOther)
	l, err = s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(l.Status, api.LicenseActive)
	is.Equal(*l.ExpiresAt, end.AddDate(1, 0, 0))

	is.Equal(v.get("settings").Header.Get("Location"), "./settings/webhooks")
	_, _, err = s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	require.Contains(t, v.get("audit").body, "Web shop")
	for _, page := range []string{"", "audit"} {
		require.NotContains(t, v.get(page).body, "settings/credentials") // no link to a page that is forbidden
	}
	require.Contains(t, v.get("password").body, "Support")
	require.Contains(t, v.get(home+"/edit").body, "Your role, support, does not allow this. An admin can do it.")
}

// The host application can return each role. It cannot return an unknown one.
func TestHostReturnsRoles(t *testing.T) {
	is := is.New(t)
	role := operator.RoleSupport
	s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{
		Operator: func(http.ResponseWriter, *http.Request) (operator.Operator, bool) {
			return operator.Operator{ID: "7", Role: role}, true
		},
	}})
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	get := func(page string) reply { return s.visitor().get(page) }
	require.NotContains(t, get("licenses/"+l.ID).body, l.Key)
	is.Equal(get("settings/credentials").StatusCode, http.StatusForbidden)
	role = operator.RoleAdmin
	require.Contains(t, get("licenses/"+l.ID).body, l.Key)
	role = "owner"
	is.Equal(get("licenses").StatusCode, http.StatusForbidden)
	require.Contains(t, s.log.String(), `the role \"owner\" is unknown; it must be \"admin\", \"support\" or \"viewer\"`)
}

// paths returns a function that fills in the parameters of a route with the ids
// of existing objects.
func (s *site) paths() func(string) string {
	end := s.clock().AddDate(1, 0, 0)
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &end, Terms: api.Terms{Entitlements: map[string]any{"export": true}, Meters: map[string]api.Meter{"exports": {}}}})
	seat := s.activate(l, "machine-1", "Reception")
	c, _, err := s.Auth().CreateClient(s.t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.New(s.t).NoErr(err)
	op := s.operator("zoe@example.com", operator.RoleViewer)
	hook := s.webhook("https://shop.example/hooks")
	sent, err := s.Webhooks().Test(s.t.Context(), hook.ID)
	is.New(s.t).NoErr(err)
	keys, err := s.Files().Keys(s.t.Context())
	is.New(s.t).NoErr(err)
	s.plan(api.PutPlanParams{ID: "price_1", Duration: api.Duration{Days: 14}})
	trial, err := s.Selling().StartTrial(s.t.Context(), api.StartTrialParams{PlanID: "price_1", CustomerID: "cus_trial"})
	is.New(s.t).NoErr(err)
	return func(path string) string {
		path = strings.Replace(path, "plan/{id}", "plan/price_1", 1)
		path = strings.Replace(path, "{reference}", "trial:"+trial.License.ID, 1)
		path = strings.Replace(path, "keys/{id}", "keys/"+keys[0].ID, 1)
		path = strings.Replace(path, "webhooks/{id}", "webhooks/"+hook.ID, 1)
		path = strings.Replace(path, "{delivery}", sent.ID, 1)
		path = strings.Replace(path, "operators/{id}", "operators/"+op.ID, 1)
		path = strings.Replace(path, "licenses/{id}", "licenses/"+l.ID, 1)
		path = strings.Replace(path, "{activation}", seat.ID, 1)
		path = strings.Replace(path, "{meter}", "exports", 1)
		path = strings.Replace(path, "{name}", "createLicense", 1)
		path = strings.Replace(path, "credentials/{id}", "credentials/"+c.ID, 1)
		return strings.Replace(path, "{secret}", c.Secrets[0].ID, 1)
	}
}

func TestRoutesEnforceAccess(t *testing.T) {
	s := newSite(t)
	s.operator("ada@example.com", operator.RoleAdmin)
	s.operator("vic@example.com", operator.RoleViewer)
	at := s.paths()
	stranger, viewer := s.visitor(), s.signedIn("vic@example.com")
	for _, route := range dashboard.Routes() {
		t.Run(route.Method+" "+route.Path, func(t *testing.T) {
			is := is.New(t)
			if !route.Public {
				a := stranger.visit(route.Method, at(route.Path))
				if route.Method == http.MethodPost && !route.ForLogin {
					is.Equal(a.StatusCode, http.StatusForbidden)
					require.Contains(t, a.body, "Your session has ended")
				} else {
					is.Equal(a.StatusCode, http.StatusSeeOther) // redirected to the sign-in
					require.HasPrefix(t, a.Header.Get("Location"), strings.Repeat("../", strings.Count(at(route.Path), "/")))
					require.Contains(t, a.Header.Get("Location"), "sign-in")
				}
			}
			if route.Method == http.MethodPost {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/dashboard/"+at(route.Path), nil)
				is.NoErr(err)
				req.Header.Set("Sec-Fetch-Site", "same-site")
				a := viewer.do(req)
				is.Equal(a.StatusCode, http.StatusForbidden) // forms of other sites are rejected
				require.Contains(t, a.body, "sent from another site", "</html>")
				req.Header.Del("Sec-Fetch-Site")
				req.Header.Set("Origin", "https://evil.example")
				is.Equal(viewer.do(req).StatusCode, http.StatusForbidden)
			}
		})
	}
	page, err := s.Service().List(t.Context(), api.ListLicensesParams{})
	is := is.New(t)
	is.NoErr(err)
	is.Equal(page.Data[0].Revision, int64(1)) // no request changed the license
}

// visit requests a page, or submits an empty form.
func (v *visitor) visit(method, path string) reply {
	v.s.t.Helper()
	if method == http.MethodPost {
		return v.post(path)
	}
	return v.get(path)
}

func TestViewersSeeNoAdminButtons(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.operator("ada@example.com", operator.RoleAdmin)
	s.operator("vic@example.com", operator.RoleViewer)
	at := s.paths()
	viewer := s.signedIn("vic@example.com")
	admin := s.signedIn("ada@example.com")
	button := regexp.MustCompile(`/(new|edit|suspend|reinstate|revoke|rekey|renew|release|correct|delete|rotate|enable|disable|pause|resume|test|resend)"`)
	for _, page := range []string{"licenses", "licenses/{id}", "settings/credentials", "settings/credentials/{id}", "settings/operators", "settings/webhooks", "settings/webhooks/{id}", "settings/webhooks/{id}/deliveries/{delivery}"} {
		require.Matches(t, admin.get(at(page)).body, button)
		a := viewer.get(at(page))
		is.Equal(a.StatusCode, http.StatusOK)
		is.Equal(button.FindString(a.body), "")
	}
}

// TestOperatorsReadWhatAnAdminDoes: who sees no key and no menu of a customer reads why, and
// who has forgotten the password whom to ask.
func TestOperatorsReadWhatAnAdminDoes(t *testing.T) {
	s := newSite(t)
	s.operator("ada@example.com", operator.RoleAdmin)
	s.operator("vic@example.com", operator.RoleViewer)
	s.operator("sue@example.com", operator.RoleSupport)
	l := s.license(api.CreateLicenseParams{Name: "Team"})
	for page, texts := range map[string][]string{
		"licenses/" + l.ID:            {"Only admins see the whole key.", "Only admins see the whole key."},
		"customer?id=" + l.CustomerID: {"An admin can create licenses here", "Ask an admin</summary>"},
	} {
		require.NotContains(t, s.signedIn("ada@example.com").get(page).body, texts...)
		require.Contains(t, s.signedIn("vic@example.com").get(page).body, texts[0])
		require.Contains(t, s.signedIn("sue@example.com").get(page).body, texts[1])
	}
	require.Contains(t, s.visitor().get("sign-in").body, "ask an admin for a password reset link.")
}

func TestTrustedOriginsCanSubmitForms(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{Origins: []string{"https://admin.example"}}})
	s.operator("ada@example.com", operator.RoleAdmin)
	for origin, want := range map[string]int{"https://admin.example": http.StatusSeeOther, "https://evil.example": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/dashboard/sign-in",
			strings.NewReader("email=ada@example.com&password="+strings.ReplaceAll(password, " ", "+")))
		is.NoErr(err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", origin)
		is.Equal(s.visitor().do(req).StatusCode, want)
	}
}

func TestPathsAndMethods(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	for _, tt := range []struct {
		method, path     string
		status           int
		location, allows string
	}{
		{http.MethodGet, "/", 303, "dashboard/", ""},
		{http.MethodGet, "/dashboard", 303, "dashboard/", ""},
		{http.MethodPost, "/", 405, "", "GET, HEAD, OPTIONS"},
		{http.MethodDelete, "/dashboard", 405, "", "GET, HEAD, OPTIONS"},
		{http.MethodGet, "/dashboard/", 200, "", ""},
		{http.MethodGet, "/dashboard/settings", 303, "./settings/credentials", ""},
		{http.MethodHead, "/dashboard/licenses", 200, "", ""},
		{http.MethodGet, "/dashboard/licenses/", 404, "", ""},
		{http.MethodGet, "/dashboard/nowhere", 404, "", ""},
		{http.MethodGet, "/dashboard/licenses/lic_nowhere", 404, "", ""},
		{http.MethodGet, "/dashboard/licenses/a%2Fb", 404, "", ""},
		{http.MethodGet, "/dashboard/settings/credentials/cid_nowhere", 404, "", ""},
		{http.MethodGet, "/dashboard/static/app.css", 404, "", ""},
		{http.MethodPost, "/dashboard/licenses", 405, "", "GET, HEAD, OPTIONS"},
		{http.MethodDelete, "/dashboard/licenses/new", 405, "", "GET, HEAD, OPTIONS, POST"},
		{http.MethodGet, "/dashboard/sign-out", 405, "", "OPTIONS, POST"},
		{http.MethodPut, "/dashboard/static/" + dashboard.Assets()["app.js"], 405, "", "GET, HEAD, OPTIONS"},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			is := is.New(t)
			req, err := http.NewRequestWithContext(t.Context(), tt.method, s.base+tt.path, nil)
			is.NoErr(err)
			a := v.do(req)
			is.Equal(a.StatusCode, tt.status)
			is.Equal(a.Header.Get("Location"), tt.location)
			is.Equal(a.Header.Get("Allow"), tt.allows)
		})
	}
	t.Run("only forms are accepted", func(t *testing.T) {
		is := is.New(t)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/dashboard/licenses/new", strings.NewReader(`{}`))
		is.NoErr(err)
		req.Header.Set("Content-Type", "application/json")
		is.Equal(v.do(req).StatusCode, http.StatusUnsupportedMediaType)
	})
	t.Run("large forms are rejected", func(t *testing.T) {
		is.New(t).Equal(v.post("licenses/new", "name", strings.Repeat("x", 300<<10)).StatusCode, http.StatusRequestEntityTooLarge)
	})
}

func TestSplitMount(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{})
	status := func(h http.Handler, path string) int {
		w := newRecorder()
		h.ServeHTTP(w, newRequest(path))
		return w.Code
	}
	is.Equal(status(h.Dashboard(), "/dashboard/setup"), http.StatusOK)
	is.Equal(status(h.Dashboard(), "/health"), http.StatusNotFound)
	is.Equal(status(h.API(), "/dashboard/setup"), http.StatusNotFound)
	is.Equal(status(h.API(), "/health"), http.StatusOK)
}
