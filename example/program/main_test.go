package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// An output is what the program has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// waitFor waits until a pattern has been printed, and returns its group.
func (o *output) waitFor(t *testing.T, pattern string) string {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		o.mu.Lock()
		m := regexp.MustCompile(pattern).FindStringSubmatch(o.text.String())
		o.mu.Unlock()
		if m != nil {
			return m[1]
		}
	}
	t.Fatalf("the program did not print %q:\n%s", pattern, o.text.String())
	return ""
}

// get returns the status and the body of a page.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestProgram runs the program against a service on loopback, which then goes
// away, in real time with a license of seconds.
func TestProgram(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	var gone sync.RWMutex // locked: nothing answers
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !gone.TryRLock() {
			panic(http.ErrAbortHandler)
		}
		defer gone.RUnlock()
		h.ServeHTTP(w, r)
	}))
	defer service.Close()
	end := time.Now().Add(2 * time.Second)
	l, err := h.Service().Create(t.Context(), license.CreateParams{
		Name: "Atlas", ProductID: "atlas", CustomerID: "cus_1", ExpiresAt: &end, GraceSeconds: 1, Entitlements: map[string]any{"export": true},
	})
	is.NoErr(err)

	ctx, cancel := context.WithCancel(t.Context())
	var out output
	done := make(chan error)
	go func() {
		done <- run(ctx, []string{"-url", service.URL, "-key", l.Key, "-dir", t.TempDir(), "-addr", "127.0.0.1:0"}, &out)
	}()
	base := out.waitFor(t, `serving (\S+)`)
	out.waitFor(t, `license (valid)`)
	code, body := get(t, base+"report")
	is.Equal(code, 200)
	is.Equal(body, "the report\n")

	gone.Lock() // and the program continues, until its license ends
	code, _ = get(t, base+"report")
	is.Equal(code, 200)
	out.waitFor(t, `license (in_grace)`)
	code, _ = get(t, base+"report")
	is.Equal(code, 200)
	out.waitFor(t, `license (expired)`)
	code, body = get(t, base+"report")
	is.Equal(code, 403)
	require.Contains(t, body, "license_denied")
	_, body = get(t, base+"metrics")
	require.Contains(t, body, "licensekit_license_valid 0")
	_, body = get(t, base+"support")
	require.Contains(t, body, "unreachable")
	require.NotContains(t, body, l.Key)

	gone.Unlock()
	_, err = h.Service().Renew(t.Context(), license.RenewParams{ID: l.ID, ExpiresAt: new(time.Now().Add(time.Hour))})
	is.NoErr(err)
	out.waitFor(t, `(?s)license expired.*license (valid)`)
	code, _ = get(t, base+"report")
	is.Equal(code, 200)
	cancel()
	is.NoErr(<-done)
}

// TestProgramHasNoOtherModule looks into the binary: a program that imports
// licensing/client links no module but ours.
func TestProgramHasNoOtherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("go build takes seconds")
	}
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "program.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", file, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(file)
	is.NoErr(err)
	is.Equal(len(info.Deps), 0)
	require.HasSuffix(t, info.Main.Path, "/licensekit")
}

// TestLicensingCodeIsShort counts the lines that a newcomer writes.
func TestLicensingCodeIsShort(t *testing.T) {
	is := is.New(t)
	text, err := os.ReadFile("main.go")
	is.NoErr(err)
	lines := 0
	for _, f := range []string{"openLicense", "routes"} {
		_, body, found := strings.Cut(string(text), "\nfunc "+f+"(")
		is.True(found)
		body, _, _ = strings.Cut(body, "\n}\n")
		lines += 2 + strings.Count(body, "\n")
	}
	require.AtMost(t, lines, 25)
}
