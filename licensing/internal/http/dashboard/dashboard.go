package dashboard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Handler serves the pages below the path "/dashboard". It is safe for
// concurrent use.
type Handler struct {
	opts   kit.Options
	origin *http.CrossOriginProtection
}

// New returns a Handler. It panics if an origin is invalid.
func New(opts kit.Options) *Handler {
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
	section := &web.Section{Prefix: "/dashboard", Header: kit.PageHeader, Fail: h.fail, Missing: h.notFoundPage}
	section.Routes = append(section.Routes,
		web.Route{Method: http.MethodGet, Path: "/", Handle: h.redirectHome},
		web.Route{Method: http.MethodGet, Path: "/dashboard", Handle: h.redirectHome},
		web.Route{Method: http.MethodGet, Path: "/dashboard/static/{name}", Handle: kit.Assets.Serve},
	)
	for i := range routes {
		section.Routes = append(section.Routes, web.Route{
			Method: routes[i].Method, Path: "/dashboard/" + routes[i].Path, Handle: h.handler(&routes[i]), Bulk: routes[i].Download,
			SignIn: routes[i].SignIn && (routes[i].Access == kit.Public || routes[i].Account),
		})
	}
	return section
}

// redirectHome redirects from the root of the mount to the dashboard.
func (h *Handler) redirectHome(w http.ResponseWriter, _ *http.Request) error {
	return kit.RedirectTo(w, "dashboard/")
}

// redirectFromMount redirects from the mount without a trailing slash to the
// dashboard. The reference is relative to what the client requested, so it keeps
// the prefixes that the host application has stripped.
func redirectFromMount(w http.ResponseWriter, r *http.Request) error {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return kit.RedirectTo(w, "./"+path[strings.LastIndexByte(path, '/')+1:]+"/dashboard/")
}

// handler returns the handler of a route.
func (h *Handler) handler(route *kit.Route) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v := kit.VisitOf(&h.opts, w, r)
		if err := serve(v, route, h.origin); err != nil {
			web.Fail(v.W, v.R, err)
		}
		return nil
	}
}

// serve checks the origin, the content, the operator and the role of a request,
// in this order, and then calls the handler of the route.
func serve(v *kit.Visit, route *kit.Route, origin *http.CrossOriginProtection) error {
	v.Route = route
	if err := origin.Check(v.R); err != nil {
		return web.NewProblem(http.StatusForbidden, "cross_origin",
			"This form was sent from another site, so nothing was changed. Submit it from the dashboard. "+
				"If you did, a proxy changes the Host header: add its origin to "+v.Opts.Option("Dashboard.Origins")+".").WithCause(err)
	}
	if !input.Storable(v.R.URL.Query()) {
		return web.NewProblem(http.StatusBadRequest, "invalid_request", "The address of this page contains invalid characters.")
	}
	if route.SignIn && v.Opts.Operator != nil {
		return kit.NotFound("The host application handles the sign-in.")
	}
	if route.Upload { // a stranger must not make the process read a large form
		if done, err := identify(v, route); done || err != nil {
			return err
		}
	}
	// Read the form before the session: a session that ends during a slow
	// upload must not count.
	if v.R.Method == http.MethodPost {
		if err := v.ReadForm(route.Upload); err != nil {
			return err
		}
	}
	if done, err := identify(v, route); done || err != nil {
		return err
	}
	if err := checkQuery(route, v.R.URL.RawQuery); err != nil { // after a host's sign-in, which may have parameters of its own
		return err
	}
	return explainNotFound(v, v.ExplainQuery(route.Handle(v)))
}

// identify determines the operator and checks the access to the route. It
// returns done if it has written a response, such as a redirect to the sign-in.
func identify(v *kit.Visit, route *kit.Route) (done bool, err error) {
	v.Operators = v.Opts.Operators.As(auth.Caller{RequestID: v.Id})
	switch {
	case v.Opts.Operator != nil && route.Access == kit.Public:
		// The function is not called: it could reject the request.
	case v.Opts.Operator != nil:
		op, ok, err := web.AskHost(v.W, v.R, kit.PageHeader, "Options.Dashboard.Operator", v.Opts.Operator)
		if !ok || err != nil {
			return true, err
		}
		if problem := operatorProblem(op); problem != "" {
			v.Opts.Logger.LogAttrs(v.R.Context(), slog.LevelError, "licensing: operator from Options.Dashboard.Operator rejected",
				slog.String("reason", problem), slog.String("operator", op.ID), slog.String("request_id", v.Id))
			return false, web.NewProblem(http.StatusForbidden, "operator_refused",
				"Your account cannot use this dashboard. See the service log for the reason.")
		}
		v.Op, v.SignedIn = op, true
	default:
		op, err := inner.Of(v.Operators).Session(v.R)
		switch {
		case err == nil:
			v.Op, v.SignedIn = op, true
		case !errors.Is(err, signin.ErrNoSession):
			return false, err
		case route.Access != kit.Public && v.R.Method == http.MethodPost && !route.SignIn:
			return true, v.RenderSignedOut(route)
		case route.Access != kit.Public:
			to := "sign-in"
			if v.R.Method == http.MethodGet && v.Path != "" {
				to += "?" + url.Values{"return": {v.Here()}}.Encode()
			}
			return true, v.Redirect(to)
		}
	}
	if v.Opts.RequireSecondFactor && v.Opts.Operator == nil && v.SignedIn && !v.Op.SecondFactor && route.Access != kit.Public && !route.Account {
		return true, v.Redirect("second-factor")
	}
	if !v.May(route.Access) {
		return false, web.NewProblem(http.StatusForbidden, "role_forbids",
			"Your role, "+string(v.Op.Role)+", does not allow this. An admin can do it.")
	}
	if v.SignedIn {
		web.SetOperator(v.R, v.Op.ID)
	}
	actor := v.Actor()
	v.Auth = v.Opts.Auth.As(auth.Caller{Actor: actor, RequestID: v.Id})
	v.Operators = v.Operators.As(auth.Caller{Actor: actor, RequestID: v.Id})
	v.Licenses = inner.Of(v.Opts.Licenses.As(license.Caller{Actor: actor, RequestID: v.Id, MaskKeys: !v.May(kit.KeyReaders)})).ForRequest()
	v.Webhooks = v.Opts.Webhooks.In(v.Licenses)
	v.Files = v.Opts.Files.As(auth.Caller{Actor: actor, RequestID: v.Id})
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
