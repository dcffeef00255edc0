package endpoints

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// keepFileLists is how long caches may keep the keys and the revocation lists of
// license files.
const keepFileLists = 5 * time.Minute

// fileKeys returns the keys that license files are verified with.
func (c Config) fileKeys(_ *license.Service, ctx context.Context, _ struct{}) (web.Document, error) {
	body, err := c.KeySet(ctx)
	return web.Document{MediaType: web.JSON, Keep: keepFileLists, Body: body}, err
}

type revocationsParams struct {
	ProductID string `query:"product_id"`
	LicenseID string `query:"license_id"`
}

// revocations returns the signed revocation list of a product, or of one of its
// licenses.
func (c Config) revocations(_ *license.Service, ctx context.Context, p revocationsParams) (web.Document, error) {
	if p.ProductID == "" {
		return web.Document{}, api.Invalid("product_id", api.FieldRequired, "is required")
	}
	text, err := c.Revocations(ctx, p.ProductID, p.LicenseID)
	return web.Document{MediaType: "application/jwt", Keep: keepFileLists, Body: []byte(text)}, err
}

func voidFiles(rules *license.Service, ctx context.Context, p api.VoidFilesParams) (api.License, error) {
	return rules.VoidFiles(ctx, api.ChangeStateParams(p))
}

func checkFileByKey(rules *license.Service, p *api.IssueFileByKeyParams) []api.FieldError {
	p.IssueFileParams.Key = cmp.Or(p.Key, "-")
	return input.Merge(inner.Of(rules).Faults(p), inner.Of(rules).Faults(&p.IssueFileParams))
}

func issueFileByKey(rules *license.Service, ctx context.Context, p api.IssueFileByKeyParams) (license.File, error) {
	if p.Key == "" {
		return license.File{}, api.Invalid("key", api.FieldRequired, "is required")
	}
	p.IssueFileParams.Key = p.Key
	return rules.IssueFile(ctx, p.IssueFileParams)
}
