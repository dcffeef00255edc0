package endpoints

import (
	"context"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

type health struct {
	Status string `json:"status"`
}

// healthy reports that the process is running.
func healthy(*license.Service, context.Context, struct{}) (health, error) {
	return health{"ok"}, nil
}

type readyParams struct {
	Verbose bool `query:"verbose" wire:"flag,any"`
}

// ready reports whether the store responds. With the parameter verbose it
// responds with the health of the service. That names subscribers and webhooks
// of all products, so it is for clients without a product limit.
func (c Config) ready(rules *license.Service, ctx context.Context, p readyParams) (any, error) {
	if err := c.Ready(ctx); err != nil {
		return nil, err
	}
	if !p.Verbose {
		return health{"ready"}, nil
	}
	if !inner.Of(rules).Call().Sees("") {
		return nil, web.NewProblem(http.StatusForbidden, api.CodeProductForbidden,
			"The health of the service is for clients that are not limited to products.")
	}
	return c.Health(ctx)
}
