package dashboard_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// paths returns a function that fills in the parameters of a route with the ids
// of existing objects.
func (s *site) paths() func(string) string {
	end := s.clock().AddDate(1, 0, 0)
	l := s.license(license.CreateParams{Name: "Atlas", ExpiresAt: &end, Entitlements: map[string]any{"export": true}})
	seat := s.activate(l, "machine-1", "Reception")
	c, _, err := s.Auth().CreateClient(s.t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.New(s.t).NoErr(err)
	op := s.operator("zoe@example.com", operator.RoleViewer)
	hook := s.webhook("https://shop.example/hooks")
	sent, err := s.Webhooks().Test(s.t.Context(), hook.ID)
	is.New(s.t).NoErr(err)
	keys, err := s.Files().Keys(s.t.Context())
	is.New(s.t).NoErr(err)
	s.plan(license.PutPlanParams{ID: "price_1", Duration: license.Duration{Days: 14}})
	trial, err := s.Service().StartTrial(s.t.Context(), license.StartTrialParams{PlanID: "price_1", CustomerID: "cus_trial"})
	is.New(s.t).NoErr(err)
	return func(path string) string {
		path = strings.Replace(path, "plan/{id}", "plan/price_1", 1)
		path = strings.Replace(path, "{reference}", "trial:"+trial.License.ID, 1)
		path = strings.Replace(path, "keys/{id}", "keys/"+keys[0].ID, 1)
		path = strings.Replace(path, "webhooks/{id}", "webhooks/"+hook.ID, 1)
		path = strings.Replace(path, "{delivery}", sent.ID, 1)
		path = strings.Replace(path, "operators/{id}", "operators/"+op.ID, 1)
		path = strings.Replace(path, "licenses/{id}", "licenses/"+l.ID, 1)
		path = strings.Replace(path, "{move}", "suspend", 1)
		path = strings.Replace(path, "{activation}", seat.ID, 1)
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
				is.Equal(a.StatusCode, http.StatusSeeOther) // redirected to the sign-in
				require.HasPrefix(t, a.Header.Get("Location"), strings.Repeat("../", strings.Count(at(route.Path), "/")))
				require.Contains(t, a.Header.Get("Location"), "sign-in")
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
	page, err := s.Service().List(t.Context(), license.ListParams{})
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
	button := regexp.MustCompile(`/(new|edit|suspend|reinstate|revoke|rekey|renew|release|delete|rotate|enable|disable|pause|resume|test|resend)"`)
	for _, page := range []string{"licenses", "licenses/{id}", "settings/credentials", "settings/credentials/{id}", "settings/operators", "settings/webhooks", "settings/webhooks/{id}", "settings/webhooks/{id}/deliveries/{delivery}"} {
		require.Matches(t, admin.get(at(page)).body, button)
		a := viewer.get(at(page))
		is.Equal(a.StatusCode, http.StatusOK)
		is.Equal(button.FindString(a.body), "")
	}
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
