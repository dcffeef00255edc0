// Package settings has the pages below Settings: API clients, webhooks, signing keys,
// the quick start and the About page.
package settings

import (
	"embed"
	"html/template"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

//go:embed templates
var templateFiles embed.FS

// Pages are the names of the pages of this package.
var Pages = kit.AddPages(templateFiles, template.FuncMap{"keyEnd": KeyEndOf, "access": DescribeScopes, "products": DescribeProducts})
