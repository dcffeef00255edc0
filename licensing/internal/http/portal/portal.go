package portal

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// Options configure a Handler. One of Customer and Mailbox is required, and all others but Name,
// Email, Origins, Page, Buy, Renew and SignOut; see licensing.Portal.
type Options struct {
	Licenses *license.Service
	Sign     func(context.Context, licensefile.Claims) (string, error)
	Logger   *slog.Logger

	Customer func(http.ResponseWriter, *http.Request) (id string, ok bool)
	Mailbox  func(http.ResponseWriter, *http.Request) (address string, ok bool)
	Name     func(*http.Request) string // of the customer; nil: unknown
	Email    func(*http.Request) string // of the customer; nil: unknown
	Origins  []string
	Page     func(w http.ResponseWriter, r *http.Request, title string, body template.HTML)
	Buy      func(productID string) (url string) // nil: nothing can be bought
	Renew    func(l api.License) (url string)    // nil: no license can be renewed
	SignOut  string                              // reference from the mount; empty: none
	Texts    map[string]string                   // by the names of the fields of licensing.PortalTexts
}

// A Handler serves the pages. It is safe for concurrent use.
type Handler struct {
	opts   Options
	origin *http.CrossOriginProtection
}

// New returns a Handler. It panics if an origin is invalid.
func New(opts Options) *Handler {
	h := &Handler{opts, http.NewCrossOriginProtection()}
	for _, o := range opts.Origins {
		if err := h.origin.AddTrustedOrigin(o); err != nil {
			panic("licensing: Portal.Origins: " + err.Error())
		}
	}
	return h
}

// Section returns the routes of the pages.
func (h *Handler) Section() *web.Section {
	missing := func(http.ResponseWriter, *http.Request) error { return api.ErrNotFound }
	return &web.Section{Label: "portal", Header: pageHeader, Fail: h.fail, Missing: missing, Routes: []web.Route{
		{Method: http.MethodGet, Path: "/", Handle: h.visit(showLicenses)},
		{Method: http.MethodGet, Path: "/static/{name}", Handle: assets.Serve},
		{Method: http.MethodGet, Path: "/link", Handle: h.visit(showLink)},
		{Method: http.MethodPost, Path: "/link", Handle: h.visit(decideLink)},
		{Method: http.MethodGet, Path: "/claim", Handle: h.visit(showClaim)},
		{Method: http.MethodPost, Path: "/claim", Handle: h.visit(claimLicense)},
		{Method: http.MethodGet, Path: "/{license}", Handle: h.visit(showLicense)},
		{Method: http.MethodPost, Path: "/{license}/release", Handle: h.visit(release)},
		{Method: http.MethodPost, Path: "/{license}/file", Handle: h.visit(downloadFile)},
		{Method: http.MethodPost, Path: "/{license}/request", Handle: h.visit(answerRequest)},
	}}
}

// A visit is one request of a customer.
type visit struct {
	h        *Handler
	w        http.ResponseWriter
	r        *http.Request
	customer *license.Customer
	licenses *license.Service  // for which only those of the customer exist
	id       string            // of the license in the path
	who      string            // the customer's ID, or the address that is signed in
	buyer    string            // the customer's ID; empty: an address is signed in
	only     bool              // the license is the only one, and is shown instead of the list
	plans    map[string]string // names by ID, as far as they were read
}

// maxForm is the maximum size of a form, in bytes. The request text of a program is
// at most a few hundred.
const maxForm = 64 << 10

// visit returns the handler of a page: it checks the origin of the request, who makes
// it, and, for a form, the rate of the customer, in this order.
func (h *Handler) visit(serve func(*visit) error) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := h.origin.Check(r); err != nil {
			return web.NewProblem(http.StatusForbidden, "cross_origin", "").WithCause(err)
		}
		who, ok, err := h.identify(w, r)
		if !ok || err != nil {
			return err
		}
		if h.opts.Mailbox == nil { // logs do not name an address
			web.SetCustomer(r, who)
		}
		if r.Method == http.MethodPost {
			if err := web.LimitCustomer(r, who); err != nil {
				return err
			}
		}
		v := &visit{h: h, w: w, r: r, who: who, id: r.PathValue("license")}
		licenses := h.opts.Licenses.As(license.Caller{RequestID: web.RequestID(r.Context())})
		if h.opts.Mailbox != nil {
			v.customer = licenses.Mailbox(who)
		} else {
			v.customer, v.buyer = licenses.Customer(who), who
		}
		v.licenses = inner.Of(v.customer).Service()
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		err = serve(v)
		if invalid, ok := errors.AsType[*api.InvalidError](err); ok {
			if i := slices.IndexFunc(invalid.Fields, func(f api.FieldError) bool { return h.refusals()[f.Field] != "" }); i >= 0 {
				err = h.refuse(r, invalid.Fields[i].Field, err)
			}
		}
		return err
	}
}

// identify asks the host application who makes the request: the ID of a customer, or an
// address.
func (h *Handler) identify(w http.ResponseWriter, r *http.Request) (who string, ok bool, err error) {
	field, option, ask := "customer_id", "Portal.Customer", h.opts.Customer
	if h.opts.Mailbox != nil {
		field, option, ask = "email", "Portal.Mailbox", h.opts.Mailbox
	}
	who, ok, err = web.AskHost(w, r, pageHeader, option, ask)
	if ok && who == "" {
		err = h.refuse(r, field, errors.New(field+" is empty"))
	}
	return who, ok, err
}

// refusals are what the host application returned that no customer can have, by the field that
// the rules refuse.
func (h *Handler) refusals() map[string]string {
	texts := map[string]string{
		"customer_id": "licensing: Portal.Customer returned true with an ID that no customer can have",
		"email":       "licensing: Portal.Email returned what is not an email address",
		"name":        "licensing: Portal.Name returned a name that no license can have",
	}
	if h.opts.Mailbox != nil {
		texts["email"] = "licensing: Portal.Mailbox returned true with what is not an email address"
	}
	return texts
}

// refuse tells the host application that no customer can have what it returned.
func (h *Handler) refuse(r *http.Request, field string, reason error) error {
	h.opts.Logger.LogAttrs(r.Context(), slog.LevelError, h.refusals()[field],
		slog.String("reason", reason.Error()), slog.String("request_id", web.RequestID(r.Context())))
	return web.NewProblem(http.StatusForbidden, "customer_refused", "")
}
