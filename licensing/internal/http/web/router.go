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

	// Created returns the segments of the path to what the request has created, given
	// a pointer to the result; nil: nothing is new. If there are any, the status is 201 and Location has the path.
	Created func(result any) []string

	Status       int   // on success; default: 200
	OptionalBody bool  // no body is the same as an empty object
	Secret       bool  // the response has a secret and is not stored for replays
	Concurrent   int   // limit of concurrent requests per process, above which is 429; 0: none
	Rows         int64 // the body is NDJSON of at most that many bytes, for an endpoint with Rows
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

	pattern          string   // the path without prefixes
	names            []string // of the parameters
	prefixed, prefix string   // the parameter that must begin with a prefix
}

func (rt *Route) status() int { return cmp.Or(rt.Status, http.StatusOK) }

// needsToken reports whether a request needs a token with the scope.
func (rt *Route) needsToken(r *http.Request) bool {
	return rt.Scope != "" && (rt.ScopeFor == "" || r.URL.Query().Has(rt.ScopeFor))
}

// A Handler responds to a request or returns an error to respond with.
type Handler func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP implements [http.Handler], inside a Site.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		Fail(w, r, err)
	}
}

// A router finds the routes of paths, which must be clean: then its mux never
// redirects.
type router struct {
	mux     *http.ServeMux
	methods []string // of all routes
}

// noRoute is the pattern of requests without a route.
const noRoute = "/"

// newRouter returns a router that calls serve for requests with a route, and
// missing for any other. Of two routes that differ only in a prefix, that with the
// prefix comes first. It panics if a route can match nothing.
func newRouter(routes []Route, serve func(http.ResponseWriter, *http.Request, *Route) error, missing Handler) router {
	rt := router{mux: http.NewServeMux()}
	rt.mux.Handle(noRoute, missing)
	alike := make(map[string][]*Route) // by pattern
	for _, route := range routes {
		if route.Concurrent > 0 {
			route.slots = make(slots, route.Concurrent)
		}
		route.parse()
		pattern := route.Method + " " + route.pattern
		if route.OAuth {
			pattern = route.pattern // with any method
		} else if !slices.Contains(rt.methods, route.Method) {
			rt.methods = append(rt.methods, route.Method)
		}
		if strings.HasSuffix(pattern, "/") {
			pattern += "{$}"
		}
		before := alike[pattern]
		if alike[pattern] = append(before, &route); len(before) > 0 {
			if before[len(before)-1].prefix == "" {
				panic(fmt.Sprintf("web: %s %s is matched by the route before it", route.Method, route.Path))
			}
			continue
		}
		rt.mux.Handle(pattern, Handler(func(w http.ResponseWriter, r *http.Request) error {
			for _, name := range route.names {
				if value := r.PathValue(name); onlySlashes(value) {
					r.SetPathValue(name, value[1:])
				}
			}
			for _, route := range alike[pattern] {
				if strings.HasPrefix(r.PathValue(route.prefixed), route.prefix) {
					return serve(w, r, route)
				}
			}
			return missing(w, r)
		}))
	}
	return rt
}

// ServeHTTP serves a request with a clean path. To a mux, a segment of %2F is the
// end of a path with a trailing slash, so segments of slashes get one more, which
// the handlers take off again.
func (rt router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawPath != "" { // it has an escaped slash
		segments := strings.Split(r.URL.EscapedPath(), "/")
		for i, segment := range segments {
			if value, err := url.PathUnescape(segment); err == nil && onlySlashes(value) {
				segments[i] += "%2F"
			}
		}
		u := *r.URL
		u.RawPath = strings.Join(segments, "/")
		u.Path, _ = url.PathUnescape(u.RawPath)
		r = r.WithContext(r.Context())
		r.URL = &u
	}
	rt.mux.ServeHTTP(w, r)
}

func onlySlashes(s string) bool { return s != "" && strings.Trim(s, "/") == "" }

// parameter matches a parameter of a path, with its name and the prefix that it
// requires.
var parameter = regexp.MustCompile(`{([^:}]+):?([^}]*)}`)

// parse sets what follows from the path.
func (rt *Route) parse() {
	for _, m := range parameter.FindAllStringSubmatch(rt.Path, -1) {
		rt.names = append(rt.names, m[1])
		if rt.Do != nil && rt.Do.pathField(m[1]) == nil {
			panic(fmt.Sprintf("web: no parameter of %s %s has the tag path:%q", rt.Method, rt.Path, m[1]))
		}
		if m[2] != "" {
			rt.prefixed, rt.prefix = m[1], m[2]
		}
	}
	rt.pattern = parameter.ReplaceAllString(rt.Path, "{$1}")
}

// allowed returns the methods of a path for the Allow header, and the pattern with
// the fewest parameters. They are empty for a path without routes.
func (rt router) allowed(u *url.URL) (allow, pattern string) {
	methods := []string{http.MethodOptions}
	for _, method := range rt.methods {
		_, found := rt.mux.Handler(&http.Request{Method: method, URL: u})
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

// home is the only path with a trailing slash, the first page, so that links
// of all pages are relative to the same directory.
const home = "dashboard/"

// isClean reports whether an escaped path begins with exactly one slash, and has
// neither an empty segment, a trailing slash, a dot segment in any spelling, nor a
// segment that is not text. A mux would redirect other paths; here they match no
// route.
func isClean(escaped string) bool {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok || rest == "" || rest == home {
		return ok
	}
	for segment := range strings.SplitSeq(rest, "/") {
		s, err := url.PathUnescape(segment)
		if err != nil || s == "" || s == "." || s == ".." || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return false
		}
	}
	return true
}
