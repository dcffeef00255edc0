package licensing_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A user is a person who is signed in to the host application.
type user struct {
	ID, Email string
	IsAdmin   bool
}

// dashboardOperator makes the users of the host application the operators of
// the dashboard. signedIn returns the user that a request belongs to.
func dashboardOperator(signedIn func(*http.Request) (user, bool)) func(http.ResponseWriter, *http.Request) (operator.Operator, bool) {
	return func(w http.ResponseWriter, r *http.Request) (operator.Operator, bool) {
		u, ok := signedIn(r)
		switch {
		case !ok:
			// StripPrefix changes URL.Path. RequestURI is the address in the browser.
			http.Redirect(w, r, "/login?back="+url.QueryEscape(r.RequestURI), http.StatusSeeOther)
			return operator.Operator{}, false
		case !u.IsAdmin:
			http.Error(w, "Only administrators manage licenses.", http.StatusForbidden)
			return operator.Operator{}, false
		}
		return operator.Operator{ID: u.ID, Email: u.Email, Role: operator.RoleAdmin}, true
	}
}

// The application's own sign-in replaces that of the dashboard. A visitor who
// is not signed in goes to the sign-in page, and from there back to the page
// of the dashboard that they opened.
func ExampleDashboardOptions_operator() {
	signedIn := func(r *http.Request) (user, bool) { // a real one looks the session up
		cookie, err := r.Cookie("session")
		return user{ID: "7", Email: "ada@example.com", IsAdmin: true}, err == nil && cookie.Value == "of-ada"
	}
	h := licensing.NewHandler(memory.New(), licensing.Options{
		Logger:    slog.New(slog.DiscardHandler),
		Dashboard: licensing.DashboardOptions{Operator: dashboardOperator(signedIn)},
	})
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) { // a real one asks for a password
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "of-ada", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		back := r.FormValue("back")
		if !strings.HasPrefix(back, "/licensing/dashboard/") { // anyone can send this parameter
			back = "/licensing/dashboard/"
		}
		http.Redirect(w, r, back, http.StatusSeeOther)
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		fmt.Println("→", r.URL.RequestURI())
		return nil
	}}
	resp, err := browser.Get(server.URL + "/licensing/dashboard/licenses?status=active")
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// → /login?back=%2Flicensing%2Fdashboard%2Flicenses%3Fstatus%3Dactive
	// → /licensing/dashboard/licenses?status=active
	// 200 OK
}
