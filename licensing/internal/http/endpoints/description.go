package endpoints

import (
	"compress/gzip"
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

// describe returns the OpenAPI document, which is the same for all clients.
func (c Config) describe(*license.Service, context.Context, struct{}) (web.Document, error) {
	return c.description(), nil
}

// description returns the OpenAPI document, packed. With a public URL, its addresses are
// absolute, as some generators of clients require.
func description(publicURL string) web.Document {
	text := Description
	if publicURL != "" {
		text = []byte(strings.NewReplacer(
			`"url": "."`, `"url": `+strconv.Quote(publicURL),
			`"tokenUrl": "`, `"tokenUrl": "`+publicURL+"/",
		).Replace(string(text)))
	}
	return web.Document{MediaType: web.JSON, Keep: time.Hour, Body: text, Packed: web.Pack(text, gzip.BestCompression)}
}
