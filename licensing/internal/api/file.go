package api

import (
	"context"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
)

// serveKeys responds with the keys that license files are verified with.
func serveKeys(keys func(context.Context) ([]byte, error)) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := keys(r.Context())
		if err != nil {
			return err
		}
		return web.WriteCacheable(w, r, web.JSON, 5*time.Minute, body)
	}
}
