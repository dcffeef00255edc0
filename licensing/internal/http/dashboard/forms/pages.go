// Package forms has the forms of the dashboard: their fields, how a submission is read and
// checked, and the page that shows a form and makes its change once.
package forms

import (
	"embed"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

//go:embed templates
var templateFiles embed.FS

// Pages are the names of the pages of this package.
var Pages = kit.AddPages(templateFiles, nil)
