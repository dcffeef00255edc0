package dashboard_test

import (
	"context"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestRefusedRequestsHaveAnAddress in the request log and to Observe, and no other request
// has one.
func TestRefusedRequestsHaveAnAddress(t *testing.T) {
	is := is.New(t)
	client := netip.MustParseAddr("203.0.113.9")
	seen := make(chan licensing.Observation, 100)
	o := licensing.Options{
		ClientIP: func(*http.Request) netip.Addr { return client },
		Observe:  func(_ context.Context, o licensing.Observation) { seen <- o },
	}
	s := newSiteOn(t, memory.New(), o)
	s.operator("ada@example.com", operator.RoleAdmin)
	signedIn, v := s.signedIn("ada@example.com"), s.visitor()
	license := "licenses/" + s.license(api.CreateLicenseParams{Name: "n"}).ID
	fresh := newSiteOn(t, memory.New(), o)

	o.Dashboard.Operator = func(http.ResponseWriter, *http.Request) (operator.Operator, bool) {
		return operator.Operator{ID: "ada", Role: "owner"}, true
	}
	hosted := newSiteOn(t, memory.New(), o)
	request := func(base, method, path string, header ...string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(""))
		is.NoErr(err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return r
	}
	for _, tt := range []struct {
		name    string
		log     *logBuffer
		status  int
		refused bool
		send    func() reply
	}{
		{"no token", s.log, 401, true, func() reply { return v.do(request(s.base, "GET", "/license")) }},
		{"wrong secret", s.log, 401, true, func() reply {
			return v.do(request(s.base, "GET", "/oauth/token?client_id=cid_x&client_secret=csk_x"))
		}},
		{"another site", s.log, 403, true, func() reply {
			return v.do(request(s.base, "POST", "/dashboard/sign-in", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"))
		}},
		{"operator of the host", hosted.log, 403, true, func() reply { return v.do(request(hosted.base, "GET", "/dashboard/")) }},
		{"wrong password", s.log, 422, true, func() reply { return v.post("sign-in", "email", "ada@example.com", "password", "not it") }},
		{"wrong setup code", fresh.log, 422, true, func() reply {
			return fresh.visitor().post("setup", "code", "wrong", "email", "eve@example.com", "password", password)
		}},
		{"wrong code of an app", s.log, 422, true, func() reply {
			return signedIn.post("second-factor", "secret", signedIn.get("second-factor").hidden("secret"), "otp", "000000", "current", password)
		}},
		{"throttled", s.log, 429, true, func() (a reply) {
			for range 9 {
				a = v.post("sign-in", "email", "bob@example.com", "password", "not it")
			}
			return a
		}},

		{"page", s.log, 200, false, func() reply { return v.get("sign-in") }},
		{"redirect", s.log, 303, false, func() reply { return v.get("licenses") }},
		{"another form", s.log, 422, false, func() reply { return signedIn.change(license+"/edit", "name", "") }},
		{"role or no record", s.log, 404, false, func() reply { return signedIn.get("licenses/lic_none") }},
		{"no endpoint", s.log, 404, false, func() reply { return v.do(request(s.base, "GET", "/nothing")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			a := tt.send()
			is.Equal(a.StatusCode, tt.status)
			var want netip.Addr
			if tt.refused {
				want = client
			}
			id, o := a.Header.Get("X-Request-Id"), <-seen
			for o.RequestID != id {
				o = <-seen
			}
			is.Equal([]any{o.Status, o.ClientIP}, []any{tt.status, want})
			line := regexp.MustCompile(`.*"licensing: request".*request_id=` + id + `.*`).FindString(tt.log.String())
			require.Contains(t, line, "request_id="+id)
			is.Equal(strings.Contains(line, "client_ip=203.0.113.9"), tt.refused)
		})
	}
}
