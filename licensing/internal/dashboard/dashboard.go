package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Options set up the pages. Licenses, Auth, Now and Logger are required.
type Options struct {
	Licenses *license.Service
	Auth     *auth.Auth
	Now      func() time.Time
	Logger   *slog.Logger

	// Operator, when set, says who is there instead of the built-in
	// sign-in, which is then off. False means that it has answered. An
	// operator without an ID, with an unknown role or disabled gets 403.
	Operator func(http.ResponseWriter, *http.Request) (auth.Operator, bool)

	Observe     func(context.Context, web.Observation)
	Description []byte // of the API, as OpenAPI; the reference page is drawn from it
	About       About  // for the page about the service

	BodyTimeout time.Duration // how long a form may take to arrive, on a server that does not say; zero: 10 seconds

	PublicURL string   // where the mount is reached from outside; empty: unknown
	Origins   []string // other origins that the pages are reached by, behind a proxy that rewrites Host
}

// Handler serves the pages under the path "/dashboard". It is safe for
// concurrent use.
type Handler struct {
	opts   Options
	origin *http.CrossOriginProtection
}

var _ http.Handler = (*Handler)(nil)

// New returns the pages. It panics if one of the origins is none.
func New(opts Options) *Handler {
	if opts.BodyTimeout == 0 {
		opts.BodyTimeout = 10 * time.Second
	}
	h := &Handler{opts: opts, origin: http.NewCrossOriginProtection()}
	for _, o := range opts.Origins {
		if err := h.origin.AddTrustedOrigin(o); err != nil {
			panic("dashboard: " + err.Error())
		}
	}
	return h
}

const (
	maxForm = 256 << 10        // bytes of a form that is sent
	timeout = 30 * time.Second // for a page, but for downloads
)

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := &visit{h: h, w: &web.Answer{ResponseWriter: w, Head: r.Method == http.MethodHead}, r: r, id: web.NewRequestID(r)}
	header := w.Header()
	header.Set("X-Request-Id", v.id)
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Not no-referrer: it would make the Origin of our own forms "null".
	header.Set("Referrer-Policy", "same-origin")

	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			h.opts.Logger.LogAttrs(r.Context(), slog.LevelError, "licensing: panic",
				slog.String("request_id", v.id), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			v.fail(fmt.Errorf("panic: %v", p))
		}
		h.observe(v, time.Since(start))
	}()
	web.TimeBody(v.w, r, h.opts.BodyTimeout)
	if err := h.serve(v); err != nil {
		v.fail(err)
	}
}

// observe tells the log and the host's observer of a finished request.
func (h *Handler) observe(v *visit, d time.Duration) {
	o := web.Observation{Method: web.LoggedMethod(v.r.Method), Route: v.pattern, Status: v.w.Status, Duration: d, RequestID: v.id}
	h.opts.Logger.LogAttrs(v.r.Context(), slog.LevelInfo, "licensing: request",
		slog.String("method", o.Method), slog.String("route", o.Route), slog.Int("status", o.Status),
		slog.Duration("duration", o.Duration), slog.String("operator", v.op.ID), slog.String("request_id", o.RequestID))
	if h.opts.Observe != nil {
		h.opts.Observe(v.r.Context(), o)
	}
}

// serve checks a request from the outside in: path, method, where it comes
// from, what it says, who sends it, what they may do.
func (h *Handler) serve(v *visit) error {
	whole := v.r.URL.EscapedPath()
	if web.PathTooLong(whole) {
		// Without links: each would climb the whole path.
		http.Error(v.w, "This page does not exist.", http.StatusNotFound)
		return nil
	}
	path, ok := strings.CutPrefix(whole, "/dashboard")
	switch {
	case whole == "/" || whole == "/dashboard":
		v.root = "dashboard/"
		if !v.reads() {
			return methodNotAllowed(http.MethodGet, http.MethodHead)
		}
		v.redirectTo(v.root)
		return nil
	case !ok || path[0] != '/':
		v.root = strings.Repeat("../", max(strings.Count(whole, "/")-1, 0)) + "dashboard/"
		return notFound("This page does not exist.")
	}
	v.path = path[1:]
	v.root = strings.Repeat("../", strings.Count(v.path, "/"))
	if v.root == "" {
		v.root = "./"
	}
	if name, ok := strings.CutPrefix(v.path, "static/"); ok {
		return serveAsset(v, name)
	}
	route, err := v.match()
	if err != nil {
		return v.noPage(err)
	}
	if err := h.origin.Check(v.r); err != nil {
		return &web.Problem{Status: http.StatusForbidden, Code: "cross_origin", Cause: err,
			Detail: "This form was sent from another site, so nothing was done. Go back and send it from the dashboard itself. " +
				"If you did, the proxy in between changes the Host header; its address can be named in the settings of the service."}
	}
	if !input.Storable(v.r.URL.Query()) {
		return &web.Problem{Status: http.StatusBadRequest, Code: "invalid_request", Detail: "The address of this page has characters that cannot be read."}
	}
	if route.signIn && h.opts.Operator != nil {
		return notFound("People sign in elsewhere.")
	}
	if !route.download {
		ctx, cancel := context.WithTimeout(v.r.Context(), timeout)
		defer cancel()
		v.r = v.r.WithContext(ctx)
	}
	// The form first: while it is on its way, who sends it may lose the right to.
	if v.r.Method == http.MethodPost {
		if err := v.readForm(); err != nil {
			return err
		}
	}
	if done, err := v.identify(route); done || err != nil {
		return err
	}
	return v.whyMissing(route.handle(v))
}

// identify finds out who is there. It is done if the visitor has been sent to
// sign in.
func (v *visit) identify(route *route) (done bool, err error) {
	a := v.h.opts.Auth.As(auth.Caller{RequestID: v.id})
	switch {
	case v.h.opts.Operator != nil && route.access == anybody:
		// Not asked: its way to say no is to answer the request.
	case v.h.opts.Operator != nil:
		op, ok := v.h.opts.Operator(v.w, v.r)
		if !ok {
			return true, nil
		}
		if fault := operatorFault(op); fault != "" {
			v.h.opts.Logger.LogAttrs(v.r.Context(), slog.LevelError, "licensing: Options.Operator returned an operator that cannot be let in",
				slog.String("fault", fault), slog.String("operator", op.ID), slog.String("request_id", v.id))
			return false, &web.Problem{Status: http.StatusForbidden, Code: "operator_refused",
				Detail: "Your account cannot use this dashboard. The log of the service says why."}
		}
		v.op, v.known = op, true
	default:
		op, err := a.Session(v.r)
		switch {
		case err == nil:
			v.op, v.known = op, true
		case !errors.Is(err, auth.ErrNoSession):
			return false, err
		case route.access != anybody:
			to := "sign-in"
			if v.r.Method == http.MethodGet && v.path != "" {
				to += "?" + url.Values{"return": {v.here()}}.Encode()
			}
			v.redirect(to)
			return true, nil
		}
	}
	if route.access == admins && !v.admin() {
		return false, &web.Problem{Status: http.StatusForbidden, Code: "viewer",
			Detail: "You may look at everything here, but not change it. An admin can do this, or make you one."}
	}
	actor := ""
	if v.known {
		actor = "operator:" + v.op.ID
	}
	v.auth = a.As(auth.Caller{Actor: actor, RequestID: v.id})
	v.licenses = v.h.opts.Licenses.As(license.Caller{Actor: actor, RequestID: v.id})
	return false, nil
}

// operatorFault returns why an operator that the host named cannot be let in,
// or "" if it can.
func operatorFault(op auth.Operator) string {
	switch {
	case op.ID == "":
		return "the ID is empty"
	case op.Disabled:
		return "the operator is disabled"
	case op.Role != auth.RoleAdmin && op.Role != auth.RoleViewer:
		return fmt.Sprintf("the role %q is unknown; it must be %q or %q", op.Role, auth.RoleAdmin, auth.RoleViewer)
	}
	return ""
}

func notFound(detail string) error {
	return &web.Problem{Status: http.StatusNotFound, Code: "not_found", Detail: detail}
}
