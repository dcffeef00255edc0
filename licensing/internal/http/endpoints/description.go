package endpoints

import (
	"context"
	_ "embed"
	"strconv"
	"strings"
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

// describe returns the OpenAPI document, which is the same for all clients. With a
// public URL, its addresses are absolute, as some generators of clients require.
func (c Config) describe(*license.Service, context.Context, struct{}) (web.Document, error) {
	return web.Document{MediaType: web.JSON, Keep: time.Hour, Body: c.description}, nil
}

// absolute returns Description with absolute addresses below url.
func absolute(url string) []byte {
	if url == "" {
		return Description
	}
	return []byte(strings.NewReplacer(
		`"url": "."`, `"url": `+strconv.Quote(url),
		`"tokenUrl": "`, `"tokenUrl": "`+url+"/",
	).Replace(string(Description)))
}
