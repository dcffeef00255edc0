package portal

import (
	"embed"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

//go:embed static
var static embed.FS

var assets = web.NewAssets(static, "static")
