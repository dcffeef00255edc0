package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Route is one endpoint.
type Route struct {
	Method string // GET also serves HEAD
	// Path is a pattern of [http.ServeMux] without a method, such as
	// "/license/{licenseID}", whose parameters match one whole segment.
	Path string
	// Prefix is what the parameter of the path must begin with; empty: anything. The
	// next route has the same method and path, and serves the other requests.
	Prefix string
	// Scope is the scope required of the token; empty: no token needed.
	Scope string
	// ScopeFor is the query parameter that needs the Scope: a request without
	// it needs no token. Empty: every request needs the Scope.
	ScopeFor string
	// Exactly one of Do and Handle is set.
	Do     *Endpoint
	Handle Handler

	// Created returns the segments of the path to what the request has created, given
	// a pointer to the result; nil: nothing is new. If there are any, the status is 201 and Location has the path.
	Created func(result any) []string

	// Pending reports whether the status is 202, given a pointer to the result; nil: never.
	Pending func(result any) bool

	Status       int   // on success; default: 200
	OptionalBody bool  // no body is the same as an empty object
	Secret       bool  // the response has a secret and is not stored for replays
	Body         int64 // the largest body in bytes, if that is more than Config.MaxBody
	Rows         int64 // the body is NDJSON of at most that many bytes, for a Stream
	// Media is the media type of a Stream; empty: NDJSON.
	Media string
	// Steps marks a change in several Updates, which a repeated request continues. It
	// refuses an Idempotency-Key, whose reply would need one Update.
	Steps bool
	// Judged is a parameter of a read whose meaning the rules judge: what they refuse of it
	// is 422, as in a body, and of other parameters 400.
	Judged string
	// Slots has an element for each request that is being served. If it is full, the
	// status is 429. Nil: any number may be.
	Slots chan struct{}
	// OAuth marks an endpoint of RFC 6749, 7009 or 7662. It receives every
	// method and refuses unknown ones itself; errors have the RFC 6749
	// format; browser programs have no access. Method is only
	// documentation.
	OAuth bool
	// Bulk marks an endpoint that transfers or changes many records. Its body and its
	// response may take ten times as long as others.
	Bulk bool
	// Probe marks an endpoint for load balancers, which may send a query or a
	// body of their own: it ignores unknown parameters and the body.
	Probe bool
	// SignIn marks a page that asks for a password or a code. The log has the address of
	// a request whose form it refuses.
	SignIn bool
	// Unlimited marks an endpoint that reads nothing. Its requests do not
	// count toward a rate limit.
	Unlimited bool

	pattern  string   // what a [http.ServeMux] calls the route
	names    []string // of the parameters of the path
	prefixed *Route   // the route with a Prefix before this one; nil: none
}

func (rt *Route) status() int { return cmp.Or(rt.Status, http.StatusOK) }

// A Handler responds to a request or returns an error to respond with.
type Handler func(w http.ResponseWriter, r *http.Request) error

// noRoute is the pattern of requests without a route.
const noRoute = "/"

// newMux returns a mux for clean paths, which it never redirects. It calls missing for
// requests without a route. It panics if two routes are equal.
func newMux(routes []Route, missing http.HandlerFunc) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc(noRoute, missing)
	var prefixed *Route
	for _, route := range routes {
		route.names, route.pattern = parametersOf(route.Path), route.Method+" "+route.Path
		if route.OAuth {
			route.pattern = route.Path // with any method
		}
		if route.Prefix != "" {
			prefixed = &route
			continue
		}
		route.prefixed, prefixed = prefixed, nil
		pattern := route.pattern
		if strings.HasSuffix(pattern, "/") {
			pattern += "{$}"
		}
		mux.Handle(pattern, &route)
	}
	return mux
}

// parametersOf returns the names of the parameters of a path.
func parametersOf(path string) (names []string) {
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// doubleSlashes doubles the slashes that are escaped in a path.
var doubleSlashes = strings.NewReplacer("%2F", "%2F%2F", "%2f", "%2F%2F")

// forMux returns r, whose path is clean, with one that a mux routes unchanged: to a
// mux, a segment of one %2F is the end of a path with a trailing slash. The routes
// undo it.
func forMux(r *http.Request) *http.Request {
	if r.URL.RawPath == "" { // it has no escaped slash
		return r
	}
	u := *r.URL
	u.RawPath = doubleSlashes.Replace(u.EscapedPath())
	u.Path, _ = url.PathUnescape(u.RawPath)
	r = r.WithContext(r.Context())
	r.URL = &u
	return r
}

// allowed returns the methods of a path for the Allow header, and the pattern with
// the fewest parameters. They are empty for a path without routes.
func (s *Site) allowed(u *url.URL) (allow, pattern string) {
	methods := []string{http.MethodOptions}
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut} {
		_, found := s.mux.Handler(&http.Request{Method: method, URL: u})
		if found == noRoute {
			continue
		}
		_, path, hasMethod := strings.Cut(found, " ")
		if !hasMethod {
			return http.MethodOptions, found
		}
		if methods = append(methods, method); method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		if pattern == "" || strings.Count(path, "{") < strings.Count(pattern, "{") {
			pattern = path
		}
	}
	if pattern == "" {
		return "", ""
	}
	slices.Sort(methods)
	return strings.Join(methods, ", "), strings.TrimSuffix(pattern, "{$}")
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

// The limits of a query of the API. The longest is that of 100 entitlements.
const (
	maxQueryLength = 32 << 10 // bytes, escaped
	maxParameters  = 200
)

// checkQuery returns a problem if parsing a query would cost more than that of any
// request of the API.
func checkQuery(raw string) error {
	if len(raw) > maxQueryLength || strings.Count(raw, "&") >= maxParameters {
		return invalid(api.FieldError{Code: api.FieldTooLong,
			Detail: fmt.Sprintf("The query must have at most %d bytes and %d parameters", maxQueryLength, maxParameters)})
	}
	return nil
}

// home is the only path with a trailing slash, the first page, so that links
// of all pages are relative to the same directory.
const home = "dashboard/"

// isClean reports whether an escaped path is not too long, begins with exactly one
// slash, and has neither an empty segment, a trailing slash, a dot segment in any
// spelling, nor a segment that is not text. A mux would redirect other paths; here
// they match no route.
func isClean(escaped string) bool {
	rest, ok := strings.CutPrefix(escaped, "/")
	switch {
	case !ok || PathTooLong(escaped):
		return false
	case rest == "" || rest == home:
		return true
	}
	for segment := range strings.SplitSeq(rest, "/") {
		s, err := url.PathUnescape(segment)
		if err != nil || s == "" || s == "." || s == ".." || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return false
		}
	}
	return true
}
