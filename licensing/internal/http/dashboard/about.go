package dashboard

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// About has the configuration that the About page shows.
type About struct {
	Store    string // the type of the store
	Settings []Setting
	Warnings []string
}

// A Setting is an option and its value in force: a string, an integer, a
// time.Duration or a bool.
type Setting struct {
	Name  string
	Value any
}

// module is the path of this Go module.
const module = "github.com/seed-d8a106b4/licensekit"

func showAbout(v *visit) error {
	body := struct {
		About
		Module, Version, API, Go, Platform string
	}{v.h.opts.About, module, moduleVersion(), web.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	backlog, err := v.h.opts.Backlog(v.r.Context())
	if err != nil {
		return err
	}
	body.Warnings = slices.Concat(body.Warnings, failingNotices(backlog))
	if text := stalledNotice(backlog); text != "" {
		body.Warnings = append(body.Warnings, text)
	}
	return v.render(http.StatusOK, "about", page{Title: "About", Section: "about", Body: body})
}

// Text formats the value for the page.
func (s Setting) Text() string {
	switch x := s.Value.(type) {
	case time.Duration:
		if x < time.Second {
			return x.String()
		}
		return describeSeconds(int64(x / time.Second))
	case int:
		return thousands(int64(x))
	case int64:
		return thousands(x)
	case bool:
		if x {
			return "Yes"
		}
		return "No"
	}
	return fmt.Sprint(s.Value)
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
