//go:build linux

package office

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/process"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// command is licensekit, built for the tests.
var command string

func TestMain(m *testing.M) {
	if os.Getenv(machineVariable) != "" {
		runMachine()
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "office")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	command = filepath.Join(dir, "licensekit")
	if out, err := exec.Command("go", "build", "-C", "../../licensekit", "-o", command, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A site is the closed network of a customer: an office in a folder, and its machines.
// Nothing but texts goes between it and the vendor.
type site struct {
	t       *testing.T
	dir     string
	vendor  *licensing.Handler
	license api.License
	keys    string // of the vendor
	addr    string // at which the office listens
	office  *process.Process

	// The commands that run another in the network of the office, and in that of the
	// machines; empty: that of the test.
	lender, programs []string
}

// newSite creates a site and the license of the vendor for it.
func newSite(t *testing.T, terms api.Terms) *site {
	t.Helper()
	is := is.New(t)
	vendor := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	l, err := vendor.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1", Terms: terms})
	is.NoErr(err)
	set, err := vendor.Files().KeySet(t.Context())
	is.NoErr(err)
	keys, err := json.Marshal(set)
	is.NoErr(err)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	free.Close()
	s := &site{t: t, dir: t.TempDir(), vendor: vendor, license: l, keys: string(keys), addr: free.Addr().String()}
	is.NoErr(os.WriteFile(s.path("license.key"), []byte(l.Key), 0o600))
	return s
}

func (s *site) path(file string) string { return filepath.Join(s.dir, file) }

// within returns a command that runs in a network, and ends with the test.
func (s *site) within(network []string, name string, args ...string) *exec.Cmd {
	line := slices.Concat(network, []string{name}, args)
	cmd := exec.CommandContext(s.t.Context(), line[0], line[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// licensekit returns licensekit office with more arguments.
func (s *site) licensekit(args ...string) *exec.Cmd {
	return s.within(s.lender, command, append([]string{"office", "--store", s.path("office.db"), "--office-key-file", s.path("office.key"),
		"--license-key-file", s.path("license.key"), "--answer-file", s.path("office.license")}, args...)...)
}

// request returns the request of the office for a number of seats.
func (s *site) request(seats int) string {
	s.t.Helper()
	out, err := s.licensekit("--seats", fmt.Sprint(seats)).Output()
	is.New(s.t).NoErr(err)
	return strings.TrimSpace(string(out))
}

// answer carries a request to the vendor, and returns the answer.
func (s *site) answer(request string, lifetime api.Duration) string {
	s.t.Helper()
	is := is.New(s.t)
	f, err := s.vendor.Service().IssueFile(s.t.Context(), api.IssueFileParams{LicenseID: s.license.ID, Request: request, Lifetime: lifetime})
	is.NoErr(err)
	text, err := s.vendor.Files().Sign(s.t.Context(), *f.FileClaims())
	is.NoErr(err)
	return text
}

// carry carries an answer to the office.
func (s *site) carry(answer string) {
	s.t.Helper()
	is := is.New(s.t)
	is.NoErr(os.WriteFile(s.path("new.license"), []byte(answer), 0o600))
	is.NoErr(os.Rename(s.path("new.license"), s.path("office.license")))
}

// start starts the office.
func (s *site) start() {
	s.t.Helper()
	s.office = process.Start(s.t, s.licensekit("--addr", s.addr), false)
}

// stop ends the office as an administrator does.
func (s *site) stop() {
	s.t.Helper()
	s.office.Signal(syscall.SIGTERM)
	s.office.Wait(s.t)
}

// inside calls fn with a handler on the store of the office.
func (s *site) inside(fn func(h *licensing.Handler)) {
	s.t.Helper()
	is := is.New(s.t)
	st, err := sqlite.Open(s.path("office.db"))
	is.NoErr(err)
	fn(licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler)}))
	is.NoErr(st.Close())
}

// setLease sets the lease of the license in the store of the office.
func (s *site) setLease(lease time.Duration) {
	s.t.Helper()
	s.inside(func(h *licensing.Handler) {
		_, err := h.Service().Update(s.t.Context(), api.UpdateLicenseParams{ID: s.license.ID, LeaseSeconds: api.To(int64(lease / time.Second))})
		is.New(s.t).NoErr(err)
	})
}
