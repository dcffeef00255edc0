package host

import (
	"bytes"
	_ "embed"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/bidi"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// mount is where the licensing service lives in this application.
const mount = "/licensing"

// account is where the customers of this application see their own licenses.
const account = "/account/licenses"

// currentUser takes the place of this application's sign-in: everyone is one of the
// sample customers. A real application returns the user of its session.
func currentUser(http.ResponseWriter, *http.Request) (customerID string, ok bool) {
	return seedCustomers[0], true
}

// newApp is the application: two pages of its own, a receiver of events, and
// the licensing service.
func newApp(h *licensing.Handler, hook http.Handler, logger *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", homePage(h.Service(), logger))
	handleReport(mux, h)
	mux.Handle("POST "+receiverPath, hook)
	mux.Handle(mount+"/", http.StripPrefix(mount, h))
	mux.Handle(account+"/", http.StripPrefix(account, h.Portal(licensing.Portal{Customer: currentUser})))
	// Where clients look for the OAuth endpoints of a service below a path (RFC 8414, section 3.1).
	mux.Handle("/.well-known/oauth-authorization-server"+mount, h.Metadata())
	mux.Handle(mount, http.RedirectHandler(mount+"/", http.StatusSeeOther))
	return cleanPathsOnly(mux)
}

// cleanPathsOnly answers 404 to a path with empty, "." or ".." segments. Left
// to itself, ServeMux redirects such a path to its clean form and repeats the
// query, which may hold a client_secret.
func cleanPathsOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isClean(r.URL.Path) || !isClean(r.URL.EscapedPath()) {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isClean(p string) bool {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return p == clean
}

//go:embed home.html
var homeHTML string

var home = template.Must(template.New("home").Parse(homeHTML))

// homePage shows the newest licenses. It asks the rules directly: in the same
// process no token and no HTTP is needed.
func homePage(svc *license.Service, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, err := svc.List(r.Context(), api.ListLicensesParams{NewestFirst: true, Limit: 10})
		var body bytes.Buffer
		if err == nil {
			err = home.Execute(&body, page.Data)
		}
		if err != nil {
			logger.Error("home page", "error", err)
			http.Error(w, "The page cannot be shown now; the log says why.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Write(bidi.Page(body.Bytes()))
	})
}
