//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
	"github.com/seed-d8a106b4/licensekit/example/internal/smtpsink"
	"github.com/seed-d8a106b4/licensekit/internal/require"
)

// asProgram makes the test binary be the application itself.
const asProgram = "LICENSEKIT_EXAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A running is the application as a process.
type running struct {
	t       *testing.T
	cmd     *exec.Cmd
	welcome string
	rest    chan string // what it says after the welcome, when it has ended
}

// start starts the application, in a process group of its own and with dir for
// temporary files, and waits for its welcome.
func start(t *testing.T, dir string, cmd *exec.Cmd) *running {
	t.Helper()
	is := is.New(t)
	cmd.Env = append(os.Environ(), asProgram+"=1", environment+"=", "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Minute
	var said strings.Builder
	cmd.Stderr = &said
	stdout, err := cmd.StdoutPipe()
	is.NoErr(err)
	is.NoErr(cmd.Start())
	r := &running{t: t, cmd: cmd, rest: make(chan string, 1)}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // if the test has failed
	hurry := time.AfterFunc(2*time.Minute, func() { stdout.Close() })
	defer hurry.Stop()
	out := bufio.NewReader(stdout)
	for !strings.HasSuffix(r.welcome, "Ctrl-C stops it.\n") {
		line, err := out.ReadString('\n')
		r.welcome += line
		if err != nil {
			cmd.Wait()
			t.Fatalf("%v\n%s\n%s", err, r.welcome, &said)
		}
	}
	go func() {
		rest, _ := io.ReadAll(out)
		r.rest <- string(rest)
	}()
	return r
}

// end sends a signal to the process group, as a terminal does for Ctrl-C, and
// expects that the application ends well. (After an interrupt, go run exits with
// 1 whatever the program does, and says so when it was the program.)
func (r *running) end(signal syscall.Signal) {
	r.t.Helper()
	is.New(r.t).NoErr(syscall.Kill(-r.cmd.Process.Pid, signal))
	rest := <-r.rest
	err := r.cmd.Wait()
	failed := err != nil && (r.cmd.Path == os.Args[0] || strings.Contains(fmt.Sprint(r.cmd.Stderr), "exit status"))
	if failed || !strings.Contains(rest, "Stopped: every request was answered.") {
		r.t.Fatalf("%v: %v\n%s%s", signal, err, rest, r.cmd.Stderr)
	}
}

// field returns what the welcome says behind a label.
func (r *running) field(label string) string {
	r.t.Helper()
	m := regexp.MustCompile(`(?m)^  ` + label + ` +(\S+)$`).FindStringSubmatch(r.welcome)
	if m == nil {
		r.t.Fatalf("no %s in the welcome:\n%s", label, r.welcome)
	}
	return m[1]
}

// ask sends a request to the service and reads the answer.
func (r *running) ask(method, path, token, body string, answer any) {
	r.t.Helper()
	is := is.New(r.t)
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.field("base address")+path, strings.NewReader(body))
	is.NoErr(err)
	req.Header.Set("Content-Type", "application/json")
	if token == "" {
		req.SetBasicAuth(r.field("client_id"), r.field("client_secret"))
	} else {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	is.NoErr(err)
	defer resp.Body.Close()
	require.Less(r.t, resp.StatusCode, 300)
	is.NoErr(json.NewDecoder(resp.Body).Decode(answer))
}

// TestOneCommand runs the command of the guide to stores, from the root of the
// repository, and another process on the same database, which mails keys. It ends
// both, and looks for what they leave behind.
func TestOneCommand(t *testing.T) {
	is := is.New(t)
	unused, err := pgserver.New()
	if errors.Is(err, pgserver.ErrNotInstalled) {
		t.Skip(err)
	}
	is.NoErr(err)
	is.NoErr(unused.Remove())
	dir, err := os.MkdirTemp("", "one") // a short path, for the socket, that another user may enter
	is.NoErr(err)
	defer os.RemoveAll(dir)
	is.NoErr(os.Chmod(dir, 0o755))
	guide, err := os.ReadFile("../../../licensing/docs/stores.md")
	is.NoErr(err)
	require.Contains(t, string(guide), "\n    "+command+"\n")

	words := append(strings.Fields(command), "-addr", "127.0.0.1:0")
	one := exec.CommandContext(t.Context(), words[0], words[1:]...)
	one.Dir = "../../.."
	first := start(t, dir, one)
	dsn := regexp.MustCompile(`-dsn '(.+)'\n`).FindStringSubmatch(first.welcome)
	is.True(dsn != nil) // the welcome says how another process joins
	inbox := smtpsink.New(t)
	second := start(t, dir, exec.CommandContext(t.Context(), os.Args[0], "-addr", "127.0.0.1:0", "-dsn", dsn[1], "-new-client", "Shop", "-smtp", inbox.Addr))

	var token struct {
		AccessToken string `json:"access_token"`
	}
	first.ask("GET", "/oauth/token", "", "", &token)
	var made, seen struct{ ID, Name string }
	first.ask("POST", "/license", token.AccessToken, `{"name":"Joint","product_id":"atlas","customer_id":"tall-ships"}`, &made)
	second.ask("GET", "/license/"+made.ID, token.AccessToken, "", &seen) // with the token of the first
	is.Equal(seen, made)
	var list struct{ Data []struct{ ID string } }
	second.ask("GET", "/license/tall-ships", token.AccessToken, "", &list)
	is.Equal(len(list.Data), 6) // five of the seed, and the new one

	// A new subscriber begins with the events after its first run, which may be later
	// than the welcome: sales before that are not mailed.
	var keys []string
	for inbox.Waiting() == 0 && len(keys) < 60 {
		var sold struct{ Key string }
		first.ask("POST", "/license", token.AccessToken, `{"name":"Ada","product_id":"atlas","customer_id":"ada","metadata":{"email":"ada@customer.example"}}`, &sold)
		keys = append(keys, sold.Key)
		time.Sleep(500 * time.Millisecond)
	}
	_, mail := inbox.Next(t)
	is.True(slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(mail, key) }))

	pids, err := filepath.Glob(filepath.Join(dir, "pg*", "data", "postmaster.pid"))
	is.NoErr(err)
	is.Equal(len(pids), 1)
	text, err := os.ReadFile(pids[0])
	is.NoErr(err)
	line, _, _ := strings.Cut(string(text), "\n")
	server, err := strconv.Atoi(line)
	is.NoErr(err)
	is.NoErr(syscall.Kill(server, 0)) // it runs

	second.end(syscall.SIGTERM)
	first.ask("GET", "/license/"+made.ID, token.AccessToken, "", &seen) // the database is still there
	first.end(syscall.SIGINT)
	is.Equal(syscall.Kill(server, 0), syscall.ESRCH)
	pids, err = filepath.Glob(filepath.Join(dir, "pg*"))
	is.NoErr(err)
	is.Equal(len(pids), 0)
}
