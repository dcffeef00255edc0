package endpoints

import (
	"context"
	_ "embed"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Description is the OpenAPI 3.1 document of the API. It is generated from
// [Routes], the Go types and openapi.source.json; see openapi_test.go. It must not
// be modified.
//
//go:embed openapi.json
var Description []byte

// describe returns the OpenAPI document, which is the same for all clients.
func describe(*license.Service, context.Context, struct{}) (web.Document, error) {
	return web.Document{MediaType: web.JSON, Keep: time.Hour, Body: Description}, nil
}
