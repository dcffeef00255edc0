//go:build linux

package recovery

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// file is the database, in the current directory of a test.
const file = "licenses.db"

// With variableServe set, the test binary is a service on file until it gets SIGTERM.
const (
	variableServe = "LICENSEKIT_RECOVERY_SERVE"
	variableAhead = "LICENSEKIT_RECOVERY_AHEAD" // of its clock, so that the leases of the process before have ended
	variableLimit = "LICENSEKIT_RECOVERY_LIMIT" // of the size of its files, as on a full disk
	variableKey   = "LICENSEKIT_RECOVERY_KEY"
)

// programs is the folder of licensekit, as built for the tests.
var programs string

func TestMain(m *testing.M) {
	if os.Getenv(variableServe) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "recovery")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	programs = dir
	if out, err := exec.Command("go", "build", "-C", "../../licensekit", "-o", dir+"/licensekit", ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// options are those of every process with a master key in base64.
func options(key string) licensing.Options {
	master, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		panic(err)
	}
	return licensing.Options{
		MasterKey: master, Logger: slog.New(slog.DiscardHandler), Limits: licensing.LimitOptions{ClientRate: -1, AddressRate: -1},
		Webhooks: webhook.Options{AllowPrivate: true},
	}
}

// serve prints the address of the service. GET /state is its Health.
func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if limit, err := strconv.ParseUint(os.Getenv(variableLimit), 10, 64); err == nil {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
			return err
		}
		now.Cur = limit
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
			return err
		}
	}
	st, err := sqlite.Open(file)
	if err != nil {
		return err
	}
	ahead, _ := time.ParseDuration(os.Getenv(variableAhead))
	opts := options(os.Getenv(variableKey))
	opts.Now = func() time.Time { return time.Now().Add(ahead) }
	h := licensing.NewHandler(st, opts)
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, r *http.Request) { json.NewEncoder(w).Encode(h.Health(r.Context())) })
	server := httptest.NewServer(mux)
	var work sync.WaitGroup
	work.Go(func() { h.Run(ctx) })
	fmt.Println(server.URL)
	<-ctx.Done()
	server.Close()
	work.Wait()
	return st.Close()
}

// A service is a process that serves.
type service struct {
	t     *testing.T
	key   string // the master key
	token string
	url   string
	cmd   *exec.Cmd
	ended chan error
}

// newService creates a service with an API client in the current directory, which is
// a new one.
func newService(t *testing.T) *service {
	t.Helper()
	t.Chdir(t.TempDir())
	s := &service{t: t, key: masterKey('k')}
	s.inside(func(h *licensing.Handler) {
		c, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n", Scopes: auth.Scopes()})
		s.check(err)
		r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader("grant_type=client_credentials"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth(c.ID, secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var answer struct {
			Token string `json:"access_token"`
		}
		s.check(json.Unmarshal(w.Body.Bytes(), &answer))
		s.token = answer.Token
	})
	t.Cleanup(func() {
		if s.cmd != nil {
			s.stop(syscall.SIGKILL)
		}
	})
	return s
}

func masterKey(c byte) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(c), 32)))
}

func (s *service) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// inside calls fn with a handler on the file, which no process serves.
func (s *service) inside(fn func(h *licensing.Handler)) {
	s.t.Helper()
	st, err := sqlite.Open(file)
	s.check(err)
	fn(licensing.NewHandler(st, options(s.key)))
	s.check(st.Close())
}

// start starts the process, with more environment.
func (s *service) start(environment ...string) {
	s.t.Helper()
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(append(os.Environ(), variableServe+"=1", variableKey+"="+s.key), environment...)
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := s.cmd.StdoutPipe()
	s.check(err)
	s.check(s.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if s.url = strings.TrimSpace(line); err != nil {
		s.t.Fatal(errors.Join(err, s.cmd.Wait()))
	}
	ended := make(chan error, 1)
	s.ended = ended
	go func(cmd *exec.Cmd) { ended <- cmd.Wait() }(s.cmd) // so that it is no zombie when a command looks
}

// stop stops the process with a signal, unless a command has, and waits.
func (s *service) stop(signal syscall.Signal) error {
	s.cmd.Process.Signal(signal)
	err := <-s.ended
	s.ended <- err
	return err
}

// send sends a request, and returns the status and the JSON of the answer.
func (s *service) send(method, path, body string) (int, map[string]any) {
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	var answer map[string]any
	json.Unmarshal(text, &answer)
	return resp.StatusCode, answer
}

// problems are the codes of Health.
func (s *service) problems() (codes []string) {
	_, state := s.send("GET", "/state", "")
	all, _ := state["problems"].([]any)
	for _, p := range all {
		codes = append(codes, p.(map[string]any)["code"].(string))
	}
	return codes
}

// await waits until a condition is true.
func (s *service) await(what string, yes func() bool) {
	s.t.Helper()
	for begun := time.Now(); !yes(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 3*time.Minute {
			s.t.Fatalf("never: %s; problems: %v", what, s.problems())
		}
	}
}

// create creates a license, and returns its ID, or "" if that is not acknowledged.
func (s *service) create(name string) string {
	status, answer := s.send("POST", "/license", `{"name":"`+name+`","product_id":"atlas","customer_id":"c"}`)
	if status != http.StatusCreated {
		return ""
	}
	return answer["id"].(string)
}

// creates creates n licenses.
func (s *service) creates(n int) (ids []string) {
	s.t.Helper()
	for range n {
		id := s.create("n")
		if id == "" {
			s.t.Fatal("not created")
		}
		ids = append(ids, id)
	}
	return ids
}

// lost counts the licenses that the service does not have.
func (s *service) lost(ids []string) (lost int) {
	for _, id := range ids {
		if status, _ := s.send("GET", "/license/"+id, ""); status != http.StatusOK {
			lost++
		}
	}
	return lost
}

// follow runs the commands that the guide to stores has under a comment which
// begins so.
func (s *service) follow(comment string) {
	s.t.Helper()
	_, script, found := strings.Cut(storeGuide, "\n# "+comment)
	if !found {
		s.t.Fatalf("the guide has no commands for: %s", comment)
	}
	_, script, _ = strings.Cut(script, "\n")
	script, _, _ = strings.Cut(script, "```")
	script, _, _ = strings.Cut(script, "\n\n")
	s.run(script)
}

// backup runs the command of that guide.
func (s *service) backup() {
	s.t.Helper()
	const line = "licensekit backup --store licenses.db copy.db"
	if !strings.Contains(storeGuide, "\n    "+line+"\n") {
		s.t.Fatal("the guide has no command for a backup")
	}
	s.run(line)
}

// run runs a script of a guide.
func (s *service) run(script string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", "-e", "-c", script)
	cmd.Env = append(os.Environ(), "PID="+strconv.Itoa(s.cmd.Process.Pid), "PATH="+programs+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// storeGuide is read before a test changes the directory.
var storeGuide = guide()

func guide() string {
	text, err := os.ReadFile("../../../licensing/docs/stores.md")
	if err != nil && os.Getenv(variableServe) == "" {
		panic(err)
	}
	return string(text)
}
