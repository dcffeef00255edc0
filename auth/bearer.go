package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Grant is what an access token allows.
type Grant struct {
	ClientID  string
	Scopes    []string
	Products  []string // the product ids it is limited to; nil: all products
	ExpiresAt time.Time
}

type grantKey struct{}

// WithGrant returns a context that carries g.
func WithGrant(ctx context.Context, g Grant) context.Context {
	return context.WithValue(ctx, grantKey{}, g)
}

// GrantFrom returns the Grant that [Auth.RequireScope] put into the context
// of a request.
func GrantFrom(ctx context.Context) (Grant, bool) {
	g, ok := ctx.Value(grantKey{}).(Grant)
	return g, ok
}

// RequireScope returns middleware that lets a request through only with an
// access token that has the scope, and puts the token's [Grant] into the
// request's context; the empty scope asks for any good token. Other requests
// are answered by [Options.Fail].
func (a *Auth) RequireScope(scope string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g, err := a.Authenticate(r, scope)
			if err != nil {
				a.opts.Fail(w, r, err)
				return
			}
			next.ServeHTTP(w, r.WithContext(WithGrant(r.Context(), g)))
		})
	}
}

// Authenticate checks the access token of r (RFC 6750) and that it has the
// scope; the empty scope asks for any good token. The token comes in the
// Authorization header, as "Bearer <token>" with the scheme in any case, or
// bare; never in the query or a body. It reads nothing of the body.
//
// The error is an [*Error] with status 400, 401, 403 or 503.
func (a *Auth) Authenticate(r *http.Request, scope string) (Grant, error) {
	headers := r.Header["Authorization"]
	if len(headers) > 1 {
		return Grant{}, a.challenge(http.StatusBadRequest, "invalid_request", "The request has more than one Authorization header.", "")
	}
	raw, ok := "", false
	if len(headers) == 1 {
		raw, ok = readBearer(headers[0])
	}
	if !ok {
		return Grant{}, &Error{
			Status: http.StatusUnauthorized, Code: "unauthorized",
			Description: "The request has no access token; get one from the token endpoint and send it in the Authorization header as Bearer.",
			Challenge:   `Bearer realm="` + a.opts.Realm + `"`,
		}
	}
	if r.URL.RawQuery != "" && r.URL.Query().Has("access_token") {
		return Grant{}, a.challenge(http.StatusBadRequest, "invalid_request", "The request has an access token in its URL as well; send it in the Authorization header only.", "")
	}
	t, err := a.token(r.Context(), raw)
	if errors.Is(err, errBadToken) {
		return Grant{}, a.challenge(http.StatusUnauthorized, "invalid_token", "The access token is unknown, expired or revoked; get a new one.", "")
	}
	if err != nil {
		return Grant{}, storeFailed("unavailable", err)
	}
	if scope != "" && !slices.Contains(t.Scopes, scope) {
		return Grant{}, a.challenge(http.StatusForbidden, "insufficient_scope", "The access token does not have the scope that this needs.", scope)
	}
	return Grant{ClientID: t.ClientID, Scopes: t.Scopes, Products: t.Products, ExpiresAt: t.ExpiresAt}, nil
}

// readBearer returns the token in the value of an Authorization header, or
// false if it is of another scheme.
func readBearer(header string) (raw string, ok bool) {
	if strings.HasPrefix(header, tokenPrefix) {
		return header, true
	}
	scheme, raw, _ := strings.Cut(header, " ")
	return strings.Trim(raw, " "), strings.EqualFold(scheme, "Bearer")
}

// errBadToken is the one answer to all tokens that are of no use.
var errBadToken = errors.New("auth: the token is malformed, unknown, expired or revoked")

// token looks a token up and narrows it to what its client allows: two point
// reads, or none for what cannot be a token. The client is read last, so that
// every change of it that is done counts.
func (a *Auth) token(ctx context.Context, raw string) (token, error) {
	if !wellFormed(tokenPrefix, raw) {
		return token{}, errBadToken
	}
	e, err := a.st.Entry(ctx, kindToken, digest(raw))
	if errors.Is(err, store.ErrNotFound) {
		return token{}, errBadToken
	}
	if err != nil {
		return token{}, err
	}
	t, err := readToken(e)
	if err != nil {
		return token{}, err
	}
	if !t.liveAt(a.now()) {
		return token{}, errBadToken
	}
	c, err := clientByID(ctx, a.st, t.ClientID)
	if errors.Is(err, ErrNotFound) {
		return token{}, errBadToken
	}
	if err != nil {
		return token{}, err
	}
	if !t.narrow(c) {
		return token{}, errBadToken
	}
	return t, nil
}

// challenge returns the refusal of a token in the words of RFC 6750.
func (a *Auth) challenge(status int, code, description, scope string) *Error {
	c := `Bearer realm="` + a.opts.Realm + `", error="` + code + `", error_description="` + description + `"`
	if scope != "" {
		c += `, scope="` + scope + `"`
	}
	return &Error{Status: status, Code: code, Description: description, Challenge: c}
}

// fail is the default of [Options.Fail].
func (a *Auth) fail(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Status: http.StatusInternalServerError, Code: "internal", Description: "The service failed to answer.", err: err}
	}
	if e.err != nil {
		a.logFailure(r.Context(), e)
	}
	w.Header().Set("Cache-Control", "no-store")
	e.setHeaders(w.Header())
	writeJSON(w, e.Status, "application/problem+json", struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Code   string `json:"code"`
	}{"about:blank", http.StatusText(e.Status), e.Status, e.Description, e.Code})
}
