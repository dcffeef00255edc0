package samples

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestUsageSamples: a program asks for units, counts once although an answer is lost, says
// why the service refuses, and reports what has happened above the limit.
func TestUsageSamples(t *testing.T) {
	each(t, func(t *testing.T, dir string, s sample) {
		is := is.New(t)
		h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
		l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{
			Meters: map[string]api.Meter{"exports": {Limit: new(int64(3)), Per: api.PerMonth}, "calls": {}},
		}})
		is.NoErr(err)
		var lose atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if lose.Swap(false) {
				h.ServeHTTP(httptest.NewRecorder(), r) // it counts, and the answer is lost
				panic(http.ErrAbortHandler)
			}
			h.ServeHTTP(w, r)
		}))
		defer server.Close()
		run := func(program string, args ...string) (out string, ok bool) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, s.command, append([]string{program}, args...)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "LICENSE_SERVER="+server.URL, "LICENSE_KEY="+l.Key, "AT="+time.Now().UTC().Format(time.RFC3339))
			text, err := cmd.CombinedOutput()
			return string(text), err == nil
		}
		usage, count := strings.Replace(s.program, "license", "usage", 1), strings.Replace(s.program, "license", "count", 1)
		lose.Store(true)
		out, ok := run(usage, "exports", "2")
		is.Equal(out, "calls: 0 used\nexports: 2 of 3 used\n")
		is.True(ok)
		out, ok = run(usage, "exports", "2")
		is.True(!ok)
		is.True(strings.HasPrefix(out, "not counted: 2 of 3 exports are used, and the request needs 2 more; counting starts again at "))
		out, ok = run(count)
		is.True(ok)
		is.Equal(strings.Fields(out), []string{"200", "200"})
		out, ok = run(usage, "calls", "1")
		is.True(ok)
		is.Equal(out, "calls: 1 used\nexports: 7 of 3 used\n")
	})
}
