package sqlite

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// The engine is C turned into Go, and works only with the version of its
// run-time library that it was made for. A program that requires a newer one
// for another reason gets that instead.
const (
	engineModule, engineVersion = "modernc.org/sqlite", "v1.60.1"
	libcModule, libcVersion     = "modernc.org/libc", "v1.77.1"
)

var libcProblem = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return libcMismatch(info)
})

// warnOfLibc tells log if the program was built with the wrong library.
func warnOfLibc(log *slog.Logger) {
	if problem := libcProblem(); problem != "" {
		log.Warn(problem)
	}
}

// libcMismatch says what is wrong with the versions in info, if anything. Of
// an engine other than ours, or of a library without a version, it knows
// nothing.
func libcMismatch(info *debug.BuildInfo) string {
	versions := map[string]string{}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = &debug.Module{Path: m.Path, Version: m.Replace.Version}
		}
		versions[m.Path] = m.Version
	}
	if libc := versions[libcModule]; versions[engineModule] == engineVersion && libc != "" && libc != libcVersion {
		return fmt.Sprintf("sqlite: this program is built with %s %s, but %s %s works only with %s: run 'go get %s@%s'",
			libcModule, libc, engineModule, engineVersion, libcVersion, libcModule, libcVersion)
	}
	return ""
}
