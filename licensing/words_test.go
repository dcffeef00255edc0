package licensing_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestOneWordForOneThing looks for words that another one has replaced in the guides, the
// templates of the pages and the description of the API. "API credentials" is the title of one
// page, which the navigation and the guides name; what it lists are API clients.
func TestOneWordForOneThing(t *testing.T) {
	is := is.New(t)
	old := regexp.MustCompile(`(?i)fulfillment|/fulfill|selling.*Fulfill\b|MoveLicense|MoveCustomer|move_forbidden|API credential`)
	names := regexp.MustCompile(`Settings → API credentials|kit.Page{Title: "API credentials"|"credentials": +{"API credentials", "settings/credentials"}`)
	read := 0
	is.NoErr(filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		isPage := strings.Contains(path, "/http/dashboard/") && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
		if err != nil || d.IsDir() || !isPage && !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".html") && !strings.HasSuffix(path, "openapi.json") {
			return err
		}
		title := names
		if read++; strings.HasSuffix(path, "settings/templates/credentials.html") || strings.HasSuffix(path, "shared/layout.html") {
			title = regexp.MustCompile(`API credentials`)
		}
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			if word := old.FindString(title.ReplaceAllString(line, "")); word != "" {
				t.Errorf("%s:%d: %q", path, i+1, word)
			}
		}
		return err
	}))
	require.Greater(t, read, 40)
}
