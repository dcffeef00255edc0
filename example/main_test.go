package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/host"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// A running is the example while it runs in this process.
type running struct {
	t     *testing.T
	out   *screen
	stop  context.CancelFunc
	ended chan error
}

// start runs the example's main flow on a free port until the test ends.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &running{t: t, out: newScreen(), stop: stop, ended: make(chan error, 1)}
	go func() {
		r.ended <- host.Run(ctx, onSQLite, append([]string{"-addr", "127.0.0.1:0"}, args...), r.out, io.Discard)
		r.out.close()
	}()
	t.Cleanup(r.end)
	if !r.out.waitFor("Ctrl-C stops it.") {
		t.Fatalf("the example ended immediately: %v\n%s", <-r.ended, r.out)
	}
	return r
}

// end stops the example, and returns when it has ended.
func (r *running) end() {
	r.stop()
	r.out.waitFor("") // until closed
}

// field returns what the welcome says behind a label.
func (r *running) field(label string) string {
	r.t.Helper()
	m := regexp.MustCompile(`(?m)^  ` + label + ` +(\S+)$`).FindStringSubmatch(r.out.String())
	if m == nil {
		r.t.Fatalf("no %s in the welcome:\n%s", label, r.out)
	}
	return m[1]
}

// A screen keeps what was written and lets a test wait for it.
type screen struct {
	mu     sync.Mutex
	more   *sync.Cond
	text   bytes.Buffer
	closed bool
}

func newScreen() *screen {
	s := &screen{}
	s.more = sync.NewCond(&s.mu)
	return s
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.more.Broadcast()
	return s.text.Write(p)
}

func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.more.Broadcast()
}

// waitFor returns when text has been written, and reports false if the
// program ended without it. The empty text is never enough.
func (s *screen) waitFor(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if text != "" && strings.Contains(s.text.String(), text) {
			return true
		}
		if s.closed {
			return false
		}
		s.more.Wait()
	}
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func needCurl(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
}

// TestPrintedLines pastes the four lines into one shell.
func TestPrintedLines(t *testing.T) {
	needCurl(t)
	is := is.New(t)
	ex := start(t)
	var script []string
	for line := range strings.Lines(ex.out.String()) {
		if strings.Contains(line, "curl ") {
			script = append(script, line)
		}
	}
	is.Equal(len(script), 4) // token, create, get, list

	var seen []string
	cmd := exec.CommandContext(t.Context(), "sh")
	cmd.Stdin = strings.NewReader(strings.Join(script, "echo =====\n"))
	out, err := cmd.CombinedOutput()
	is.NoErr(err)
	for answer := range strings.SplitSeq(string(out), "=====\n") {
		seen = append(seen, strings.TrimSpace(answer))
	}
	is.Equal(len(seen), 4)
	require.Matches(t, seen[0], regexp.MustCompile(`^lat_[0-9A-Za-z]{49}$`)) // a token

	type shownLicense struct {
		ID         string `json:"id"`
		Name       string `json:"name"`
		CustomerID string `json:"customer_id"`
	}
	var made, got shownLicense
	var list struct {
		Object string         `json:"object"`
		Data   []shownLicense `json:"data"`
	}
	is.NoErr(json.Unmarshal([]byte(seen[1]), &made))
	is.NoErr(json.Unmarshal([]byte(seen[2]), &got))
	is.NoErr(json.Unmarshal([]byte(seen[3]), &list))
	is.Equal(made.Name, "My first license")
	is.Equal(got, made)
	is.Equal(list.Object, "list")
	is.Equal(len(list.Data), 6) // five of the seed, and the new one
	is.Equal(list.Data[5], made)
}

// TestDatabaseStays starts twice on one file: secrets are printed when they
// are issued, and only then.
func TestDatabaseStays(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "kept.db")

	first := start(t, "-db", file)
	require.NotContains(t, first.out.String(), "to look around") // a database that is kept gets no samples
	is.Equal(licensesIn(t, first), 0)
	id, secret := first.field("client_id"), first.field("client_secret")
	first.end()
	is.NoErr(<-first.ended)

	second := start(t, "-db", file)
	require.NotContains(t, second.out.String(), "csk_")           // no secret
	require.NotContains(t, second.out.String(), "curl")           // nothing to paste without one
	require.Contains(t, second.out.String(), "-new-client")       // but how to issue one
	is.Equal(statusOfToken(t, second, id, secret), http.StatusOK) // the first one still works
	second.end()

	third := start(t, "-db", file, "-new-client", "Web shop", "-products", "beacon, atlas")
	is.Equal(statusOfToken(t, third, third.field("client_id"), third.field("client_secret")), http.StatusOK)
	is.True(third.field("client_id") != id)
	require.Contains(t, third.out.String(), `"product_id":"beacon"`) // the line creates what the client may
}

// TestFirstLine: the example says something before it opens its store.
func TestFirstLine(t *testing.T) {
	is := is.New(t)
	var out bytes.Buffer
	failed := errors.New("no store")
	said := ""
	b := host.Backend{Program: "example", Flag: "db", Open: func(context.Context, string) (*host.Database, error) {
		said = out.String()
		return nil, failed
	}}
	is.Equal(host.Run(t.Context(), b, []string{"-addr", "127.0.0.1:0"}, &out, io.Discard), failed)
	is.Equal(said, "example: opening the database\n")
}

// TestSeedOnRequest puts the samples into a database that is kept, once.
func TestSeedOnRequest(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "kept.db")
	first := start(t, "-db", file, "-seed")
	require.Contains(t, first.out.String(), "70, to look around")
	is.Equal(licensesIn(t, first), 70)
	first.end()
	is.NoErr(<-first.ended)

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // should it start after all
	defer cancel()
	err := host.Run(ctx, onSQLite, []string{"-addr", "127.0.0.1:0", "-db", file, "-seed"}, io.Discard, io.Discard)
	is.True(err != nil)
	require.Contains(t, err.Error(), "-seed is for a new database")
}

// licensesIn asks a new application how many licenses it has.
func licensesIn(t *testing.T, ex *running) int {
	t.Helper()
	is := is.New(t)
	post, err := http.PostForm(ex.field("base address")+"/oauth/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {ex.field("client_id")}, "client_secret": {ex.field("client_secret")},
	})
	is.NoErr(err)
	defer post.Body.Close()
	var token struct {
		AccessToken string `json:"access_token"`
	}
	is.NoErr(json.NewDecoder(post.Body).Decode(&token))
	req, err := http.NewRequestWithContext(t.Context(), "GET", ex.field("base address")+"/license?limit=100", nil)
	is.NoErr(err)
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	resp, err := http.DefaultClient.Do(req)
	is.NoErr(err)
	defer resp.Body.Close()
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	is.NoErr(json.NewDecoder(resp.Body).Decode(&list))
	return len(list.Data)
}

func statusOfToken(t *testing.T, ex *running, id, secret string) int {
	is := is.New(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", ex.field("base address")+"/oauth/token", nil)
	is.NoErr(err)
	r.SetBasicAuth(id, secret)
	resp, err := http.DefaultClient.Do(r)
	is.NoErr(err)
	resp.Body.Close()
	return resp.StatusCode
}

// TestTemporaryDatabaseGoes looks for what is left behind.
func TestTemporaryDatabaseGoes(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ex := start(t)
	during, err := os.ReadDir(dir)
	is.NoErr(err)
	is.Equal(len(during), 1)
	ex.end()
	is.NoErr(<-ex.ended)
	after, err := os.ReadDir(dir)
	is.NoErr(err)
	is.Equal(len(after), 0)
}

func TestNextFreePort(t *testing.T) {
	is := is.New(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer taken.Close()
	ex := start(t, "-addr", taken.Addr().String())
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	require.Contains(t, ex.out.String(), "Port "+port+" is taken; using ")
	resp, err := http.Get(ex.field("application"))
	is.NoErr(err)
	resp.Body.Close()
	is.Equal(resp.StatusCode, http.StatusOK)
}

func TestBadCommandLines(t *testing.T) {
	for name, args := range map[string][]string{
		"an address for everybody":  {"-addr", "0.0.0.0:8080"},
		"an address without a port": {"-addr", "127.0.0.1"},
		"a port that is a word":     {"-addr", "127.0.0.1:http"},
		"a limit for no client":     {"-products", "atlas"},
		"an argument":               {"serve"},
		"an unknown flag":           {"-port", "80"},
		"a folder as the database":  {"-db", "."},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // if it starts, it ends immediately
			is.True(host.Run(ctx, onSQLite, append([]string{"-addr", "127.0.0.1:0"}, args...), io.Discard, io.Discard) != nil)
		})
	}
}
