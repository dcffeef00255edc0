// Package version tells the version of this module from the build information of the program.
package version

import (
	"runtime/debug"
	"strings"
	"sync"
)

const (
	module = "github.com/seed-d8a106b4/licensekit"

	// Devel is the version of a program that was not built from a released one.
	Devel = "(devel)"
)

// Of returns the version of this module in the build information: as the module of the
// program, or as one that it requires and does not replace.
var Of = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return in(info)
})

func in(info *debug.BuildInfo) string {
	if info == nil {
		return Devel
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Replace == nil && m.Version != "" {
			return m.Version
		}
	}
	return Devel
}

// UserAgent returns the User-Agent header of requests, such as "licensekit/0.1.0"; without a
// version, the name alone.
func UserAgent(name string) string {
	if v := Of(); v != Devel {
		return name + "/" + strings.TrimPrefix(v, "v")
	}
	return name
}
