package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
)

var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([.-].*)?$`)

// writeLicenses writes the license of each module that a program is linked with, and that of
// Go. A module without one is an error.
func writeLicenses(w io.Writer, info *debug.BuildInfo, modcache string) error {
	for _, m := range linked(info) {
		path, err1 := module.EscapePath(m.Path)
		version, err2 := module.EscapeVersion(m.Version)
		if err := cmp.Or(err1, err2); err != nil {
			return err
		}
		if err := writeTexts(w, m.Path+" "+m.Version, filepath.Join(modcache, filepath.FromSlash(path)+"@"+version)); err != nil {
			return err
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	return writeTexts(w, "Go "+info.GoVersion, strings.TrimSpace(string(goroot)))
}

func writeTexts(w io.Writer, name, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, f := range files {
		if f.IsDir() || !licenseFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(w, "======== %s: %s\n\n%s\n\n", name, f.Name(), text)
	}
	if !found {
		return fmt.Errorf("%s has no license in %s", name, dir)
	}
	return nil
}
