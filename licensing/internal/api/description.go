package api

import (
	"context"
	_ "embed"
	"net/http"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
)

// Description is the OpenAPI 3.1 document of the API. It is generated from
// [Routes], the Go types and openapi.source.json; see openapi_test.go. It must not
// be modified.
//
//go:embed openapi.json
var Description []byte

// serveKeys responds with the keys that license files are verified with.
func serveKeys(keys func(context.Context) ([]byte, error)) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := keys(r.Context())
		if err != nil {
			return err
		}
		return web.WriteCacheable(w, r, web.JSON, keepFileLists, body)
	}
}

// describe handles GET /openapi.json. The document is the same for all clients,
// so caches may store it.
func describe(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(Description)))
	_, _ = w.Write(Description) // fails only if the client is gone
	return nil
}
