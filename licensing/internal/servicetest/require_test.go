package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// report is a route of a host's own, which tells what license let it through.
var report = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	l, ok := licensing.LicenseFrom(r.Context())
	if !ok {
		l.ID = "no license"
	}
	_, _ = w.Write([]byte(l.ID + l.Key))
})

// byKey and byCustomer take from a header what a host would take from its own
// configuration or session.
func byKey(r *http.Request) string      { return r.Header.Get("License-Key") }
func byCustomer(r *http.Request) string { return r.Header.Get("Signed-In") }

// through sends a request past a requirement and returns the status and the code
// of a refusal or its verdict, or what the route answered.
func through(t *testing.T, h *licensing.Handler, g licensing.Requirement, header, value string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/report", nil)
	if value != "" {
		r.Header.Set(header, value)
	}
	w := httptest.NewRecorder()
	h.Require(g)(report).ServeHTTP(w, r)
	if w.Code == http.StatusOK {
		return w.Code, w.Body.String()
	}
	var problem struct {
		Code, Detail string
		RequestID    string `json:"request_id"`
		Verdict      struct{ Code string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || w.Header().Get("Content-Type") != "application/problem+json" || problem.Detail == "" || problem.RequestID == "" {
		t.Errorf("%v: %s is no problem document", err, w.Body)
	}
	if problem.Code == "license_denied" {
		return w.Code, problem.Verdict.Code
	}
	return w.Code, problem.Code
}

func TestRequireByKey(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	ends := c.Clock.Now().AddDate(0, 1, 0)
	l, err := c.Handler.Service().Create(t.Context(), api.CreateLicenseParams{
		Name: "n", ProductID: "atlas", CustomerID: "c", ExpiresAt: &ends,
		Terms: api.Terms{GraceSeconds: 60, Entitlements: map[string]any{"export": true, "seats": 5}},
	})
	is.NoErr(err)
	ask := func(g licensing.Requirement, key string) (int, string) {
		g.Key = byKey
		return through(t, c.Handler, g, "License-Key", key)
	}
	check := func(status int, answer string) func(int, string) {
		t.Helper()
		return func(gotStatus int, got string) {
			t.Helper()
			is.Helper()
			is.Equal(got, answer)
			is.Equal(gotStatus, status)
		}
	}
	check(200, l.ID)(ask(licensing.Requirement{}, l.Key))
	check(200, l.ID)(ask(licensing.Requirement{ProductID: "atlas", Entitlement: "seats"}, strings.ToLower(l.Key)))
	check(403, "product_mismatch")(ask(licensing.Requirement{ProductID: "beacon"}, l.Key))
	check(403, "entitlement_missing")(ask(licensing.Requirement{ProductID: "atlas", Entitlement: "sso"}, l.Key))
	check(403, "not_found")(ask(licensing.Requirement{}, "00000-00000-00000-00000-00000"))
	check(403, "license_required")(ask(licensing.Requirement{}, ""))

	before := len(c.Events())
	c.Clock.Set(ends)
	check(200, l.ID)(ask(licensing.Requirement{}, l.Key)) // in grace
	c.Clock.Advance(time.Minute)
	check(403, "expired")(ask(licensing.Requirement{}, l.Key)) // judged now, and not from a cache
	_, err = c.Handler.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	check(403, "suspended")(ask(licensing.Requirement{}, l.Key))
	is.Equal(len(c.Events()), before+1)
}

func TestRequireLetsTheHostAnswerADenial(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	l, err := c.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "c"})
	is.NoErr(err)
	route := c.Handler.Require(licensing.Requirement{ProductID: "atlas", Key: byKey, OnDenied: func(w http.ResponseWriter, _ *http.Request, v api.Verdict) {
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = w.Write([]byte("denied: " + v.Code))
	}})(report)
	ask := func(key string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/report", nil)
		r.Header.Set("License-Key", key)
		w := httptest.NewRecorder()
		route.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	check := func(wantStatus int, want string) func(int, string) {
		return func(status int, body string) {
			t.Helper()
			is.Helper()
			is.Equal(status, wantStatus)
			is.Equal(body, want)
		}
	}
	check(200, l.ID)(ask(l.Key))
	check(402, "denied: ")(ask("")) // no key, so no verdict
	_, err = c.Handler.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	check(402, "denied: suspended")(ask(l.Key))
}

func TestRequireByCustomer(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	s := c.Handler.Service()
	ask := func(g licensing.Requirement, customer string) string {
		g.Customer = byCustomer
		_, answer := through(t, c.Handler, g, "Signed-In", customer)
		return answer
	}
	atlas := licensing.Requirement{ProductID: "atlas", Entitlement: "export"}
	is.Equal(ask(atlas, "ada"), "not_found")
	is.Equal(ask(atlas, ""), "license_required")

	create := func(product string, entitlements map[string]any) api.License {
		c.Clock.Advance(time.Second)
		l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: product, CustomerID: "ada", Terms: api.Terms{Entitlements: entitlements}})
		is.NoErr(err)
		return l
	}
	create("beacon", map[string]any{"export": true})
	is.Equal(ask(atlas, "ada"), "not_found") // another product
	create("atlas", nil)
	is.Equal(ask(atlas, "ada"), "entitlement_missing")
	good := create("atlas", map[string]any{"export": true})
	is.Equal(ask(atlas, "ada"), good.ID)
	is.Equal(ask(atlas, "grace"), "not_found") // another customer's
	is.Equal(ask(atlas, "lic_x"), "not_found")

	// However many others there are, newer ones too, the good one is found.
	for range 120 {
		create("atlas", nil)
	}
	is.Equal(ask(atlas, "ada"), good.ID)
	_, err := s.Revoke(t.Context(), api.ChangeStateParams{ID: good.ID})
	is.NoErr(err)
	is.Equal(ask(atlas, "ada"), "entitlement_missing") // what the newest lacks
}

func TestRequireInAnOutage(t *testing.T) {
	is := is.New(t)
	st := &silentStore{Store: memory.New()}
	var observed []string
	h := licensing.NewHandler(st, licensing.Options{Logger: discard, Limits: licensing.LimitOptions{Timeout: time.Millisecond}, Observe: func(_ context.Context, o licensing.Observation) {
		observed = append(observed, fmt.Sprint(o.Kind, " ", o.Name, " ", o.Outcome))
	}})
	l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
	is.NoErr(err)
	for _, gate := range []struct {
		name          string
		g             licensing.Requirement
		header, value string
	}{
		{"by key", licensing.Requirement{Key: byKey}, "License-Key", l.Key},
		{"by customer", licensing.Requirement{Customer: byCustomer}, "Signed-In", "c"},
	} {
		t.Run(gate.name, func(t *testing.T) {
			is := is.New(t)
			ask := func(failOpen bool, value string) (int, string) {
				gate.g.FailOpen = failOpen
				return through(t, h, gate.g, gate.header, value)
			}
			st.silent, observed = true, nil
			status, code := ask(false, gate.value)
			is.Equal(status, http.StatusServiceUnavailable)
			is.Equal(code, "unavailable")
			status, answer := ask(true, gate.value)
			is.Equal(status, http.StatusOK)
			is.Equal(answer, "no license")
			is.Equal(observed, []string{"store_error WriteError timeout", "store_error Require timeout"})
			status, code = ask(true, "") // no customer, whatever the store says
			is.Equal(status, http.StatusForbidden)
			is.Equal(code, "license_required")
			st.silent = false
			_, answer = ask(true, gate.value)
			is.Equal(answer, l.ID)
		})
	}
}

// A silentStore can stop answering.
type silentStore struct {
	store.Store
	silent bool
}

func (s *silentStore) View(ctx context.Context, fn func(store.Reader) error) error {
	if s.silent {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.View(ctx, fn)
}

func (s *silentStore) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	if s.silent {
		<-ctx.Done()
		return store.License{}, ctx.Err()
	}
	return s.Store.LicenseByKey(ctx, key)
}

func TestRequireNeedsToKnowWhoseLicense(t *testing.T) {
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: discard})
	for _, g := range []licensing.Requirement{{ProductID: "atlas"}, {Key: byKey, Customer: byCustomer}} {
		t.Run("", func(t *testing.T) {
			defer func() {
				require.Contains(t, recover().(string), "exactly one of Requirement.Key and Requirement.Customer")
			}()
			h.Require(g)
		})
	}
}
