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
	Method string // GET also serves HEAD
	// Path is a template of literal segments and parameters, such as
	// "/license/{licenseID}". A parameter matches one whole segment. A
	// literal segment takes precedence over a parameter. "{licenseID:lic_}"
	// matches segments that begin with "lic_" and takes precedence over
	// "{licenseID}".
	Path string
	// Scope is the scope required of the token; empty: no token needed.
	Scope string
	// ScopeFor is the query parameter that needs the Scope: a request without
	// it needs no token. Empty: every request needs the Scope.
	ScopeFor string
	// Exactly one of Do and Handle is set.
	Do     *Endpoint
	Handle Handler

	Status       int   // on success; default: 200. With 201, Location is the URL of the result
	OptionalBody bool  // no body is the same as an empty object
	Key          bool  // the body has a license key; requests count toward its rate limit
	Secret       bool  // the response has a secret and is not stored for replays
	Concurrent   int   // limit of concurrent requests per process, above which is 429; 0: none
	Rows         int64 // the body is NDJSON of at most that many bytes, for the field Rows
	// OAuth marks an endpoint of RFC 6749, 7009 or 7662. It receives every
	// method and refuses unknown ones itself; errors have the RFC 6749
	// format; browser programs have no access. Method is only
	// documentation.
	OAuth bool
	// Bulk marks an endpoint that transfers many licenses. Its body and its
	// response may take ten times as long as others.
	Bulk bool
	// Probe marks an endpoint for load balancers, which may send a query or a
	// body of their own: it ignores unknown parameters and the body.
	Probe bool
	// Unlimited marks an endpoint that reads nothing. Its requests do not
	// count toward a rate limit.
	Unlimited bool

	slots slots
}

func (rt *Route) status() int { return cmp.Or(rt.Status, http.StatusOK) }

// needsToken reports whether a request needs a token with the scope.
func (rt *Route) needsToken(r *http.Request) bool {
	return rt.Scope != "" && (rt.ScopeFor == "" || r.URL.Query().Has(rt.ScopeFor))
}

func (rt *Route) segments() []string { return strings.Split(rt.Path[1:], "/") }

// A Handler responds to a request or returns an error to respond with.
type Handler func(w http.ResponseWriter, r *http.Request) error

// A resource holds the routes of one path template.
type resource struct {
	pattern  string
	segments []string          // a parameter is "{name}"
	names    []string          // of the parameters
	fields   []string          // of the parameter structs that the parameters set
	routes   map[string]*Route // by method
	oauth    *Route            // instead of routes
}

// A router finds the routes of a path. It never redirects, neither to a cleaner
// path nor to one with or without a trailing slash.
type router []*resource // sorted: literal segments before parameters

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
			res.fields = append(res.fields, strings.ToUpper(name[:1])+name[1:])
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

// constraint matches the prefix that a parameter requires.
var constraint = regexp.MustCompile(`:[^}]*}`)

func isParameter(segment string) bool { return strings.HasPrefix(segment, "{") }

// stands reports whether a template segment matches a path segment.
func stands(template, given string) bool {
	if !isParameter(template) {
		return template == given
	}
	_, prefix, _ := strings.Cut(template[:len(template)-1], ":")
	return strings.HasPrefix(given, prefix)
}

func literalFirst(a, b string) int { return cmp.Compare(rank(a), rank(b)) }

// rank is lower for a more specific segment.
func rank(segment string) int {
	switch {
	case !isParameter(segment):
		return 0
	case strings.Contains(segment, ":"):
		return 1
	}
	return 2
}

// find returns the resources that match a path, most specific first. There can
// be several: GET "/license/validate" is the license list of a customer with
// that ID.
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

// values returns the parameter values of a matching path.
func (res *resource) values(path []string) []string {
	var values []string
	for i, s := range res.segments {
		if isParameter(s) {
			values = append(values, path[i])
		}
	}
	return values
}

// choose returns the first resource that supports the method and its route, or
// a nil route if none does.
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

// allow lists the methods of the resources for the Allow header.
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

// The limits of a path below the mount. The longest path of the service is the
// license list of a customer: 255 characters of up to 12 escaped bytes each.
const (
	maxPathLength = 4096 // bytes, escaped
	maxPathDepth  = 16   // segments
)

// PathTooLong reports whether an escaped path is longer or deeper than any path
// of the service. It needs one pass over the path; check it first.
func PathTooLong(escaped string) bool {
	return len(escaped) > maxPathLength || strings.Count(escaped, "/") > maxPathDepth
}

// home is the only path with a trailing slash, the first page, so that links
// of all pages are relative to the same directory.
const home = "dashboard/"

// segments splits an escaped path and unescapes its segments. It returns false
// for a path that is not clean: one that does not begin with exactly one slash,
// or has an empty segment, a trailing slash, a dot segment in any spelling, or a
// segment that is not text. A mux would redirect such paths; here they match no
// route.
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
