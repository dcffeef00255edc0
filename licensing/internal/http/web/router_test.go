package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestUncleanPaths(t *testing.T) {
	for _, path := range []string{
		"", "license", "//", "//license", "/license/", "/license//x", "/./license", "/license/..", "/license/%2e%2E", "/license/%2e",
		"/license/%00", "/license/%0A", "/license/%C2%85", "/license/%ff", "/license/%zz", "*",
	} {
		if isClean(path) {
			t.Errorf("%q is taken for a clean path", path)
		}
	}
	for _, path := range []string{"/", "/license", "/license/a%2Fb%20%C3%A9%25+...", "/dashboard/"} {
		if !isClean(path) {
			t.Errorf("%q is taken for an unclean path", path)
		}
	}
}

// sited returns a Site of routes, which call serve.
func sited(routes []Route, serve func(r *http.Request, route Route)) *Site {
	for i, route := range routes {
		routes[i].Handle = func(_ http.ResponseWriter, r *http.Request) error {
			serve(r, route)
			return nil
		}
	}
	log := slog.New(slog.DiscardHandler)
	return NewSite(Config{Logger: log, RequestLog: log, Timeout: time.Minute, After: func(http.ResponseWriter, *http.Request) {}}, routes, nil)
}

func TestALiteralSegmentGoesBeforeAParameter(t *testing.T) {
	var found, value, path string
	s := sited([]Route{
		{Method: "GET", Path: "/license/{id}", Prefix: "lic_"},
		{Method: "GET", Path: "/license/{id}"},
		{Method: "PATCH", Path: "/license/{id}"},
		{Method: "POST", Path: "/license/validate"},
		{Method: "GET", Path: "/license"},
		{Method: "GET", Path: "/"},
		{Method: "GET", Path: "/dashboard"},
		{Method: "GET", Path: "/dashboard/"},
		{Method: "POST", Path: "/oauth/token", OAuth: true},
	}, func(r *http.Request, route Route) {
		found, value, path = route.Path+route.Prefix, r.PathValue("id"), r.URL.EscapedPath()
	})
	for _, c := range []struct{ method, path, route, value, pattern, allow string }{
		{"POST", "/license/validate", "/license/validate", "", "/license/validate", "GET, HEAD, OPTIONS, PATCH, POST"},
		{"GET", "/license/validate", "/license/{id}", "validate", "/license/validate", "GET, HEAD, OPTIONS, PATCH, POST"},
		{"GET", "/license/lic_1", "/license/{id}lic_", "lic_1", "/license/{id}", "GET, HEAD, OPTIONS, PATCH"},
		{"PATCH", "/license/lic_1", "/license/{id}", "lic_1", "/license/{id}", "GET, HEAD, OPTIONS, PATCH"},
		{"HEAD", "/license/a%2Fb%20%C3%A9%25+...", "/license/{id}", "a/b é%+...", "/license/{id}", "GET, HEAD, OPTIONS, PATCH"},
		{"GET", "/license/%2f", "/license/{id}", "/", "/license/{id}", "GET, HEAD, OPTIONS, PATCH"},
		{"GET", "/license/%2F%2F", "/license/{id}", "//", "/license/{id}", "GET, HEAD, OPTIONS, PATCH"},
		{"GET", "/license", "/license", "", "/license", "GET, HEAD, OPTIONS"},
		{"DELETE", "/license", "", "", "/license", "GET, HEAD, OPTIONS"},
		{"CONNECT", "/license", "", "", "/license", "GET, HEAD, OPTIONS"},
		{"GET", "/", "/", "", "/", "GET, HEAD, OPTIONS"},
		{"POST", "/dashboard", "", "", "/dashboard", "GET, HEAD, OPTIONS"},
		{"GET", "/dashboard/", "/dashboard/", "", "/dashboard/", "GET, HEAD, OPTIONS"},
		{"BREW", "/oauth/token", "/oauth/token", "", "/oauth/token", "OPTIONS"},
		{"GET", "/License", "", "", "", ""},
		{"GET", "/license/x/y", "", "", "", ""},
	} {
		is := is.New(t)
		found, value, path = "", "", c.path
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/", nil)
		r.URL.Path, _ = url.PathUnescape(c.path)
		r.URL.RawPath = c.path
		s.ServeHTTP(httptest.NewRecorder(), r)
		is.Equal(found, c.route)
		is.Equal(value, c.value)
		is.Equal(path, c.path) // as the client sent it
		allow, pattern := s.allowed(forMux(r).URL)
		is.Equal(allow, c.allow)
		is.Equal(pattern, c.pattern)
	}
}

func TestAPageThatIsMissingIsAtTheAddressOfTheClient(t *testing.T) {
	is := is.New(t)
	var path string
	s := sited(nil, nil)
	s.alone, s.pages = true, &Section{Missing: func(_ http.ResponseWriter, r *http.Request) error {
		path = r.URL.EscapedPath()
		return nil
	}}
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/a%2Fb/%2F", nil))
	is.Equal(path, "/a%2Fb/%2F")
}

func TestTwoRoutesThatAreTheSamePanic(t *testing.T) {
	is := is.New(t)
	defer func() { is.True(recover() != nil) }()
	newMux([]Route{{Method: "GET", Path: "/x"}, {Method: "GET", Path: "/x"}}, http.NotFound)
}
