package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

var whole = flag.Bool("whole", false, "make a release for all systems")

// checkout returns a repository with the files of the tree and a section for a version in
// CHANGELOG.md.
func checkout(t *testing.T, section string) string {
	is := is.New(t)
	dir, tree := t.TempDir(), os.DirFS("../../..")
	is.NoErr(fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		case !d.Type().IsRegular(), name == ".git":
			return nil
		}
		info, err1 := d.Info()
		text, err2 := fs.ReadFile(tree, name)
		if name == "CHANGELOG.md" {
			text = bytes.Replace(text, []byte("## [Unreleased]\n"), []byte(section+"## [Unreleased]\n"), 1)
		}
		if err := cmp.Or(err1, err2); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, info.Mode())
	}))
	for _, args := range [][]string{{"init", "-q"}, {"add", "--all"}, {"commit", "-q", "-m", "prepare a release"}} {
		git(t, dir, args...)
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func release(t *testing.T, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci", "release"), args...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestRelease makes a release of a made-up version, for this system, twice: what a host and
// somebody without Go get from it works, and is the same each time. With -whole it is for all
// systems, each compiled twice.
func TestRelease(t *testing.T) {
	is := is.New(t)
	dir := checkout(t, "## [0.98.7] - 2026-11-30\n\nschema: unchanged\n\n- Made up.\n\n")
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"--skip-ci", "--quick", "0.98.7", out}
	if *whole {
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--quick" })
	}
	said, err := release(t, dir, args...)
	if err != nil {
		t.Fatal(said)
	}
	require.Contains(t, said, " v0.98.7\n", " example/licensekit/v0.98.7\n", " example/clib/v0.98.7\n",
		"refs/tags/v0.98.7 refs/tags/example/licensekit/v0.98.7 refs/tags/example/clib/v0.98.7")
	files := filepath.Join(out, "files")
	name := "licensekit_0.98.7_" + runtime.GOOS + "_" + runtime.GOARCH
	version, err := exec.Command(filepath.Join(files, name), "version").Output()
	is.NoErr(err)
	require.Contains(t, string(version), "0.98.7")

	bom, err := os.ReadFile(filepath.Join(files, name+".cdx.json"))
	is.NoErr(err)
	var read struct {
		Metadata   struct{ Component component }
		Components []component
	}
	is.NoErr(json.Unmarshal(bom, &read))
	is.Equal(read.Metadata.Component.PURL, "pkg:golang/github.com/seed-d8a106b4/licensekit/example/licensekit@v0.98.7")
	found := false
	for _, c := range read.Components {
		found = found || c.PURL == "pkg:golang/github.com/seed-d8a106b4/licensekit@v0.98.7"
		is.True(c.Name != "" && c.Version != "")
	}
	is.True(found) // the library
	licenses, err := os.ReadFile(filepath.Join(files, "LICENSES.txt"))
	is.NoErr(err)
	require.Contains(t, string(licenses), "modernc.org/sqlite", "github.com/jackc/pgx/v5", "Go go1")
	library := filepath.Join(out, "liblicensekit_0.98.7_"+runtime.GOOS+"_"+runtime.GOARCH)
	is.NoErr(exec.Command("tar", "-C", out, "-xzf", filepath.Join(files, filepath.Base(library)+".tar.gz")).Run())
	is.NoErr(os.WriteFile(filepath.Join(out, "main.c"), []byte("#include <stdio.h>\n#include <licensekit.h>\nint main(void) { puts(lk_version()); return 0; }\n"), 0o644))
	made, err := exec.Command("cc", "-I"+library, "-o", filepath.Join(out, "main"), filepath.Join(out, "main.c"), "-L"+library, "-Wl,-rpath,"+library, "-llicensekit").CombinedOutput()
	if err != nil {
		t.Fatal(string(made))
	}
	made, err = exec.Command(filepath.Join(out, "main")).CombinedOutput()
	is.NoErr(err)
	is.Equal(string(made), "0.98.7\n")
	for _, name := range []string{"licensekit.hpp", "LICENSE.licensekit", "LICENSE.go"} {
		_, err := os.Stat(filepath.Join(library, name))
		is.NoErr(err)
	}
	if _, err := exec.LookPath("hugo"); err == nil {
		site, err := exec.Command("tar", "-tzf", filepath.Join(files, "licensekit_0.98.7_site.tar.gz")).Output()
		is.NoErr(err)
		require.Contains(t, string(site), "./index.html\n", "./sell.html\n")
	}
	sums := exec.Command("sha256sum", "--check", "--quiet", "SHA256SUMS")
	sums.Dir = files
	is.NoErr(sums.Run())
	notes, err := os.ReadFile(filepath.Join(out, "notes.md"))
	is.NoErr(err)
	require.Contains(t, string(notes), "Made up.", "without running its tests")

	is.Equal(git(t, dir, "status", "--porcelain"), "") // the work tree is as it was
	is.Equal(git(t, dir, "tag"), "")
}

func TestReleaseRefuses(t *testing.T) {
	complete := "## [0.98.7]\n\nschema: unchanged\n\n"
	for name, test := range map[string]struct {
		section, version, want string
		change                 func(dir string) error
	}{
		"no version":     {complete, "v9", "is no version", nil},
		"no section":     {"", "0.98.7", "no section", nil},
		"another one":    {complete, "0.98.8", "no section", nil},
		"without schema": {"## [0.98.7]\n\n- Made up.\n\n", "0.98.7", "schema", nil},
		"released": {complete, "0.98.7", "is that of another commit", func(dir string) error {
			cmd := exec.Command("sh", "-c", "git tag v0.98.7 HEAD && git -c user.name=test -c user.email=test@example.com commit -q --allow-empty -m more")
			cmd.Dir = dir
			return cmd.Run()
		}},
		"a dirty tree": {complete, "0.98.7", "has changes", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "new.txt"), nil, 0o644)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t, test.section)
			if test.change != nil {
				is.New(t).NoErr(test.change(dir))
			}
			said, err := release(t, dir, "-n", test.version)
			if err == nil {
				t.Fatal(said)
			}
			require.Contains(t, said, "refused: ", test.want)
		})
	}
}
