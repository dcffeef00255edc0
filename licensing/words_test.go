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
// templates of the pages and the description of the API.
func TestOneWordForOneThing(t *testing.T) {
	is := is.New(t)
	old := regexp.MustCompile(`(?i)fulfillment|/fulfill|selling.*Fulfill\b|MoveLicense|MoveCustomer|move_forbidden`)
	read := 0
	is.NoErr(filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".html") && !strings.HasSuffix(path, "openapi.json") {
			return err
		}
		read++
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			if word := old.FindString(line); word != "" {
				t.Errorf("%s:%d: %q", path, i+1, word)
			}
		}
		return err
	}))
	require.Greater(t, read, 40)
}
