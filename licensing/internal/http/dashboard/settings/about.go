package settings

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// module is the path of this Go module.
const module = "github.com/seed-d8a106b4/licensekit"

func ShowAbout(v *kit.Visit) error {
	body := struct {
		kit.About
		Module, Version, API, Go, Platform string
	}{v.Opts.About, module, moduleVersion(), web.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	backlog, err := v.Opts.Backlog(v.R.Context())
	if err != nil {
		return err
	}
	body.Warnings = slices.Concat(body.Warnings, FailingNotices(backlog))
	if text := StalledNotice(backlog); text != "" {
		body.Warnings = append(body.Warnings, text)
	}
	return v.Render(http.StatusOK, "about", kit.Page{Title: "About", Section: "about", Body: body})
}

// moduleVersion returns the version of this module from the build information.
func moduleVersion() string {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module {
				version = m.Version
			}
		}
	}
	if version == "" || version == "(devel)" {
		return "not a released version"
	}
	return version
}
