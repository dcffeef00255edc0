package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A member is a user of a host.
type member struct {
	ID, Email string
	Staff     bool
}

// mountAll mounts everything for a host; currentUser reads its session, and protect is its
// middleware.
func mountAll(mux *http.ServeMux, st store.Store, currentUser func(*http.Request) (member, bool), protect func(http.Handler) http.Handler, reports http.Handler) {
	h := licensing.NewHandler(st, licensing.Options{Dashboard: licensing.DashboardOptions{
		SignOutURL: "https://acme.example/sign-out",
		Operator: func(w http.ResponseWriter, r *http.Request) (operator.Operator, bool) {
			u, ok := currentUser(r)
			if ok = ok && u.Staff; !ok {
				http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
			}
			return operator.Operator{ID: u.ID, Email: u.Email, Role: operator.RoleAdmin}, ok
		},
	}})
	pages := h.Portal(licensing.Portal{Customer: func(w http.ResponseWriter, r *http.Request) (string, bool) {
		u, ok := currentUser(r)
		if !ok {
			http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
		}
		return u.ID, ok
	}})
	licensed := h.Require(licensing.Requirement{ProductID: "atlas", Customer: func(r *http.Request) string {
		u, _ := currentUser(r)
		return u.ID
	}})
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h)) // outside of protect
	mux.Handle("/account/licenses/", http.StripPrefix("/account/licenses", pages))
	mux.Handle("/reports", protect(licensed(reports)))
}

// TestOneCurrentUser: the session of the host decides about the dashboard, the customer pages
// and its own routes; programs and API clients do not meet its middleware.
func TestOneCurrentUser(t *testing.T) {
	is := is.New(t)
	users := map[string]member{"ada": {ID: "ada"}, "eve": {ID: "eve", Email: "eve@example.com", Staff: true}}
	currentUser := func(r *http.Request) (member, bool) {
		u, ok := users[r.Header.Get("X-User")] // a real one reads a session
		return u, ok
	}
	protect := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, ok := currentUser(r); !ok {
				http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	st, mux := memory.New(), http.NewServeMux()
	mountAll(mux, st, currentUser, protect, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	_, err := licensing.NewHandler(st, licensing.Options{}).Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada"})
	is.NoErr(err)
	for _, c := range []struct {
		method, path, user string
		status             int
	}{
		{"GET", "/licensing/dashboard/", "", 303}, {"GET", "/licensing/dashboard/", "ada", 303}, {"GET", "/licensing/dashboard/", "eve", 200},
		{"GET", "/account/licenses/", "", 303}, {"GET", "/account/licenses/", "ada", 200},
		{"GET", "/reports", "", 303}, {"GET", "/reports", "ada", 200}, {"GET", "/reports", "eve", 403},
		{"GET", "/licensing/ready", "", 200}, {"POST", "/licensing/license/validate", "", 200},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(`{"key":"AAAAA-AAAAA-AAAAA-AAAAA-AAAAA","product_id":"atlas"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-User", c.user)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %s as %q: %d, want %d", c.method, c.path, c.user, w.Code, c.status)
		}
	}
}
