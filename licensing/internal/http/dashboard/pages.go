package dashboard

import (
	"embed"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

//go:embed templates
var templateFiles embed.FS

// pageNames are the names of the pages of this package.
var pageNames = kit.AddPages(templateFiles, nil)
