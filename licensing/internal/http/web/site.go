package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// Version is the API version, sent with every response.
const Version = "1"

// Config configures a [Site]. Logger, RequestLog, Authenticate, Rules, MaxBody,
// BodyTimeout, Timeout and After are required.
type Config struct {
	Logger       *slog.Logger
	RequestLog   *slog.Logger                       // gets a line for each request
	Observe      func(context.Context, feed.Report) // nil: not
	Authenticate func(r *http.Request, scope string) (auth.Grant, error)
	Rules        *license.Service
	SignFile     func(context.Context, licensefile.Claims) (string, error)

	MaxBody        int64         // in bytes
	BodyTimeout    time.Duration // how long a body may take to arrive
	Timeout        time.Duration // how long a request may take
	ClientIP       func(*http.Request) netip.Addr
	AllowedOrigins []string // of browser programs

	After func(http.ResponseWriter, *http.Request) // called after each response, unless its handler has panicked

	// Limiter limits the rates of callers, as licensing.Limiter does; nil: none.
	Limiter interface {
		Allow(ctx context.Context, key string) (wait time.Duration, ok bool)
	}
}

// A Site routes and serves requests. It is safe for concurrent use.
type Site struct {
	cfg   Config
	mux   *http.ServeMux
	pages *Section // nil: none
	alone bool     // the section has the only routes

	mountHinted atomic.Bool
}

// NewSite returns a Site with the routes of the API and the pages; either may be
// nil. It panics if two routes are equal.
func NewSite(cfg Config, routes []Route, pages *Section) *Site {
	s := &Site{cfg: cfg, pages: pages, alone: len(routes) == 0}
	if pages != nil {
		routes = append(slices.Clone(routes), pages.Routes...)
	}
	s.mux = newMux(routes, s.refuse)
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Answer: Answer{ResponseWriter: w, Head: r.Method == http.MethodHead}, site: s, outer: r, url: r.URL, id: newRequestID(r), start: time.Now()}
	x.page = s.pages != nil && (s.alone || s.pages.has(r.URL.EscapedPath()))
	standardHeader(w.Header(), x.id)
	if x.page {
		SetHeaders(w.Header(), s.pages.Header)
	} else {
		w.Header().Set("Licensing-Version", Version)
	}
	x.ctx = context.WithValue(r.Context(), exchangeKey{}, x)
	ctx, cancel := context.WithTimeout(x.ctx, s.cfg.Timeout)
	defer cancel()
	r = r.WithContext(ctx)
	timeBody(x.ResponseWriter, r, s.cfg.BodyTimeout)

	ended := false // without a panic
	defer func() {
		s.observe(r, x)
		if ended {
			s.cfg.After(w, r)
		}
	}()
	defer func() {
		if v := recover(); v != nil {
			s.recovered(x, r, v)
		}
	}()
	if isClean(r.URL.EscapedPath()) {
		s.mux.ServeHTTP(x, forMux(r))
	} else {
		s.refuse(x, r)
	}
	ended = true
}

// A Section holds the routes of pages. Their responses have their own headers, and
// their errors are pages.
type Section struct {
	Label   string // precedes their paths in the log and in observations; empty: none
	Prefix  string // path prefix, such as "/dashboard"
	Routes  []Route
	Header  http.Header                                              // of each response
	Fail    func(w http.ResponseWriter, r *http.Request, p *Problem) // responds with an error page
	Missing Handler                                                  // serves paths without a page
}

// has reports whether a path belongs to the pages, as the mount root does.
func (s *Section) has(path string) bool {
	rest, ok := strings.CutPrefix(path, s.Prefix)
	return path == "/" || path == "" || ok && (rest == "" || rest[0] == '/')
}

// bulkFactor is how many times longer a Bulk route may take.
const bulkFactor = 10

// recovered responds to a request whose handler panicked.
func (s *Site) recovered(x *exchange, r *http.Request, v any) {
	if v == http.ErrAbortHandler { // the handler aborted the response
		panic(v)
	}
	s.cfg.Logger.LogAttrs(r.Context(), slog.LevelError, "licensing: panic",
		slog.String("request_id", x.id), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	Fail(x, r, fmt.Errorf("panic: %v", v))
}

// standardHeader sets the headers of every response, including a host's.
func standardHeader(h http.Header, requestID string) {
	values := [...]string{requestID, "no-store", "nosniff"} // one allocation
	h[requestIDHeader] = values[0:1:1]
	h["Cache-Control"] = values[1:2:2]
	h["X-Content-Type-Options"] = values[2:3:3]
}

// refuse responds to a request without a route. OPTIONS returns the methods that the
// path supports.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request) {
	x, allowed := w.(*exchange), ""
	if isClean(r.URL.EscapedPath()) {
		allowed, x.pattern = s.allowed(r.URL)
	}
	r.URL = x.url
	if allowed != "" {
		s.allowOrigin(x, r, allowed)
	} else {
		s.hintAtMount(r.URL.EscapedPath())
	}
	var err error
	switch {
	case allowed == "" && x.page:
		err = s.pages.Missing(x, r)
	case allowed == "":
		err = NewProblem(http.StatusNotFound, api.CodeNoSuchPath, "No such endpoint. See GET /openapi.json.")
	case r.Method == http.MethodOptions:
		x.Header().Set("Allow", allowed)
		x.WriteHeader(http.StatusNoContent)
	default:
		err = NewProblem(http.StatusMethodNotAllowed, api.CodeMethodNotAllowed,
			"This path does not support the method; the Allow header lists the supported ones.").WithHeader("Allow", allowed)
	}
	if err != nil {
		Fail(x, r, err)
	}
}

// ServeHTTP implements [http.Handler], inside a Site. The handler of the route reads
// the body, after all checks.
func (rt *Route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x, route := w.(*exchange), rt
	s := x.site
	for _, name := range rt.names { // see forMux
		r.SetPathValue(name, strings.ReplaceAll(r.PathValue(name), "//", "/"))
	}
	r.URL = x.url
	if rt.prefixed != nil && strings.HasPrefix(r.PathValue(rt.names[0]), rt.prefixed.Prefix) {
		route = rt.prefixed
	}
	if route.Bulk {
		timeBody(x.ResponseWriter, r, bulkFactor*s.cfg.BodyTimeout)
		ctx, cancel := context.WithTimeout(x.ctx, bulkFactor*s.cfg.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	err := s.admit(x, r, route)
	if err == nil && route.Bulk {
		timeAnswer(x, r, (bulkFactor+1)*s.cfg.Timeout) // longer than the handler has, so that it can still respond
	}
	if err == nil && route.Slots != nil {
		select {
		case route.Slots <- struct{}{}:
			free := sync.OnceFunc(func() { <-route.Slots })
			defer free()
			context.AfterFunc(r.Context(), free) // a client that does not read its response can block a write for longer
		default:
			err = NewProblem(http.StatusTooManyRequests, api.CodeRateLimited,
				"Too many requests of this kind are already running; nothing was changed. Retry after the time in Retry-After.").WithHeader("Retry-After", "10")
		}
	}
	switch {
	case err != nil:
	case route.Do != nil:
		err = route.Do.serve(x, r, route)
	default:
		err = route.Handle(x, r)
	}
	if err != nil {
		Fail(x, r, err)
	}
}

// admit checks the authorization and the rate of a request, in that order.
func (s *Site) admit(x *exchange, r *http.Request, route *Route) (err error) {
	x.route, x.pattern = route, route.Path
	x.outer.Pattern = route.pattern // for middleware around the Site, which names the route as it does with a ServeMux
	if !route.OAuth {
		s.allowOrigin(x, r, "")
	}
	if !x.page {
		if err := checkQuery(r.URL.RawQuery); err != nil {
			return err
		}
	}
	if route.Scope != "" && (route.ScopeFor == "" || r.URL.Query().Has(route.ScopeFor)) {
		if x.grant, err = s.cfg.Authenticate(r, route.Scope); err != nil {
			if refusal, ok := errors.AsType[*auth.Error](err); ok && refusal.Status < 500 {
				err = cmp.Or(s.take(r, s.cfg.AddressKey(r)), err) // valid tokens from there are not affected
			}
			return err
		}
	}
	switch {
	case x.page || route.Unlimited: // the pages limit sign-ins themselves
		return nil
	case x.grant.ClientID != "":
		return s.take(r, ClientKey(x.grant.ClientID))
	}
	return s.take(r, s.cfg.AddressKey(r))
}

// hintAtMount logs, once, how to fix a mount that strips too much or too little:
// a path matches no route, but would with a leading slash, or a suffix of it does.
func (s *Site) hintAtMount(path string) {
	if s.mountHinted.Load() || PathTooLong(path) {
		return
	}
	hint := ""
	if path != "" && path[0] != '/' && s.hasRoute("/"+path) {
		hint = "licensing: the request path has no leading slash; mount the handler with http.StripPrefix and a prefix that does not end in a slash"
	}
	for i := 1; hint == "" && i < len(path); i++ {
		if path[i] == '/' && s.hasRoute(path[i:]) && !s.hasRoute(path[:i]) {
			hint = fmt.Sprintf("licensing: the request path has a prefix that was not stripped; mount the handler as http.StripPrefix(%q, h)", path[:i])
		}
	}
	if hint != "" && s.mountHinted.CompareAndSwap(false, true) {
		s.cfg.Logger.Warn(hint)
	}
}

// hasRoute reports whether a path matches a route.
func (s *Site) hasRoute(path string) bool {
	u, err := url.ParseRequestURI(path)
	if err != nil || !isClean(path) {
		return false
	}
	_, pattern := s.allowed(u)
	return pattern != ""
}
