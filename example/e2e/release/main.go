// Command release makes the files of a release: zips of modules as a module proxy serves
// them, bills of materials and the licenses of what a program is linked with. .ci/release
// calls it.
package main

import (
	"debug/buildinfo"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const usage = `usage:
  release zip REPOSITORY TAG FOLDER MODULE VERSION PROXY   FOLDER: of the module in the repository; "": its root
  release sbom PROGRAM
  release licenses PROGRAM MODCACHE`

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("release: ", err)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 7 && args[0] == "zip":
		return proxied(args[6], module.Version{Path: args[4], Version: args[5]}, args[1], args[2], args[3])
	case len(args) == 2 && args[0] == "sbom":
		info, err := buildinfo.ReadFile(args[1])
		if err != nil {
			return err
		}
		return writeBOM(os.Stdout, info)
	case len(args) == 3 && args[0] == "licenses":
		info, err := buildinfo.ReadFile(args[1])
		if err != nil {
			return err
		}
		return writeLicenses(os.Stdout, info, args[2])
	}
	return fmt.Errorf("unknown arguments\n%s", usage)
}

// proxied adds a version of a module to the folder of a proxy; see the GOPROXY protocol.
func proxied(proxy string, m module.Version, repository, tag, folder string) error {
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dir := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	goMod, err := os.ReadFile(filepath.Join(repository, folder, "go.mod")) // the tag is checked out
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, m.Version+".zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := zip.CreateFromVCS(f, m, repository, tag, folder); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for name, text := range map[string]string{
		m.Version + ".mod":  string(goMod),
		m.Version + ".info": fmt.Sprintf("{\"Version\":%q,\"Time\":%q}\n", m.Version, time.Unix(0, 0).UTC().Format(time.RFC3339)),
		"list":              m.Version + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// linked returns the modules that a program is linked with, its own first.
func linked(info *debug.BuildInfo) []debug.Module {
	all := []debug.Module{info.Main}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, *m)
	}
	return all
}
