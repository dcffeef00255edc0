package api

import (
	_ "embed"
	"net/http"
	"strconv"
)

// Description is the description of the interface: a document of OpenAPI 3.1,
// written by hand. Tests compare it with [Routes], with the Go types that go
// over the wire, and with live answers. It must not be changed.
//
//go:embed openapi.json
var Description []byte

// describe is GET /openapi.json. The document is the same for everybody, so
// that caches may keep it.
func describe(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(Description)))
	_, _ = w.Write(Description) // fails when the caller has gone, and nobody is left to tell
	return nil
}
