//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	shipped "github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestOfficeCommand: the command prints a request and, with the answer of the vendor, lends
// the seats to programs that have the keys of the vendor. Started again, it has the new
// number of seats.
func TestOfficeCommand(t *testing.T) {
	is, dir := is.New(t), t.TempDir()
	vendor := licensing.NewHandler(memory.New(), licensing.Options{})
	l, err := vendor.Service().Create(t.Context(), api.CreateLicenseParams{
		Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1", Terms: api.Terms{MaxActivations: new(int64(5))},
	})
	is.NoErr(err)
	pinned, err := vendor.Files().KeySet(t.Context())
	is.NoErr(err)
	jwks, err := json.Marshal(pinned)
	is.NoErr(err)
	path := func(file string) string { return filepath.Join(dir, file) }
	is.NoErr(os.WriteFile(path("license"), []byte(l.Key+"\n"), 0o600))
	flags := []string{"office", "--office-key-file", path("key"), "--license-key-file", path("license")}

	open := func(url, machine string) api.Code {
		t.Helper()
		p, err := shipped.Open(shipped.Options{URL: url, Keys: jwks, ProductID: "atlas", Key: l.Key, Fingerprint: machine, Dir: path(machine)})
		is.NoErr(err)
		defer p.Close()
		return p.Status().Code
	}
	lend := func(seats string, use func(url string)) {
		t.Helper()
		request := output(t, nil, append(flags, "--seats", seats)...)
		f, err := vendor.Service().IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Request: strings.TrimSpace(request)})
		is.NoErr(err)
		answer, err := vendor.Files().Sign(t.Context(), *f.FileClaims())
		is.NoErr(err)
		is.NoErr(os.WriteFile(path("answer"), []byte(answer), 0o600))
		cmd := program(t, nil, append(flags, "--store", path("office.db"), "--answer-file", path("answer"), "--addr", "127.0.0.1:0")...)
		log, err := cmd.StderrPipe()
		is.NoErr(err)
		is.NoErr(cmd.Start())
		address := ""
		lines := bufio.NewScanner(log)
		for address == "" && lines.Scan() {
			if m := regexp.MustCompile(`"office listens","address":"([^"]+)"`).FindStringSubmatch(lines.Text()); m != nil {
				address = m[1]
			}
		}
		is.True(address != "")
		use("http://" + address + mount)
		is.NoErr(cmd.Process.Signal(syscall.SIGTERM))
		for lines.Scan() {
		}
		is.NoErr(cmd.Wait())
	}
	lend("1", func(url string) {
		is.Equal(open(url, "pc-1"), api.VerdictValid)
		is.Equal(open(url, "pc-2"), api.VerdictActivationLimit)
	})
	lend("2", func(url string) {
		is.Equal(open(url, "pc-2"), api.VerdictValid)
		is.Equal(open(url, "pc-1"), api.VerdictValid)
		is.Equal(open(url, "pc-3"), api.VerdictActivationLimit)
	})
}
