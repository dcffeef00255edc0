package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
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

// TestProgram tries the program as the guide says: start it, start it without the
// network, suspend the license, reinstate it, uninstall it.
func TestProgram(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler), PortalURL: "http://acme.example/account"})
	var gone sync.RWMutex // locked: nothing answers
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !gone.TryRLock() {
			panic(http.ErrAbortHandler)
		}
		defer gone.RUnlock()
		h.ServeHTTP(w, r)
	}))
	defer service.Close()
	service.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{
		Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1",
		Terms: api.Terms{MaxActivations: new(int64(1)), Entitlements: map[string]any{"export": true}},
	})
	is.NoErr(err)
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys.json")
	_, jwks := get(t, service.URL+"/file/keys")
	is.NoErr(os.WriteFile(keys, []byte(jwks), 0o600))
	state := filepath.Join(dir, "license")

	var during func(address string) // called while the program serves; may be nil

	// try runs the program, and returns its answer to a request for an export.
	try := func(args ...string) (code int, body, status string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		var out output
		done := make(chan error)
		go func() {
			done <- run(ctx, append(args, "-url", service.URL, "-keys", keys, "-dir", state, "-addr", "127.0.0.1:0"), &out)
		}()
		address := out.waitFor(t, `serving (\S+)/export`)
		code, body = get(t, address+"/export")
		if during != nil {
			during(address)
		}
		_, status = get(t, address+"/status")
		cancel()
		is.NoErr(<-done)
		require.NotContains(t, out.text.String()+status, l.Key)
		return code, body, status
	}

	code, body, _ := try()
	is.Equal(code, 403)
	require.Contains(t, body, "No license key is set; enter one.")
	code, body, status := try("-key", l.Key)
	is.Equal(code, 200)
	is.Equal(body, "the export\n")
	require.Contains(t, status, `"licensed_to":"Acme Ltd"`)

	func() { // the same without a key, on another machine
		opened := browse
		defer func() { browse = opened }()
		browse = func(page string) error {
			link, err := url.Parse(page)
			is.NoErr(err)
			code := link.Query().Get("code")
			_, err = h.Service().Customer("cus_1").ApproveLink(t.Context(), api.ApproveLinkParams{Code: code, LicenseID: l.ID})
			return err
		}
		was := state
		state = filepath.Join(dir, "activated")
		code, _, status := try("-activate")
		is.Equal(code, 200)
		require.Contains(t, status, `"licensed_to":"Acme Ltd"`)
		state = was
	}()

	gone.Lock()
	code, _, _ = try()
	is.Equal(code, 200)
	gone.Unlock()

	_, err = h.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: "Please pay invoice 7."})
	is.NoErr(err)
	during = func(address string) { // the user has paid, and checks again
		_, err := h.Service().Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
		is.NoErr(err)
		code, _ := get(t, address+"/export")
		is.Equal(code, 403)
		resp, err := http.Post(address+"/check", "application/x-www-form-urlencoded", nil)
		is.NoErr(err)
		is.NoErr(resp.Body.Close())
		is.Equal(resp.StatusCode, 200)
		_, err = h.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: "Please pay invoice 7."})
		is.NoErr(err)
	}
	code, body, _ = try("-key", l.Key) // asks now, and not within the hour
	is.Equal(code, 403)
	require.Contains(t, body, "The license is suspended: Please pay invoice 7.", "Check again</button>")
	during = nil
	_, _, _ = try("-key", l.Key)
	gone.Lock()
	code, _, _ = try()
	is.Equal(code, 403)
	gone.Unlock()
	_, err = h.Service().Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	code, _, _ = try()
	is.Equal(code, 200)

	// A command asks again an hour after the last answer.
	command := func() (string, error) {
		var out output
		err := run(t.Context(), []string{"-export", "-url", service.URL, "-keys", keys, "-dir", state}, &out)
		return out.text.String(), err
	}
	_, err = h.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: "Please pay invoice 8."})
	is.NoErr(err)
	printed, err := command()
	is.NoErr(err)
	is.Equal(printed, "the export\n")
	passed := strconv.FormatInt(time.Now().Unix(), 10)
	is.NoErr(os.WriteFile(filepath.Join(state, "next-check"), []byte(passed), 0o600))
	_, err = command()
	require.Contains(t, err.Error(), "The license is suspended: Please pay invoice 8.")
	_, err = h.Service().Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	printed, err = command()
	is.NoErr(err)
	is.Equal(printed, "the export\n")

	_, err = h.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "other", TakeOver: api.TakeOverOldest})
	is.NoErr(err)
	code, _, _ = try("-take-over")
	is.Equal(code, 200)

	is.NoErr(run(t.Context(), []string{"-uninstall", "-url", service.URL, "-keys", keys, "-dir", state}, io.Discard))
	page, err := h.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
	_, err = os.Stat(filepath.Join(state, "license.json"))
	is.True(os.IsNotExist(err))
}
