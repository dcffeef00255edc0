package licensing

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// A Requirement describes the license that [Handler.Require] demands.
type Requirement struct {
	// ProductID is the product that the license must be for. Default: any.
	ProductID string

	// Entitlement is the name of an entitlement that the license must
	// have, with any value. Default: none.
	Entitlement string

	// Exactly one of Key and Customer must be set. Key returns the license
	// key in the request, Customer the ID of the signed-in customer; both
	// return "" if there is none. Get the customer from a verified session,
	// never from unverified request data.
	Key      func(*http.Request) string
	Customer func(*http.Request) string

	// FailOpen lets requests pass while the store is unavailable, without a
	// license in their context, and logs each one. Default: respond with
	// 503 and Retry-After.
	FailOpen bool

	// OnDenied answers a request that is denied, for example with a page
	// for a browser, in place of the problem document. It gets the verdict,
	// which is the zero Verdict if the request has no license key or
	// customer. It does not get requests that could not be checked. Default:
	// [Handler.WriteError].
	OnDenied func(http.ResponseWriter, *http.Request, api.Verdict)
}

// Require returns middleware for the host's own routes. It lets a request pass if
// a license that meets the requirement is valid or in its grace period;
// [LicenseFrom] then returns that license. For any other request it responds with
// 403 as [Handler.WriteError] does, with the code "license_denied" and the
// verdict, or "license_required" if the request has no license key or customer.
// [Requirement.OnDenied] replaces this response.
//
// Every request is checked against the current state of the store. Nothing is
// cached or written, and no activation is needed. A check takes at most
// Options.Limits.Timeout.
//
// Require panics unless exactly one of q.Key and q.Customer is set.
func (h *Handler) Require(q Requirement) func(http.Handler) http.Handler {
	if (q.Key == nil) == (q.Customer == nil) {
		panic("licensing: set exactly one of Requirement.Key and Requirement.Customer")
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v, err := h.verdict(r, q)
			switch {
			case err == nil && v.Valid:
				next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), licenseKey{}, *v.License)))
			case q.OnDenied != nil && (err == nil || errors.Is(err, errNoLicense)):
				q.OnDenied(w, r, v)
			case err == nil:
				p := web.NewProblem(http.StatusForbidden, api.CodeLicenseDenied, v.Reasons[0].Detail)
				p.Verdict = &v
				h.WriteError(w, r, p)
			case q.FailOpen && isOutage(r, err):
				h.opts.Logger.WarnContext(r.Context(), "licensing: request passed without a license check", "error", err)
				h.observeStoreError(r.Context(), "Require", "", err)
				next.ServeHTTP(w, r)
			default:
				if web.ProblemOf(err).Status == http.StatusInternalServerError {
					h.requests.add("Require", err)
				}
				h.WriteError(w, r, err)
			}
		})
	}
}

// isOutage reports whether err means that the store is unavailable, as opposed to
// an invalid or canceled request.
func isOutage(r *http.Request, err error) bool {
	return r.Context().Err() == nil && !errors.Is(err, api.ErrInvalid) && !errors.As(err, new(*web.Problem))
}

var errNoLicense = web.NewProblem(http.StatusForbidden, api.CodeLicenseRequired,
	"A license is required. Sign in, or send the license key.")

// verdict returns the verdict on the license of a request.
func (h *Handler) verdict(r *http.Request, q Requirement) (api.Verdict, error) {
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.Limits.Timeout)
	defer cancel()
	var entitlements []string
	if q.Entitlement != "" {
		entitlements = []string{q.Entitlement}
	}
	if q.Key != nil {
		key := q.Key(r)
		if key == "" {
			return api.Verdict{}, errNoLicense
		}
		v, err := h.service.Validate(ctx, api.ValidateKeyParams{Key: key, ProductID: q.ProductID, Entitlements: entitlements})
		return v.Verdict, err
	}
	customer := q.Customer(r)
	if customer == "" {
		return api.Verdict{}, errNoLicense
	}
	return h.service.ValidateCustomer(ctx, api.ValidateCustomerParams{CustomerID: customer, ProductID: q.ProductID, Entitlements: entitlements})
}

type licenseKey struct{}

// LicenseFrom returns the license with which a request passed [Handler.Require],
// without its key. It returns false on a route without the middleware, or if
// Requirement.FailOpen let the request pass.
func LicenseFrom(ctx context.Context) (api.License, bool) {
	l, ok := ctx.Value(licenseKey{}).(api.License)
	return l, ok
}
