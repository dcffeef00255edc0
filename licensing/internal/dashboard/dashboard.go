package dashboard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
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

	Description []byte // of the API, as OpenAPI; the reference page is drawn from it
	About       About  // for the page about the service

	PublicURL string   // where the mount is reached from outside; empty: unknown
	Origins   []string // other origins that the pages are reached by, behind a proxy that rewrites Host
}

// Handler is the pages, all of them below the path "/dashboard". It is safe
// for concurrent use.
type Handler struct {
	opts      Options
	origin    *http.CrossOriginProtection
	reference func() referencePage // read once, when it is first asked for
}

// New returns the pages. It panics if one of the origins is none.
func New(opts Options) *Handler {
	h := &Handler{opts: opts, origin: http.NewCrossOriginProtection()}
	h.reference = sync.OnceValue(func() referencePage { return newReference(opts.Description) })
	for _, o := range opts.Origins {
		if err := h.origin.AddTrustedOrigin(o); err != nil {
			panic("dashboard: " + err.Error())
		}
	}
	return h
}

// Section returns the pages as a part of a site.
func (h *Handler) Section() *web.Section {
	section := &web.Section{Prefix: "/dashboard", Header: header, Fail: h.fail, Missing: h.notFoundPage}
	section.Routes = append(section.Routes,
		web.Route{Method: http.MethodGet, Path: "/", Handle: h.redirectHome},
		web.Route{Method: http.MethodGet, Path: "/dashboard", Handle: h.redirectHome},
		web.Route{Method: http.MethodGet, Path: "/dashboard/static/{name}", Handle: serveAsset},
	)
	for i := range routes {
		section.Routes = append(section.Routes, web.Route{
			Method: routes[i].method, Path: "/dashboard/" + routes[i].path, Handle: h.handler(&routes[i]), Bulk: routes[i].download,
		})
	}
	return section
}

// header sets what goes with every page.
func header(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Not no-referrer: it would make the Origin of our own forms "null".
	h.Set("Referrer-Policy", "same-origin")
}

// redirectHome leads from the root of the mount to the first page.
func (h *Handler) redirectHome(w http.ResponseWriter, _ *http.Request) error {
	redirectTo(w, "dashboard/")
	return nil
}

// handler answers requests for a page.
func (h *Handler) handler(route *route) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v := h.visit(w, r)
		if err := v.serve(route); err != nil {
			web.Fail(v.w, v.r, err)
		}
		return nil
	}
}

const maxForm = 256 << 10 // bytes of a form that is sent

// serve checks a request from the outside in: where it comes from, what it
// says, who sends it, what they may do.
func (v *visit) serve(route *route) error {
	if err := v.h.origin.Check(v.r); err != nil {
		return &web.Problem{Status: http.StatusForbidden, Code: "cross_origin", Cause: err,
			Detail: "This form was sent from another site, so nothing was changed. Submit it from the dashboard. " +
				"If you did, a proxy changes the Host header: add its origin to Options.DashboardOrigins."}
	}
	if !input.Storable(v.r.URL.Query()) {
		return &web.Problem{Status: http.StatusBadRequest, Code: "invalid_request", Detail: "The address of this page contains invalid characters."}
	}
	if route.signIn && v.h.opts.Operator != nil {
		return notFound("The host application handles the sign-in.")
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
	return v.explainNotFound(route.handle(v))
}

// identify finds out who is there. It is done if the visitor has been sent to
// sign in.
func (v *visit) identify(route *route) (done bool, err error) {
	a := v.h.opts.Auth.As(auth.Caller{RequestID: v.id})
	switch {
	case v.h.opts.Operator != nil && route.access == public:
		// Not asked: its way to say no is to answer the request.
	case v.h.opts.Operator != nil:
		op, ok := v.h.opts.Operator(v.w, v.r)
		if !ok {
			return true, nil
		}
		if problem := operatorProblem(op); problem != "" {
			v.h.opts.Logger.LogAttrs(v.r.Context(), slog.LevelError, "licensing: operator from Options.Dashboard.Operator rejected",
				slog.String("reason", problem), slog.String("operator", op.ID), slog.String("request_id", v.id))
			return false, &web.Problem{Status: http.StatusForbidden, Code: "operator_refused",
				Detail: "Your account cannot use this dashboard. See the service log for the reason."}
		}
		v.op, v.signedIn = op, true
	default:
		op, err := a.Session(v.r)
		switch {
		case err == nil:
			v.op, v.signedIn = op, true
		case !errors.Is(err, auth.ErrNoSession):
			return false, err
		case route.access != public:
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
			Detail: "Viewers cannot make changes. Ask an admin to do this or to change your role."}
	}
	actor := ""
	if v.signedIn {
		actor = "operator:" + v.op.ID
		web.SetOperator(v.r, v.op.ID)
	}
	v.auth = a.As(auth.Caller{Actor: actor, RequestID: v.id})
	v.licenses = v.h.opts.Licenses.As(license.Caller{Actor: actor, RequestID: v.id})
	return false, nil
}

// operatorProblem returns why an operator from the host application cannot use
// the dashboard, or "" if the operator is valid.
func operatorProblem(op auth.Operator) string {
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
