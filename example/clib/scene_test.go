package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A scene is a service with a license, and programs in one language.
type scene struct {
	*testing.T
	*is.I
	start   func(env ...string) *exec.Cmd
	handler *licensing.Handler
	server  *httptest.Server
	mode    atomic.Value // "answers", "slow", "dead" or "stalls"
	keys    json.RawMessage
	license api.License
	dir     string
}

func newScene(t *testing.T, start func(env ...string) *exec.Cmd) *scene {
	s := &scene{T: t, I: is.NewRelaxed(t), start: start, dir: filepath.Join(t.TempDir(), "Größe 株")}
	s.mode.Store("answers")
	s.handler = licensing.NewHandler(memory.New(), licensing.Options{
		Logger: slog.New(slog.DiscardHandler), KeyHolderSeats: true, PortalURL: "https://acme.example/account/licenses",
	})
	mounted := http.StripPrefix("/licensing", s.handler)
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch s.mode.Load() {
		case "dead":
			panic(http.ErrAbortHandler)
		case "stalls":
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client leaves
			<-r.Context().Done()
		case "slow":
			time.Sleep(800 * time.Millisecond)
			mounted.ServeHTTP(w, r)
		default:
			mounted.ServeHTTP(w, r)
		}
	}))
	if first, err := strconv.Atoi(os.Getenv("FIRST_PORT")); err == nil {
		for port := first; port < first+500; port++ {
			if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
				s.server.Listener.Close()
				s.server.Listener = l
				break
			}
		}
	}
	s.server.Start()
	t.Cleanup(s.server.Close)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/file/keys", nil))
	s.keys = w.Body.Bytes()
	s.create(api.CreateLicenseParams{Terms: api.Terms{
		MaxActivations: new(int64(2)), Entitlements: map[string]any{"export": true, "users": 5, "tier": "Größe 株"},
	}})
	return s
}

func (s *scene) service() *license.Service { return s.handler.Service() }

// create replaces the license.
func (s *scene) create(p api.CreateLicenseParams) {
	s.Helper()
	p.Name, p.ProductID, p.CustomerID = "Größe 株 Ltd", cmp.Or(p.ProductID, "atlas"), "cus_1"
	var err error
	s.license, err = s.service().Create(s.Context(), p)
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) update(p api.UpdateLicenseParams) {
	s.Helper()
	p.ID = s.license.ID
	if _, err := s.service().Update(s.Context(), p); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) seats() int {
	s.Helper()
	page, err := s.service().ListActivations(s.Context(), api.ListActivationsParams{LicenseID: s.license.ID})
	s.NoErr(err)
	return len(page.Data)
}

// options returns options of lk_open in JSON: the usual ones with changes. Members that are nil
// are left out.
func (s *scene) options(change map[string]any) string {
	o := map[string]any{
		"url": s.server.URL + "/licensing", "keys": s.keys, "product_id": "atlas", "key": s.license.Key, "dir": s.dir, "fingerprint": "pc-1",
	}
	for name, v := range change {
		if o[name] = v; v == nil {
			delete(o, name)
		}
	}
	text, err := json.Marshal(o)
	s.NoErr(err)
	return string(text)
}

// A prog is a running program.
type prog struct {
	*scene
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// prog starts a program without a license.
func (s *scene) prog() *prog {
	s.Helper()
	p := &prog{scene: s, cmd: s.start("HOME="+filepath.Dir(s.dir), "XDG_CONFIG_HOME=")}
	in, err := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err != nil || err2 != nil {
		s.Fatal(err, err2)
	}
	if err := p.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<17)
	s.Cleanup(func() { p.kill() })
	return p
}

func (p *prog) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// end ends the program in the ordinary way, and checks that it does end.
func (p *prog) end() {
	p.Helper()
	p.in.Close()
	kill := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	if err := p.cmd.Wait(); err != nil {
		p.Errorf("the program does not end: %v", err)
	}
}

// do runs a command of the driver.
func (p *prog) do(args ...any) string {
	p.Helper()
	fields := make([]string, len(args))
	for i, a := range args {
		fields[i] = fmt.Sprint(a)
	}
	if _, err := io.WriteString(p.in, strings.Join(fields, "\t")+"\n"); err != nil {
		p.Fatalf("%v: %v", fields[0], err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.Fatalf("%v: the program ended: %v", fields[0], err)
	}
	return strings.TrimRight(line, "\r\n")
}

// is checks an answer; a wanted text that ends with "…" is the beginning.
func (p *prog) is(want string, args ...any) {
	p.Helper()
	got := p.do(args...)
	if prefix, cut := strings.CutSuffix(want, "…"); got != want && !(cut && strings.HasPrefix(got, prefix)) {
		p.Errorf("%v: %s, want %s", args[0], got, want)
	}
}

// opened starts a program with the usual options.
func (s *scene) opened(change map[string]any) *prog {
	s.Helper()
	p := s.prog()
	p.is("ok", "open", s.options(change))
	return p
}

// devices returns the installations that have a seat.
func (p *prog) devices() (all []program.Device) {
	p.Helper()
	if err := json.Unmarshal([]byte(p.do("devices", 0)), &all); err != nil {
		p.Fatal(err)
	}
	return all
}

// status returns the status, and the codes of its warnings.
func (p *prog) status() (st map[string]any, warnings string) {
	p.Helper()
	if err := json.Unmarshal([]byte(p.do("status")), &st); err != nil {
		p.Fatal(err)
	}
	all, _ := st["warnings"].([]any)
	for _, w := range all {
		warnings += " " + w.(map[string]any)["code"].(string)
	}
	return st, strings.TrimSpace(warnings)
}
