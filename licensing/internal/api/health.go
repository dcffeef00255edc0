package api

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
)

type health struct {
	Status string `json:"status"`
}

// healthy reports that the process is running.
func healthy(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteJSON(w, http.StatusOK, health{"ok"})
}

// ready reports whether the store responds. With the parameter verbose it
// responds with the health of the service. That names subscribers and webhooks
// of all products, so it is for clients without a product limit.
func (c Config) ready(w http.ResponseWriter, r *http.Request) error {
	if err := c.Ready(r.Context()); err != nil {
		return err
	}
	if !r.URL.Query().Has("verbose") {
		return web.WriteJSON(w, http.StatusOK, health{"ready"})
	}
	grant, err := c.Auth.Authenticate(r, auth.ScopeEventRead)
	if err != nil {
		return err
	}
	if grant.Products != nil {
		return &web.Problem{Status: http.StatusForbidden, Code: "product_forbidden",
			Detail: "The health of the service is for clients that are not limited to products."}
	}
	report, err := c.Health(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, report)
}
