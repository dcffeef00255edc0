package dashboard_test

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestSessionCookieIsLimitedToDashboard(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	cookies := func(path string) (names []string) {
		u, err := url.Parse(s.base + path)
		is.NoErr(err)
		for _, c := range v.client.Jar.Cookies(u) {
			names = append(names, c.Name)
		}
		return names
	}
	is.Equal(cookies("/dashboard/"), []string{"licensing_session"})
	is.Equal(cookies("/dashboard/settings/credentials/cid_1/rotate"), []string{"licensing_session"})
	is.Equal(cookies("/license"), nil)      // not for the API
	is.Equal(cookies("/../other/app"), nil) // not for the rest of the host

	is.Equal(v.get("settings/credentials").StatusCode, http.StatusOK)
	is.Equal(v.post("settings/credentials/cid_1/disable").StatusCode, http.StatusNotFound) // a nested page sets no cookie
	is.Equal(v.post("password", "current", password, "password", "nine lamps along the harbour wall").StatusCode, http.StatusSeeOther)
	is.Equal(cookies("/dashboard/licenses"), []string{"licensing_session"}) // still one cookie
	is.Equal(v.get("licenses").StatusCode, http.StatusOK)

	is.Equal(v.post("sign-out").StatusCode, http.StatusSeeOther)
	is.Equal(cookies("/dashboard/"), nil)
}

func TestSignOutEndsEverySession(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	one := s.admin()
	two := s.signedIn("ada@example.com")
	is.Equal(one.get("licenses").StatusCode, http.StatusOK)
	is.Equal(two.post("sign-out").StatusCode, http.StatusSeeOther)
	is.Equal(one.get("licenses").StatusCode, http.StatusSeeOther)
	is.Equal(two.get("licenses").StatusCode, http.StatusSeeOther)
}

// slowStore blocks the first read until the test closes resume.
type slowStore struct {
	store.Store
	once            sync.Once
	reached, resume chan struct{}
}

func (s *slowStore) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	s.wait()
	return s.Store.Licenses(ctx, q)
}

func (s *slowStore) View(ctx context.Context, fn func(store.Reader) error) error {
	s.wait()
	return s.Store.View(ctx, fn)
}

func (s *slowStore) wait() {
	s.once.Do(func() { close(s.reached); <-s.resume })
}

func TestSignOutDuringSlowRequest(t *testing.T) {
	is := is.New(t)
	slow := &slowStore{Store: memory.New(), reached: make(chan struct{}), resume: make(chan struct{})}
	s := newSiteOn(t, slow, licensing.Options{})
	v := s.admin()
	u, err := url.Parse(s.base + "/dashboard/")
	is.NoErr(err)
	old := v.client.Jar.Cookies(u)

	page := make(chan reply)
	go func() { page <- v.get("licenses") }()
	<-slow.reached
	is.Equal(v.post("sign-out").StatusCode, http.StatusSeeOther)
	close(slow.resume)
	is.Equal((<-page).StatusCode, http.StatusOK) // requested before the sign-out

	is.Equal(len(v.client.Jar.Cookies(u)), 0) // the response did not set the cookie again
	v.client.Jar.SetCookies(u, old)
	is.Equal(v.get("licenses").StatusCode, http.StatusSeeOther) // the session has ended
}

func TestSignOutDuringSlowForm(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	body, typing := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/dashboard/password", body)
	is.NoErr(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := make(chan reply)
	go func() { answer <- v.do(req) }()
	form := url.Values{"current": {password}, "password": {"nine lamps along the harbour wall"}}.Encode()
	_, err = io.WriteString(typing, form[:10])
	is.NoErr(err)
	is.Equal(v.post("sign-out").StatusCode, http.StatusSeeOther)
	_, err = io.WriteString(typing, form[10:])
	is.NoErr(err)
	is.NoErr(typing.Close())
	a := <-answer
	is.Equal(a.StatusCode, http.StatusSeeOther)
	is.Equal(a.Header.Get("Location"), "./sign-in")
	is.Equal(len(a.Cookies()), 0)
	is.Equal(s.visitor().post("sign-in", "email", "ada@example.com", "password", password).StatusCode, http.StatusSeeOther) // the password is unchanged
}

func TestDemotionDuringSlowForm(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.operator("ada@example.com", operator.RoleAdmin)
	eve := s.operator("eve@example.com", operator.RoleAdmin)
	v := s.signedIn("eve@example.com")
	body, typing := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/dashboard/settings/operators/new", body)
	is.NoErr(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Expect", "100-continue")
	answer := make(chan reply)
	go func() { answer <- v.do(req) }()
	_, err = io.WriteString(typing, "email=mallory%40example.com") // the server accepted the request
	is.NoErr(err)
	viewer := operator.RoleViewer
	_, err = s.Operators().Update(t.Context(), operator.UpdateParams{ID: eve.ID, Role: &viewer})
	is.NoErr(err)
	_, err = io.WriteString(typing, "&role=admin")
	is.NoErr(err)
	is.NoErr(typing.Close())
	is.Equal((<-answer).StatusCode, http.StatusSeeOther) // redirected to the sign-in
	list, err := s.Operators().Invitations(t.Context())
	is.NoErr(err)
	is.Equal(len(list), 0)
}

// TestSessionEndsWhileAFormIsOpen: the page keeps what was entered, and submitting it
// after a sign-in makes the change.
func TestSessionEndsWhileAFormIsOpen(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	form := []string{"name", `Atlas "Pro" & Söhne`, "product_id", "atlas", "customer_id", "harbour", "metadata_name", "notes", "metadata_value", "one two",
		"metadata_name", "order", "metadata_value", "<7>", "once", v.get("licenses/new?product=atlas").hidden("once")}
	s.advance(30 * 24 * time.Hour) // the session ends
	again := func(a reply) reply {
		t.Helper()
		is.Equal(a.StatusCode, http.StatusForbidden)
		require.Contains(t, a.body, "Sign in in a new tab, then submit again here.", `<form class="fields" method="post" action="../licenses/new?product=atlas">`)
		var kept []string
		for _, m := range regexp.MustCompile(`(?s)<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(a.body, -1) {
			if m[1] != "return" { // of the choice of a theme
				kept = append(kept, m[1], html.UnescapeString(m[2]))
			}
		}
		is.Equal(len(kept), len(form))
		return v.post("licenses/new?product=atlas", kept...)
	}
	a := v.post("licenses/new?product=atlas", form...)
	a = again(a) // still without a session
	is.Equal(v.post("sign-in", "email", "ada@example.com", "password", password).StatusCode, http.StatusSeeOther)
	is.Equal(again(a).StatusCode, http.StatusSeeOther)
	list, err := s.Service().List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(list.Data), 1)
	is.Equal(list.Data[0].Name, `Atlas "Pro" & Söhne`)
	is.Equal(list.Data[0].Metadata, map[string]string{"notes": "one two", "order": "<7>"})

	s.advance(30 * 24 * time.Hour)
	a = v.post("password", "current", password, "password", "nine lamps along the harbour wall") // a form of the sign-in section
	is.Equal(a.StatusCode, http.StatusSeeOther)
	is.Equal(a.Header.Get("Location"), "./sign-in")
	require.NotContains(t, a.body, "harbour wall")
}

func TestFormBodyTimeout(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{Limits: licensing.LimitOptions{BodyTimeout: 50 * time.Millisecond}})
	body, typing := io.Pipe()
	defer typing.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/dashboard/sign-in", body)
	is.NoErr(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	go func() { _, _ = io.WriteString(typing, "email=") }() // and then nothing
	a := s.visitor().do(req)
	is.Equal(a.StatusCode, http.StatusRequestTimeout)
	require.Contains(t, a.body, "The form did not arrive in time.")
}

func TestWrongCodesAreThrottled(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.visitor()
	for _, page := range []string{"setup", "join"} {
		var a reply
		for range 30 {
			a = v.post(page, "code", "wrong", "email", "ada@example.com", "password", password)
		}
		is.Equal(a.StatusCode, http.StatusTooManyRequests)
		is.Equal(a.Header.Get("Retry-After"), "3")
		require.Contains(t, a.body, "Try again in 3 seconds.")
		require.NotContains(t, a.body, password)
	}
}

func TestSignInReturnsToPage(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.operator("ada@example.com", operator.RoleAdmin)
	v := s.visitor()
	a := v.get("licenses/new?product=atlas&customer=a%26b")
	is.Equal(a.StatusCode, http.StatusSeeOther)
	is.Equal(a.Header.Get("Location"), "../sign-in?return=licenses%2Fnew%3Fproduct%3Datlas%26customer%3Da%2526b")
	form := v.get(strings.TrimPrefix(a.Header.Get("Location"), "../"))
	require.Contains(t, form.body, `name="return" value="licenses/new?product=atlas&amp;customer=a%26b"`)
	for to, want := range map[string]string{
		"licenses/new?product=atlas&customer=a%26b": "./licenses/new?product=atlas&customer=a%26b",
		"https://evil.example/":                     "./",
		"//evil.example/":                           "./",
		"/elsewhere":                                "./",
		"../../other":                               "./",
		"javascript:alert(1)":                       "./",
		`\\evil.example`:                            "./",
	} {
		a := s.visitor().post("sign-in", "email", "ada@example.com", "password", password, "return", to)
		is.Equal(a.StatusCode, http.StatusSeeOther)
		is.Equal(a.Header.Get("Location"), want)
	}
}

// TestStaySignedIn: the sign-in offers to stay signed in on the device, for 14 days, and the
// account lists that session and ends it.
func TestStaySignedIn(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.operator("ada@example.com", operator.RoleAdmin)
	v, desk := s.visitor(), s.visitor()
	require.Contains(t, v.get("sign-in").body, `name="stay" value="yes">`, "Stay signed in on this device")
	for visitor, form := range map[*visitor][]string{v: {"stay", "yes"}, desk: nil} {
		is.Equal(visitor.post("sign-in", append(form, "email", "ada@example.com", "password", password)...).StatusCode, http.StatusSeeOther)
	}
	s.advance(13 * 24 * time.Hour)
	is.Equal(desk.get("").StatusCode, http.StatusSeeOther)
	is.Equal(v.get("").StatusCode, http.StatusOK)
	require.Contains(t, v.get("password").body, "this session", "in 1 day")
	other := s.signedIn("ada@example.com")
	is.Equal(other.follow(other.post("sessions", "session", other.get("password").hidden("session"))).notice(), "The session has ended.")
	is.Equal(v.get("").StatusCode, http.StatusSeeOther)
}

func TestSignInErrors(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.operator("ada@example.com", operator.RoleAdmin)
	v := s.visitor()
	wrong := v.post("sign-in", "email", "ada@example.com", "password", "not it")
	is.Equal(wrong.StatusCode, http.StatusUnprocessableEntity)
	unknown := v.post("sign-in", "email", "ada@example.con", "password", "not it")
	is.Equal(unknown.StatusCode, wrong.StatusCode)
	is.Equal(strings.ReplaceAll(unknown.body, "ada@example.con", "ada@example.com"), wrong.body) // the response does not reveal whether the account exists
	require.NotContains(t, wrong.body, "not it")                                                 // the response does not contain the password

	for range 3 {
		wrong = v.post("sign-in", "email", "ada@example.com", "password", "not it")
	}
	is.Equal(wrong.StatusCode, http.StatusTooManyRequests)
	is.Equal(wrong.Header.Get("Retry-After"), "1")
	require.Contains(t, wrong.body, "Try again in 1 second.")
}

func TestHostSignIn(t *testing.T) {
	is := is.New(t)
	role := operator.RoleAdmin
	s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{Operator: func(w http.ResponseWriter, r *http.Request) (operator.Operator, bool) {
		if r.Header.Get("X-Person") == "" {
			w.WriteHeader(http.StatusTeapot)
			return operator.Operator{}, false
		}
		return operator.Operator{ID: "ida", Email: "ida@host.example", Role: role}, true
	}}})
	v := s.visitor()
	is.Equal(v.get("licenses").StatusCode, http.StatusTeapot) // the response of the host
	for _, page := range []string{"sign-in", "setup", "password"} {
		is.Equal(v.get(page).StatusCode, http.StatusNotFound)
	}
	is.Equal(v.post("sign-out").StatusCode, http.StatusNotFound)
	require.NotContains(t, s.log.String(), "code=") // no setup code without the built-in sign-in

	visit := func(method, page string, form url.Values) reply {
		req, err := http.NewRequestWithContext(t.Context(), method, s.base+"/dashboard/"+page, strings.NewReader(form.Encode()))
		is.NoErr(err)
		req.Header.Set("X-Person", "ida")
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return v.do(req)
	}
	a := visit(http.MethodGet, "licenses", nil)
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, "ida@host.example")
	require.NotContains(t, a.body, "Sign out")
	a = visit(http.MethodPost, "licenses/new", url.Values{"name": {"Atlas"}, "product_id": {"atlas"}, "customer_id": {"bakery"}})
	is.Equal(a.StatusCode, http.StatusSeeOther)
	events, err := s.st.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	is.Equal(events[0].Actor, "operator:ida")
	require.Contains(t, visit(http.MethodGet, strings.TrimPrefix(a.Header.Get("Location"), "../"), nil).body, "ida@host.example") // the history shows the operator

	role = operator.RoleViewer
	is.Equal(visit(http.MethodGet, "licenses/new", nil).StatusCode, http.StatusForbidden)
}

func TestHostOperatorMustBeValid(t *testing.T) {
	for name, tt := range map[string]struct {
		op      operator.Operator
		problem string
	}{
		"no operator":       {operator.Operator{}, "the ID is empty"},
		"no ID":             {operator.Operator{Email: "ida@host.example", Role: operator.RoleAdmin}, "the ID is empty"},
		"no role":           {operator.Operator{ID: "ida"}, `the role \"\" is unknown`},
		"unknown role":      {operator.Operator{ID: "ida", Role: "owner"}, `the role \"owner\" is unknown`},
		"disabled operator": {operator.Operator{ID: "ida", Role: operator.RoleAdmin, Disabled: true}, "the operator is disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{Operator: func(http.ResponseWriter, *http.Request) (operator.Operator, bool) { return tt.op, true }}})
			l := s.license(api.CreateLicenseParams{Name: "Atlas"})
			v := s.visitor()
			for _, page := range []string{"", "licenses", "licenses/" + l.ID, "licenses.csv", "licenses/new", "settings/credentials", "audit"} {
				a := v.get(page)
				is.Equal(a.StatusCode, http.StatusForbidden)
				require.NotContains(t, a.body, l.Key, "Atlas", "ida")
			}
			is.Equal(v.post("licenses/"+l.ID+"/suspend").StatusCode, http.StatusForbidden)
			require.Contains(t, s.log.String(), tt.problem)
		})
	}
}

// TestFirstSetupReturns: the setup page leads to the page that was asked for.
func TestFirstSetupReturns(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.visitor()
	a := v.follow(v.get("licenses/new"))
	is.Equal(a.Header.Get("Location"), "./setup?return=licenses%2Fnew")
	code, err := s.Operators().CreateSetupCode(t.Context())
	is.NoErr(err)
	a = v.follow(a)
	a = v.post("setup", "code", code, "email", "ada@example.com", "password", password, "return", a.hidden("return"))
	is.Equal(a.Header.Get("Location"), "./licenses/new")
}

var sessionID = regexp.MustCompile(`name="session" value="([^"]+)"`)

func TestEndSessions(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	admin := s.admin()
	bob := s.operator("bob@example.com", operator.RoleViewer)
	desk, phone := s.signedIn("bob@example.com"), s.signedIn("bob@example.com")
	s.visitor().post("sign-in", "email", "bob@example.com", "password", "wrong")

	a := desk.get("password")
	ids := sessionID.FindAllStringSubmatch(a.body, -1)
	is.Equal(len(ids), 1) // the session of this page has no button
	require.Contains(t, a.body, "this session", "127.0.0.1", "Go-http-client")
	require.Contains(t, a.body, "Failed to sign in")
	is.Equal(strings.Count(a.body, "<strong>Signed in</strong>"), 2)
	done := desk.post("sessions", "session", ids[0][1])
	is.Equal(desk.follow(done).notice(), "The session has ended.")
	is.Equal(phone.get("licenses").StatusCode, http.StatusSeeOther)
	is.Equal(desk.get("licenses").StatusCode, http.StatusOK)
	is.Equal(desk.post("sessions", "session", ids[0][1]).StatusCode, http.StatusSeeOther) // already ended

	page := "settings/operators/" + bob.ID
	id := sessionID.FindStringSubmatch(admin.get(page).body)[1]
	is.Equal(s.signedIn("ada@example.com").post("sessions", "session", id).StatusCode, http.StatusSeeOther)
	is.Equal(desk.get("licenses").StatusCode, http.StatusOK) // the form for the own account ends no other operator's session
	is.Equal(admin.post(page, "change", "end-session", "session", id).StatusCode, http.StatusSeeOther)
	is.Equal(desk.get("licenses").StatusCode, http.StatusSeeOther)
	require.Contains(t, admin.get(page).body, "No open sessions.")
	require.Contains(t, admin.get(page).body, "Sign-in history")
}
