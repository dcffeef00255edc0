package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Grant is what an access token allows.
type Grant struct {
	ClientID  string
	Scopes    []string
	Products  []string // the IDs of the products it is limited to; nil: all products
	ExpiresAt time.Time
}

type grantKey struct{}

// GrantFrom returns the Grant that [Auth.RequireScope] added to the context of
// a request.
func GrantFrom(ctx context.Context) (Grant, bool) {
	g, ok := ctx.Value(grantKey{}).(Grant)
	return g, ok
}

// RequireScope returns middleware that only accepts requests with an access token
// that has the scope, and adds the [Grant] of the token to the context of the
// request. With an empty scope, any valid token will do. [Options.Fail]
// answers other requests. RequireScope panics if the scope is not one of [Scopes],
// because no token can have it.
func (a *Auth) RequireScope(scope string) func(http.Handler) http.Handler {
	if scope != "" && !slices.Contains(Scopes(), scope) {
		panic(fmt.Sprintf("auth: no token can have the scope %q; RequireScope takes one of %s", scope, strings.Join(Scopes(), ", ")))
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g, err := a.Authenticate(r, scope)
			if err != nil {
				a.opts.Fail(w, r, err)
				return
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), grantKey{}, g)))
		})
	}
}

// Authenticate checks the access token of r (RFC 6750), and that it has the
// scope. With an empty scope, any valid token will do. The token must be in the
// Authorization header, as "Bearer <token>" with the scheme in any case, or
// without a scheme; not in the query or the body. Authenticate does not read the
// body.
//
// It returns an [*Error] with status 400, 401, 403 or 503.
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
		return Grant{}, a.challenge(http.StatusBadRequest, "invalid_request", "The request also has an access token in its URL; send it in the Authorization header only.", "")
	}
	g, err := a.verifyToken(r.Context(), raw)
	if errors.Is(err, errBadToken) {
		return Grant{}, a.challenge(http.StatusUnauthorized, "invalid_token", "The access token is unknown, expired or revoked; get a new one.", "")
	}
	if err != nil {
		return Grant{}, storeFailed("unavailable", err)
	}
	if scope != "" && !slices.Contains(g.Scopes, scope) {
		return Grant{}, a.challenge(http.StatusForbidden, "insufficient_scope", "The access token does not have the scope "+scope+".", scope)
	}
	return g, nil
}

// readBearer returns the token in an Authorization header, or false if the
// header has another scheme.
func readBearer(header string) (raw string, ok bool) {
	if strings.HasPrefix(header, tokenPrefix) {
		return header, true
	}
	scheme, raw, _ := strings.Cut(header, " ")
	return strings.Trim(raw, " "), strings.EqualFold(scheme, "Bearer")
}

// errBadToken is the answer to every token that is not valid, whatever the cause.
var errBadToken = errors.New("auth: the token is malformed, unknown, expired or revoked")

// verifyToken returns what a token allows, from the cache if possible.
func (a *Auth) verifyToken(ctx context.Context, raw string) (Grant, error) {
	if len(raw) != credentialLen { // before it is hashed; token checks the rest
		return Grant{}, errBadToken
	}
	key := tokenDigest(sha256.Sum256([]byte(raw)))
	now := a.opts.Now() // with its monotonic clock, so that setting the clock does not extend cacheTTL
	g, flushes, ok := a.cache.get(key, now)
	if !ok {
		t, err := a.token(ctx, raw)
		if err != nil {
			return Grant{}, err
		}
		g = Grant{ClientID: t.ClientID, Scopes: t.Scopes, Products: t.Products, ExpiresAt: t.ExpiresAt}
		a.cache.put(key, g, now, flushes)
	}
	// The caller may change the slices.
	g.Scopes, g.Products = slices.Clone(g.Scopes), slices.Clone(g.Products)
	return g, nil
}

// token reads a token and narrows it to what its client allows, with two point
// reads. It reads the client last, so that every stored change of the client
// applies. It does not read the store if raw cannot be a token.
func (a *Auth) token(ctx context.Context, raw string) (token, error) {
	if !wellFormed(tokenPrefix, raw) {
		return token{}, errBadToken
	}
	t, err := findToken(ctx, a.st, raw)
	if err != nil {
		return token{}, err
	}
	if !t.liveAt(a.now()) {
		return token{}, errBadToken
	}
	c, err := clientByID(ctx, a.st, t.ClientID)
	if errors.Is(err, api.ErrNotFound) {
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

// challenge returns the refusal of a token with the challenge of RFC 6750.
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
