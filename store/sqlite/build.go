package sqlite

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// The SQLite engine is C code translated to Go. It works only with the version of
// libc that it was translated for, but a program that requires a newer one for
// another reason is built with that.
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

// warnOfLibc logs a warning if the program was built with the wrong libc.
func warnOfLibc(log *slog.Logger) {
	if problem := libcProblem(); problem != "" {
		log.Warn(problem)
	}
}

// libcMismatch describes what is wrong with the versions in info, or returns "".
// It does not judge other versions of the engine, or a libc without a version.
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
