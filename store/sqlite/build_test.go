package sqlite

import (
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestVersionsOfTheEngine compares what is said here with what is built, and
// with what the engine itself asks for.
func TestVersionsOfTheEngine(t *testing.T) {
	is := is.New(t)
	list := func(format, module string) string {
		out, err := exec.Command("go", "list", "-m", "-f", format, module).Output()
		is.NoErr(err)
		return strings.TrimSpace(string(out))
	}
	is.Equal(list("{{.Version}}", engineModule), engineVersion)
	is.Equal(list("{{.Version}}", libcModule), libcVersion)
	gomod, err := os.ReadFile(list("{{.GoMod}}", engineModule))
	is.NoErr(err)
	asked := regexp.MustCompile(regexp.QuoteMeta(libcModule) + ` (\S+)`).FindSubmatch(gomod)
	is.Equal(string(asked[1]), libcVersion)
}

func TestWrongLibraryIsNoticed(t *testing.T) {
	build := func(engine, libc string) *debug.BuildInfo {
		return &debug.BuildInfo{Deps: []*debug.Module{{Path: engineModule, Version: engine}, {Path: libcModule, Version: libc}}}
	}
	replaced := build(engineVersion, libcVersion)
	replaced.Deps[1].Replace = &debug.Module{Path: "example.com/libc", Version: "v1.0.0"}
	for name, tt := range map[string]struct {
		info  *debug.BuildInfo
		wrong bool
	}{
		"as it should be":    {build(engineVersion, libcVersion), false},
		"a newer library":    {build(engineVersion, "v1.99.0"), true},
		"a replaced library": {replaced, true},
		"another engine":     {build("v1.99.0", "v1.99.0"), false},
		"nothing known":      {&debug.BuildInfo{}, false},
	} {
		if problem := libcMismatch(tt.info); (problem != "") != tt.wrong || tt.wrong && !strings.Contains(problem, "go get "+libcModule+"@"+libcVersion) {
			t.Errorf("%s: %q", name, problem)
		}
	}
}
