package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// Options configure a Handler. Licenses, Webhooks, Files, Backlog, Auth, Operators, Portal, Office, Now
// and Logger are required.
type Options struct {
	Licenses  *license.Service
	Webhooks  *webhook.Service
	Files     *files.Service
	Backlog   func(context.Context) (feed.Backlog, error)
	Sealed    bool // webhook secrets are encrypted
	Auth      *auth.Auth
	Operators *operator.Service
	Now       func() time.Time
	Logger    *slog.Logger

	Portal func() bool // the host has customer pages
	Office func() bool // the program has a page for admins at dashboard/office

	About     About  // the content of the About page
	PublicURL string // the public URL of the mount; empty: unknown

	Host
}

// Host has what the host application chooses; see licensing.DashboardOptions.
type Host struct {
	Operator   func(http.ResponseWriter, *http.Request) (operator.Operator, bool)
	Origins    []string
	HomeURL    string
	SignOutURL string
	EmailKey   string

	RequireSecondFactor bool
}

// Handler serves the pages below the path "/dashboard". It is safe for
// concurrent use.
type Handler struct {
	opts   Options
	origin *http.CrossOriginProtection
}

// New returns a Handler. It panics if an origin is invalid.
func New(opts Options) *Handler {
	opts.EmailKey = cmp.Or(opts.EmailKey, "email")
	h := &Handler{opts: opts, origin: http.NewCrossOriginProtection()}
	for _, o := range opts.Origins {
		if err := h.origin.AddTrustedOrigin(o); err != nil {
			panic("dashboard: " + err.Error())
		}
	}
	return h
}

// Section returns the routes of the pages.
func (h *Handler) Section() *web.Section {
	section := &web.Section{Prefix: "/dashboard", Header: pageHeader, Fail: h.fail, Missing: h.notFoundPage}
	section.Routes = append(section.Routes,
		web.Route{Method: http.MethodGet, Path: "/", Handle: h.redirectHome},
		web.Route{Method: http.MethodGet, Path: "/dashboard", Handle: h.redirectHome},
		web.Route{Method: http.MethodGet, Path: "/dashboard/static/{name}", Handle: assets.Serve},
	)
	for i := range routes {
		section.Routes = append(section.Routes, web.Route{
			Method: routes[i].method, Path: "/dashboard/" + routes[i].path, Handle: h.handler(&routes[i]), Bulk: routes[i].download,
			SignIn: routes[i].signIn && (routes[i].access == public || routes[i].account),
		})
	}
	return section
}

// pageHeader has the response headers of every page.
var pageHeader = http.Header{
	"Content-Security-Policy": {"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'"},
	"Cross-Origin-Opener-Policy":   {"same-origin"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
	// With no-referrer, browsers would send "Origin: null" with the forms.
	"Referrer-Policy": {"same-origin"},
}

// redirectHome redirects from the root of the mount to the dashboard.
func (h *Handler) redirectHome(w http.ResponseWriter, _ *http.Request) error {
	return redirectTo(w, "dashboard/")
}

// redirectFromMount redirects from the mount without a trailing slash to the
// dashboard. The reference is relative to what the client requested, so it keeps
// the prefixes that the host application has stripped.
func redirectFromMount(w http.ResponseWriter, r *http.Request) error {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return redirectTo(w, "./"+path[strings.LastIndexByte(path, '/')+1:]+"/dashboard/")
}

// handler returns the handler of a route.
func (h *Handler) handler(route *route) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v := h.visit(w, r)
		if err := v.serve(route); err != nil {
			web.Fail(v.w, v.r, err)
		}
		return nil
	}
}

const maxForm = 256 << 10 // the maximum size of a submitted form without a file, in bytes

// serve checks the origin, the content, the operator and the role of a request,
// in this order, and then calls the handler of the route.
func (v *visit) serve(route *route) error {
	v.route = route
	if err := v.h.origin.Check(v.r); err != nil {
		return web.NewProblem(http.StatusForbidden, "cross_origin",
			"This form was sent from another site, so nothing was changed. Submit it from the dashboard. "+
				"If you did, a proxy changes the Host header: add its origin to Options.Dashboard.Origins.").WithCause(err)
	}
	if !input.Storable(v.r.URL.Query()) {
		return web.NewProblem(http.StatusBadRequest, "invalid_request", "The address of this page contains invalid characters.")
	}
	if route.signIn && v.h.opts.Operator != nil {
		return notFound("The host application handles the sign-in.")
	}
	if route.upload { // a stranger must not make the process read a large form
		if done, err := v.identify(route); done || err != nil {
			return err
		}
	}
	// Read the form before the session: a session that ends during a slow
	// upload must not count.
	if v.r.Method == http.MethodPost {
		if err := v.readForm(route.upload); err != nil {
			return err
		}
	}
	if done, err := v.identify(route); done || err != nil {
		return err
	}
	if err := route.checkQuery(v.r.URL.RawQuery); err != nil { // after a host's sign-in, which may have parameters of its own
		return err
	}
	return v.explainNotFound(v.explainQuery(route.handle(v)))
}

// identify determines the operator and checks the access to the route. It
// returns done if it has written a response, such as a redirect to the sign-in.
func (v *visit) identify(route *route) (done bool, err error) {
	v.operators = v.h.opts.Operators.As(auth.Caller{RequestID: v.id})
	switch {
	case v.h.opts.Operator != nil && route.access == public:
		// The function is not called: it could reject the request.
	case v.h.opts.Operator != nil:
		op, ok, err := web.AskHost(v.w, v.r, pageHeader, "Options.Dashboard.Operator", v.h.opts.Operator)
		if !ok || err != nil {
			return true, err
		}
		if problem := operatorProblem(op); problem != "" {
			v.h.opts.Logger.LogAttrs(v.r.Context(), slog.LevelError, "licensing: operator from Options.Dashboard.Operator rejected",
				slog.String("reason", problem), slog.String("operator", op.ID), slog.String("request_id", v.id))
			return false, web.NewProblem(http.StatusForbidden, "operator_refused",
				"Your account cannot use this dashboard. See the service log for the reason.")
		}
		v.op, v.signedIn = op, true
	default:
		op, err := inner.Of(v.operators).Session(v.r)
		switch {
		case err == nil:
			v.op, v.signedIn = op, true
		case !errors.Is(err, signin.ErrNoSession):
			return false, err
		case route.access != public && v.r.Method == http.MethodPost && !route.signIn:
			return true, v.renderSignedOut(route)
		case route.access != public:
			to := "sign-in"
			if v.r.Method == http.MethodGet && v.path != "" {
				to += "?" + url.Values{"return": {v.here()}}.Encode()
			}
			return true, v.redirect(to)
		}
	}
	if v.h.opts.RequireSecondFactor && v.h.opts.Operator == nil && v.signedIn && !v.op.SecondFactor && route.access != public && !route.account {
		return true, v.redirect("second-factor")
	}
	if !v.may(route.access) {
		return false, web.NewProblem(http.StatusForbidden, "role_forbids",
			"Your role, "+string(v.op.Role)+", does not allow this. Ask an admin to do it or to change your role.")
	}
	if v.signedIn {
		web.SetOperator(v.r, v.op.ID)
	}
	actor := v.actor()
	v.auth = v.h.opts.Auth.As(auth.Caller{Actor: actor, RequestID: v.id})
	v.operators = v.operators.As(auth.Caller{Actor: actor, RequestID: v.id})
	v.licenses = inner.Of(v.h.opts.Licenses.As(license.Caller{Actor: actor, RequestID: v.id, MaskKeys: !v.may(keyReaders)})).ForRequest()
	v.webhooks = v.h.opts.Webhooks.In(v.licenses)
	v.files = v.h.opts.Files.As(auth.Caller{Actor: actor, RequestID: v.id})
	return false, nil
}

// operatorProblem returns why an operator from the host application cannot use
// the dashboard, or "" if the operator is valid.
func operatorProblem(op operator.Operator) string {
	switch {
	case op.ID == "":
		return "the ID is empty"
	case op.Disabled:
		return "the operator is disabled"
	case !op.Role.May(operator.MayView):
		return fmt.Sprintf("the role %q is unknown; it must be %q, %q or %q", op.Role, operator.RoleAdmin, operator.RoleSupport, operator.RoleViewer)
	}
	return ""
}

func notFound(detail string) error {
	return web.NewProblem(http.StatusNotFound, "not_found", detail)
}
