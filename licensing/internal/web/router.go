package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Route is one endpoint.
type Route struct {
	Method string // GET answers HEAD too
	// Path is a template of literal segments and parameters, such as
	// "/license/{licenseID}". A parameter stands for one whole segment. A
	// literal segment goes before a parameter. "{licenseID:lic_}" stands for
	// segments that begin with "lic_", and goes before "{licenseID}".
	Path string
	// Scope is what the token must allow; empty: no token is needed.
	Scope string
	// Exactly one of Do and Handle answers.
	Do     *Endpoint
	Handle Handler

	Status       int   // of success; default: 200. With 201, Location leads to the result
	OptionalBody bool  // no body is an object without members
	Key          bool  // the body has a license key, whose budget is charged
	Secret       bool  // the answer has a secret, and is not kept for a replay
	Concurrent   int   // how many requests one process answers at a time; one more is 503; 0: any number
	Rows         int64 // the body is NDJSON of at most that many bytes, for the field Rows
	// OAuth marks an endpoint of RFC 6749, 7009 or 7662. It gets every
	// method and refuses what it does not know by itself; errors take the
	// form of RFC 6749; programs in browsers have no access. Method is the
	// one that is documented, and decides nothing.
	OAuth bool
	// Bulk marks an endpoint that moves many licenses at once. It, and its
	// body, may take ten times as long as others.
	Bulk bool

	slots slots
}

func (rt *Route) status() int { return cmp.Or(rt.Status, http.StatusOK) }

func (rt *Route) segments() []string { return strings.Split(rt.Path[1:], "/") }

// A Handler answers a request, or returns the error that is the answer.
type Handler func(w http.ResponseWriter, r *http.Request) error

// A resource is all the routes of one template.
type resource struct {
	pattern  string
	segments []string          // a parameter is "{name}"
	names    []string          // of the parameters
	routes   map[string]*Route // by method
	oauth    *Route            // instead of routes
}

// A router finds the routes of a path. It never redirects: not to a cleaner
// path, not to one with or without a slash at its end.
type router []*resource // literal before parameter, segment by segment

func newRouter(routes []Route) router {
	var rt router
	for _, route := range routes {
		if route.Concurrent > 0 {
			route.slots = make(slots, route.Concurrent)
		}
		i := slices.IndexFunc(rt, func(res *resource) bool { return "/"+strings.Join(res.segments, "/") == route.Path })
		if i < 0 {
			i = len(rt)
			rt = append(rt, newResource(route.Path))
		}
		rt[i].add(&route)
	}
	slices.SortStableFunc(rt, func(a, b *resource) int { return slices.CompareFunc(a.segments, b.segments, literalFirst) })
	return rt
}

func newResource(pattern string) *resource {
	res := &resource{pattern: constraint.ReplaceAllString(pattern, "}"), routes: make(map[string]*Route)}
	if pattern != "/" {
		res.segments = strings.Split(pattern[1:], "/")
	}
	for _, s := range res.segments {
		if isParameter(s) {
			name, _, _ := strings.Cut(s[1:len(s)-1], ":")
			res.names = append(res.names, name)
		}
	}
	return res
}

func (res *resource) add(route *Route) {
	if res.oauth != nil || res.routes[route.Method] != nil {
		panic(fmt.Sprintf("web: two routes for %s %s", route.Method, route.Path))
	}
	if route.OAuth {
		res.oauth = route
		return
	}
	res.routes[route.Method] = route
}

// constraint is the end of a parameter that stands for some segments only.
var constraint = regexp.MustCompile(`:[^}]*}`)

func isParameter(segment string) bool { return strings.HasPrefix(segment, "{") }

// stands reports whether a segment of a template stands for one of a path.
func stands(template, given string) bool {
	if !isParameter(template) {
		return template == given
	}
	_, prefix, _ := strings.Cut(template[:len(template)-1], ":")
	return strings.HasPrefix(given, prefix)
}

func literalFirst(a, b string) int { return cmp.Compare(rank(a), rank(b)) }

// rank is lower for a segment that stands for less.
func rank(segment string) int {
	switch {
	case !isParameter(segment):
		return 0
	case strings.Contains(segment, ":"):
		return 1
	}
	return 2
}

// find returns the resources that a path belongs to, the most literal first.
// There can be several: GET of "/license/validate" is the list of a customer
// who happens to have that id.
func (rt router) find(path []string) []*resource {
	var found []*resource
	for _, res := range rt {
		if res.matches(path) {
			found = append(found, res)
		}
	}
	return found
}

func (res *resource) matches(path []string) bool {
	return slices.EqualFunc(res.segments, path, stands)
}

// values returns what the parameters stand for in a path that matches.
func (res *resource) values(path []string) []string {
	var values []string
	for i, s := range res.segments {
		if isParameter(s) {
			values = append(values, path[i])
		}
	}
	return values
}

// choose returns the first of the resources that answers the method, and its
// route; a nil route if none does.
func choose(found []*resource, method string) (*resource, *Route) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, res := range found {
		if res.oauth != nil {
			return res, res.oauth
		}
		if route := res.routes[method]; route != nil {
			return res, route
		}
	}
	return found[0], nil
}

// allow lists the methods that the resources answer, for the Allow field.
func allow(found []*resource) string {
	methods := []string{http.MethodOptions}
	for _, res := range found {
		for method := range res.routes {
			methods = append(methods, method)
			if method == http.MethodGet {
				methods = append(methods, http.MethodHead)
			}
		}
	}
	slices.Sort(methods)
	return strings.Join(slices.Compact(methods), ", ")
}

// Bounds of a path below the mount. The longest that leads anywhere is that of
// a customer's list: 255 characters of up to 12 bytes each, escaped.
const (
	maxPathLength = 4096 // bytes, escaped
	maxPathDepth  = 16   // segments
)

// PathTooLong reports whether an escaped path is longer or deeper than any
// path of the service. It costs one pass over the path; check it first.
func PathTooLong(escaped string) bool {
	return len(escaped) > maxPathLength || strings.Count(escaped, "/") > maxPathDepth
}

// home is the one path with a slash at its end: that of the first page, so that
// the links of all pages are relative to the same folder.
const home = "dashboard/"

// segments splits an escaped path and undoes the escapes of each segment. It
// is not ok for a path that is not clean: one that does not begin with one
// slash, that has an empty segment or a slash at its end, a dot segment in any
// spelling, or a segment that is not text. Those are the paths that a mux
// would redirect; here they lead nowhere.
func segments(escaped string) (path []string, ok bool) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, false
	}
	if rest == "" {
		return nil, true
	}
	if rest == home {
		return strings.Split(rest, "/"), true
	}
	for segment := range strings.SplitSeq(rest, "/") {
		s, err := url.PathUnescape(segment)
		if err != nil || s == "" || s == "." || s == ".." || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return nil, false
		}
		path = append(path, s)
	}
	return path, true
}
