package web

import (
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A guardedStream is the response of a Stream. It authorizes the request again with
// each write, so that a long response is cut when the client is disabled or deleted, its
// token is revoked, or it loses the scope or a product.
type guardedStream struct {
	x *exchange
	r *http.Request
}

// Write implements [io.Writer].
func (g guardedStream) Write(p []byte) (int, error) {
	if err := g.authorize(); err != nil {
		return 0, err
	}
	return g.x.Write(p)
}

// authorize checks that the token still allows what it allowed when the request began.
func (g guardedStream) authorize() error {
	grant, err := g.x.site.cfg.Authenticate(g.r, g.x.route.Scope)
	if err == nil && narrowed(g.x.grant, grant) {
		err = api.ErrProductForbidden
	}
	return err
}

// narrowed reports whether a grant has lost a product.
func narrowed(before, after auth.Grant) bool {
	if before.Products == nil || after.Products == nil {
		return after.Products != nil
	}
	return slices.ContainsFunc(before.Products, func(id string) bool { return !slices.Contains(after.Products, id) })
}
