package settings

import (
	"net/http"
	"runtime"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/version"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// module is the path of this Go module.
const module = "github.com/seed-d8a106b4/licensekit"

func ShowAbout(v *kit.Visit) error {
	body := struct {
		kit.About
		Module, Version, API, Go, Platform string
	}{v.Opts.About, module, release(), web.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	backlog, err := v.Opts.Backlog(v.R.Context())
	if err != nil {
		return err
	}
	body.Warnings = slices.Concat(body.Warnings, FailingNotices(backlog))
	if text := StalledNotice(v, backlog); text != "" {
		body.Warnings = append(body.Warnings, text)
	}
	return v.Render(http.StatusOK, "about", kit.Page{Title: "About", Section: "about", Body: body})
}

// release returns the version of this module.
func release() string {
	if v := version.Of(); v != version.Devel {
		return v
	}
	return "not a released version"
}
