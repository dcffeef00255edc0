package web

import (
	"net/http"
	"testing"

	"github.com/matryer/is"
)

func TestUncleanPathsHaveNoSegments(t *testing.T) {
	for _, path := range []string{
		"", "license", "//", "//license", "/license/", "/license//x", "/./license", "/license/..", "/license/%2e%2E", "/license/%2e",
		"/license/%00", "/license/%0A", "/license/%C2%85", "/license/%ff", "/license/%zz", "*",
	} {
		_, ok := segments(path)
		if ok {
			t.Errorf("%q is taken for a clean path", path)
		}
	}
}

func TestSegmentsAreDecodedOneByOne(t *testing.T) {
	is := is.New(t)
	path, ok := segments("/license/a%2Fb%20%C3%A9%25+...")
	is.True(ok)
	is.Equal(path, []string{"license", "a/b é%+..."})
	path, ok = segments("/")
	is.True(ok)
	is.Equal(len(path), 0)
}

func nothing(http.ResponseWriter, *http.Request) error { return nil }

func TestALiteralSegmentGoesBeforeAParameter(t *testing.T) {
	rt := newRouter([]Route{
		{Method: "GET", Path: "/license/{id}", Handle: nothing},
		{Method: "PATCH", Path: "/license/{id}", Handle: nothing},
		{Method: "POST", Path: "/license/validate", Handle: nothing},
		{Method: "GET", Path: "/license", Handle: nothing},
		{Method: "POST", Path: "/oauth/token", Handle: nothing, OAuth: true},
	})
	for _, c := range []struct{ method, path, pattern, allow string }{
		{"POST", "/license/validate", "/license/validate", "GET, HEAD, OPTIONS, PATCH, POST"},
		{"GET", "/license/validate", "/license/{id}", "GET, HEAD, OPTIONS, PATCH, POST"},
		{"HEAD", "/license/x", "/license/{id}", "GET, HEAD, OPTIONS, PATCH"},
		{"GET", "/license", "/license", "GET, HEAD, OPTIONS"},
		{"BREW", "/oauth/token", "/oauth/token", "OPTIONS"},
	} {
		is := is.New(t)
		path, _ := segments(c.path)
		found := rt.find(path)
		res, route := choose(found, c.method)
		is.True(route != nil)
		is.Equal(res.pattern, c.pattern)
		is.Equal(allow(found), c.allow)
	}
	is := is.New(t)
	_, route := choose(rt.find([]string{"license"}), "DELETE")
	is.Equal(route, nil)
	is.Equal(len(rt.find([]string{"License"})), 0)
}

func TestTwoRoutesThatAreTheSamePanic(t *testing.T) {
	is := is.New(t)
	defer func() { is.True(recover() != nil) }()
	newRouter([]Route{{Method: "GET", Path: "/x", Handle: nothing}, {Method: "GET", Path: "/x", Handle: nothing}})
}
