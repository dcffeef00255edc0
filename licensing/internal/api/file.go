package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// keepFileLists is how long caches may keep the keys and the revocation lists of
// license files.
const keepFileLists = 5 * time.Minute

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

// jwt is the media type of a revocation list.
const jwt = "application/jwt"

// serveRevocations responds with the signed revocation list of a product.
func serveRevocations(list func(ctx context.Context, productID string) (string, error)) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if product := query["product_id"]; err != nil || len(query) != 1 || len(product) != 1 || product[0] == "" {
			return web.Invalid(web.FieldError{Parameter: "product_id", Code: license.CodeRequired, Detail: "is required, and the only parameter"})
		}
		text, err := list(r.Context(), query.Get("product_id"))
		if err != nil {
			return err
		}
		return web.WriteCacheable(w, r, jwt, keepFileLists, []byte(text))
	}
}

// voidFilesParams are the parameters of VoidFiles, whose reason no license key
// holder can read.
type voidFilesParams struct {
	ID      string
	Reason  string `json:"reason" validate:"omitempty,text"`
	IfMatch []license.Version
}

func voidFiles(rules *license.Service, ctx context.Context, p voidFilesParams) (license.License, error) {
	return rules.VoidFiles(ctx, license.MoveParams(p))
}

// keyFileParams are the parameters of a license file for a license key holder.
type keyFileParams struct {
	Key string `json:"key" validate:"required"`
	license.IssueFileParams
}

func issueFileByKey(rules *license.Service, ctx context.Context, p keyFileParams) (license.File, error) {
	if p.Key == "" {
		return license.File{}, input.Invalid(ctx, license.FieldError{Field: "key", Code: license.CodeRequired, Detail: "is required"})
	}
	p.IssueFileParams.Key = p.Key
	return rules.IssueFile(ctx, p.IssueFileParams)
}
