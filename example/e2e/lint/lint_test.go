package lint

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestLintersFindNothing runs both linters on the document that the service
// returns. Neither may report an error or a warning.
func TestLintersFindNothing(t *testing.T) {
	for _, command := range []string{"node", "npm"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skipf("the linters need %s: %v", command, err)
		}
	}
	is := is.New(t)
	dir := t.TempDir()
	is.NoErr(os.CopyFS(dir, os.DirFS("testdata")))
	run(t, dir, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	w := httptest.NewRecorder()
	licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)}).ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	is.Equal(w.Code, http.StatusOK)
	body, err := io.ReadAll(w.Body)
	is.NoErr(err)
	is.NoErr(os.WriteFile(filepath.Join(dir, "openapi.json"), body, 0o600))

	t.Run("Redocly", func(t *testing.T) {
		is := is.New(t)
		var report struct {
			Totals   struct{ Errors, Warnings, Ignored int }
			Problems []json.RawMessage
		}
		out := run(t, dir, "node_modules/.bin/redocly", "lint", "--extends=recommended", "--format=json", "openapi.json")
		is.NoErr(json.Unmarshal(out, &report))
		for _, problem := range report.Problems {
			t.Errorf("%s", problem)
		}
		is.Equal(report.Totals.Errors+report.Totals.Warnings+report.Totals.Ignored, 0)
	})
	t.Run("Spectral", func(t *testing.T) {
		run(t, dir, "node_modules/.bin/spectral", "lint", "--ruleset=.spectral.json", "--fail-severity=hint", "openapi.json")
	})
}

// run returns what a command prints, and fails the test if the command fails.
func run(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, &complaint)
	}
	return out
}
