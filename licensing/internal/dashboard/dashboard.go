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
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Options set up the pages. Licenses, Auth, Operators, Forms, Now and Logger are
// required.
type Options struct {
	Licenses  *license.Service
	Auth      *auth.Auth
	Operators *operator.Service
	Forms     *forms.Forms
	Now       func() time.Time
	Logger    *slog.Logger

	// Operator, when set, says who is there instead of the built-in
	// sign-in, which is then off. False means that it has answered. An
	// operator without an ID, with an unknown role or disabled gets 403.
	Operator func(http.ResponseWriter, *http.Request) (operator.Operator, bool)

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
	section := &web.Section{Prefix: "/dashboard", Header: header, Fail: h.fail, Missing: h.missing}
	section.Routes = append(section.Routes,
		web.Route{Method: http.MethodGet, Path: "/", Handle: h.toHome},
		web.Route{Method: http.MethodGet, Path: "/dashboard", Handle: h.toHome},
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

// toHome leads from the root of the mount to the first page.
func (h *Handler) toHome(w http.ResponseWriter, _ *http.Request) error {
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
			Detail: "This form was sent from another site, so nothing was done. Go back and send it from the dashboard itself. " +
				"If you did, the proxy in between changes the Host header; its address can be named in the settings of the service."}
	}
	if !input.Storable(v.r.URL.Query()) {
		return &web.Problem{Status: http.StatusBadRequest, Code: "invalid_request", Detail: "The address of this page has characters that cannot be read."}
	}
	if route.signIn && v.h.opts.Operator != nil {
		return notFound("The host application signs people in.")
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
	v.operators = v.h.opts.Operators.As(auth.Caller{RequestID: v.id})
	switch {
	case v.h.opts.Operator != nil && route.access == anybody:
		// Not asked: its way to say no is to answer the request.
	case v.h.opts.Operator != nil:
		op, ok := v.h.opts.Operator(v.w, v.r)
		if !ok {
			return true, nil
		}
		if fault := operatorFault(op); fault != "" {
			v.h.opts.Logger.LogAttrs(v.r.Context(), slog.LevelError, "licensing: Options.Dashboard.Operator returned an operator that cannot be let in",
				slog.String("fault", fault), slog.String("operator", op.ID), slog.String("request_id", v.id))
			return false, &web.Problem{Status: http.StatusForbidden, Code: "operator_refused",
				Detail: "Your account cannot use this dashboard. The log of the service says why."}
		}
		v.op, v.known = op, true
	default:
		op, err := v.operators.Session(v.r)
		switch {
		case err == nil:
			v.op, v.known = op, true
		case !errors.Is(err, operator.ErrNoSession):
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
	if v.known {
		web.SetOperator(v.r, v.op.ID)
	}
	actor := v.actor()
	v.auth = v.h.opts.Auth.As(auth.Caller{Actor: actor, RequestID: v.id})
	v.operators = v.operators.As(auth.Caller{Actor: actor, RequestID: v.id})
	v.licenses = v.h.opts.Licenses.As(license.Caller{Actor: actor, RequestID: v.id})
	return false, nil
}

// operatorFault returns why an operator that the host named cannot be let in,
// or "" if it can.
func operatorFault(op operator.Operator) string {
	switch {
	case op.ID == "":
		return "the ID is empty"
	case op.Disabled:
		return "the operator is disabled"
	case op.Role != operator.RoleAdmin && op.Role != operator.RoleViewer:
		return fmt.Sprintf("the role %q is unknown; it must be %q or %q", op.Role, operator.RoleAdmin, operator.RoleViewer)
	}
	return ""
}

func notFound(detail string) error {
	return &web.Problem{Status: http.StatusNotFound, Code: "not_found", Detail: detail}
}
