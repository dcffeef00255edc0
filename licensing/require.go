package licensing

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A Gate says what a request needs to get through [Handler.Require].
type Gate struct {
	// ProductID is the product that the license must be for. Empty: any.
	ProductID string

	// Entitlement is the name of what the license must include, with
	// whatever value. Empty: nothing in particular.
	Entitlement string

	// Exactly one of Key and Customer says whose license it is. Key returns
	// the license key that the request brings, Customer the id of the
	// customer who is signed in; empty if there is none. Take the customer
	// from what the host has verified, never from what the request claims.
	Key      func(*http.Request) string
	Customer func(*http.Request) string

	// OnOutage is what happens while the store cannot answer.
	OnOutage Outage
}

// An Outage says what becomes of a request while nobody can tell whether it
// has a license.
type Outage int

const (
	// OutageDeny answers 503, with Retry-After.
	OutageDeny Outage = iota
	// OutageAllow lets the request through, without a license in its
	// context, and logs that it did.
	OutageAllow
)

// Require returns middleware for routes of the host's own: it lets a request
// through if there is a license for it that is valid now, or in its grace, and
// then [LicenseFrom] finds the license in the request's context. Any other
// request is answered 403, in the form of [WriteError], with the code of the
// verdict ("expired", "entitlement_missing"), or "license_required" if the
// request names nobody.
//
// Every request is judged by the store as it is; nothing is cached. No seat is
// asked for, and nothing is written. The look-up takes at most Options.Timeout.
//
// Require panics if not exactly one of g.Key and g.Customer is set.
func (h *Handler) Require(g Gate) func(http.Handler) http.Handler {
	if (g.Key == nil) == (g.Customer == nil) {
		panic("licensing: a Gate needs either Key or Customer, to know whose license to look for")
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v, err := h.verdict(r, g)
			switch {
			case err == nil && v.Valid:
				next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), licenseKey{}, *v.License)))
			case err == nil:
				WriteError(w, r, &web.Problem{Status: http.StatusForbidden, Code: string(v.Code), Detail: v.Reasons[0].Detail})
			case g.OnOutage == OutageAllow && isOutage(r, err):
				h.opts.Logger.WarnContext(r.Context(), "licensing: let a request through without knowing its license", "error", err)
				next.ServeHTTP(w, r)
			default:
				WriteError(w, r, err)
			}
		})
	}
}

// isOutage reports whether err says that the store cannot answer, and not that
// the request is wrong or was given up.
func isOutage(r *http.Request, err error) bool {
	return r.Context().Err() == nil && !errors.Is(err, license.ErrInvalid) && !errors.As(err, new(*web.Problem))
}

var errNobody = &web.Problem{
	Status: http.StatusForbidden, Code: "license_required",
	Detail: "This needs a license. Sign in, or send the license key.",
}

// verdict judges the license of a request.
func (h *Handler) verdict(r *http.Request, g Gate) (license.Verdict, error) {
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.Timeout)
	defer cancel()
	var entitlements []string
	if g.Entitlement != "" {
		entitlements = []string{g.Entitlement}
	}
	if g.Key != nil {
		key := g.Key(r)
		if key == "" {
			return license.Verdict{}, errNobody
		}
		return h.service.Validate(ctx, license.ValidateParams{Key: key, ProductID: g.ProductID, Entitlements: entitlements})
	}
	customer := g.Customer(r)
	if customer == "" {
		return license.Verdict{}, errNobody
	}
	return h.service.ValidateCustomer(ctx, license.ValidateCustomerParams{CustomerID: customer, ProductID: g.ProductID, Entitlements: entitlements})
}

type licenseKey struct{}

// LicenseFrom returns the license that let a request through [Handler.Require],
// without its key. It is not ok if there is none: on a route without the
// middleware, or behind [OutageAllow] while the store cannot answer.
func LicenseFrom(ctx context.Context) (license.License, bool) {
	l, ok := ctx.Value(licenseKey{}).(license.License)
	return l, ok
}
