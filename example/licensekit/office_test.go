//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
		Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1", Terms: api.Terms{MaxActivations: new(int64(5)), Meters: map[string]api.Meter{"exports": {Limit: new(int64(3))}}},
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
		running := append(slices.Clone(flags), "--store", path("office.db"), "--answer-file", path("answer"))
		asking := flags
		if _, err := os.Stat(path("answer")); err == nil {
			asking = running
		}
		request := output(t, nil, append(slices.Clone(asking), "--seats", seats)...)
		f, err := vendor.Service().IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Request: strings.TrimSpace(request)})
		is.NoErr(err)
		answer, err := vendor.Files().Sign(t.Context(), *f.FileClaims())
		is.NoErr(err)
		is.NoErr(os.WriteFile(path("answer"), []byte(answer), 0o600))
		cmd := program(t, nil, append(running, "--addr", "127.0.0.1:0")...)
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
	use := func(url, id string, want int) {
		t.Helper()
		body := fmt.Sprintf(`{"key":%q,"usage":[{"meter":"exports","id":%q,"total":2}]}`, l.Key, id)
		res, err := http.Post(url+"/license/usage", "application/json", strings.NewReader(body))
		is.NoErr(err)
		res.Body.Close()
		is.Equal(res.StatusCode, want)
	}
	lend("1", func(url string) {
		use(url, "first", http.StatusOK)
		is.Equal(open(url, "pc-1"), api.VerdictValid)
		is.Equal(open(url, "pc-2"), api.VerdictActivationLimit)
	})
	_, err = vendor.Service().Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Meters: api.To(map[string]*api.MeterChange{
		"exports": {Limit: api.To[int64](4)}, "calls": {},
	})})
	is.NoErr(err)
	lend("2", func(url string) {
		use(url, "second", http.StatusOK)
		use(url, "third", http.StatusConflict) // the limit of the vendor
		is.Equal(open(url, "pc-2"), api.VerdictValid)
		is.Equal(open(url, "pc-1"), api.VerdictValid)
		is.Equal(open(url, "pc-3"), api.VerdictActivationLimit)
	})
	usage, err := vendor.Metering().ListUsage(t.Context(), api.ListUsageParams{LicenseID: l.ID})
	is.NoErr(err)
	is.Equal(usage.Data[0].Used, int64(2)) // of the first, in the request of the second
}
