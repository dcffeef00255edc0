package dashboard

import (
	"embed"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

//go:embed templates
var templateFiles embed.FS

// Pages are the names of the pages of this package.
var Pages = kit.AddPages(templateFiles, nil)
