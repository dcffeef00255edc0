package api

import (
	_ "embed"
	"net/http"
	"strconv"
)

// Description is the OpenAPI 3.1 document of the API. It is generated from
// [Routes], the Go types and openapi.source.json; see openapi_test.go. It must not
// be modified.
//
//go:embed openapi.json
var Description []byte

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
