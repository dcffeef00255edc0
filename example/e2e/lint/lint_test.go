package lint

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestLintersFindNothing runs both linters on the document that the service
// returns. Neither may report an error or a warning.
func TestLintersFindNothing(t *testing.T) {
	is := is.New(t)
	dir := node.Install(t, "testdata")
	quiet := node.Command{Dir: dir, Env: []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}}
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
		out := node.Run(t, quiet, "node_modules/.bin/redocly", "lint", "--extends=recommended", "--format=json", "openapi.json")
		is.NoErr(json.Unmarshal(out, &report))
		found := 0
		for _, problem := range report.Problems {
			// GET /health refuses no request, so it has no answer of that kind.
			if !bytes.Contains(problem, []byte("operation-4xx-response")) || !bytes.Contains(problem, []byte("#/paths/~1health/get/responses")) {
				t.Errorf("%s", problem)
			}
			found++
		}
		is.Equal(report.Totals.Errors+report.Totals.Warnings+report.Totals.Ignored, found)
	})
	t.Run("Spectral", func(t *testing.T) {
		node.Run(t, quiet, "node_modules/.bin/spectral", "lint", "--ruleset=.spectral.json", "--fail-severity=hint", "openapi.json")
	})
}
