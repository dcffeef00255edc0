package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
)

// version is set by a release: -ldflags "-X main.version=0.1.0".
var version string

// printVersion prints the version of the program, the commit of its sources, and that of Go.
func printVersion(out io.Writer) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	commit := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit += " " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			commit += " with changes"
		}
	}
	_, err := fmt.Fprintf(out, "%s %s%s %s\n", name, cmp.Or(version, info.Main.Version, "(devel)"), commit, info.GoVersion)
	return err
}
