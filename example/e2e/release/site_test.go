package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestSite builds the site of the guides, and follows each link between its pages.
func TestSite(t *testing.T) {
	if _, err := exec.LookPath("hugo"); err != nil {
		t.Skip("needs hugo")
	}
	is, dir := is.New(t), t.TempDir()
	out, err := exec.CommandContext(t.Context(), "hugo", "--quiet", "--noBuildLock", "--source", "../../../.ci/site", "--destination", dir).CombinedOutput()
	if err != nil {
		t.Fatal(string(out))
	}
	is.Equal(string(out), "") // no warnings
	files, err := filepath.Glob(filepath.Join(dir, "*.html"))
	is.NoErr(err)
	guides, err := filepath.Glob("../../../licensing/docs/*.md")
	is.NoErr(err)
	is.Equal(len(files), len(guides))
	pages := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		is.NoErr(err)
		pages[filepath.Base(file)] = string(text)
	}
	for name, text := range pages {
		if !strings.Contains(text, "<h1") || !regexp.MustCompile(`<title>[^<]+ – licensekit</title>`).MatchString(text) {
			t.Errorf("%s has no heading or no title", name)
		}
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(text, -1) {
			if tree, found := strings.CutPrefix(m[1], "https://github.com/seed-d8a106b4/licensekit/blob/main/"); found {
				tree, _, _ = strings.Cut(tree, "#")
				if _, err := os.Stat(filepath.Join("../../..", filepath.FromSlash(tree))); err != nil {
					t.Errorf("%s: link to %s: %v", name, m[1], err)
				}
				continue
			}
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			if file == "" {
				file = name
			}
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file))); err != nil || path.Ext(file) == ".md" {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			}
			if anchor != "" && !strings.Contains(pages[file], `id="`+anchor+`"`) {
				t.Errorf("%s: link to %s: no such heading", name, m[1])
			}
		}
	}
}
