package program

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

// With these variables set, the test binary is a program that waits to be killed.
const (
	processURL  = "LICENSEKIT_PROCESS_URL"
	processKey  = "LICENSEKIT_PROCESS_KEY"
	processKeys = "LICENSEKIT_PROCESS_KEYS"
	processDir  = "LICENSEKIT_PROCESS_DIR"
)

// TestKillNine: the seat of a process that the operating system kills is free when its lease
// ends, and not before. Processes of one machine share the directory.
func TestKillNine(t *testing.T) {
	if os.Getenv(processURL) != "" {
		waitForDeath(t)
		return
	}
	t.Parallel()
	is := is.New(t)
	vendor := licensingtest.NewVendor(t)
	server := httptest.NewServer(http.StripPrefix("/licensing", vendor.Handler))
	defer server.Close()
	const lease = 4
	l, err := vendor.Handler.Service().Create(t.Context(), api.CreateLicenseParams{
		Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1", Terms: api.Terms{MaxActivations: new(int64(1)), LeaseSeconds: new(int64(lease))},
	})
	is.NoErr(err)
	opts := Options{URL: server.URL + "/licensing", Keys: vendor.Keys(t), ProductID: "atlas", Key: l.Key, Dir: filepath.Join(tempDir(t), "license"), PerProcess: true}

	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillNine$")
	victim.Env = append(os.Environ(), processURL+"="+opts.URL, processKey+"="+opts.Key, processKeys+"="+string(opts.Keys), processDir+"="+opts.Dir)
	out, err := victim.StdoutPipe()
	is.NoErr(err)
	is.NoErr(victim.Start())
	code := ""
	_, err = fmt.Fscanln(out, &code)
	is.NoErr(err)
	is.Equal(code, "valid")
	is.NoErr(victim.Process.Kill())
	_ = victim.Wait() // killed
	page, err := vendor.Handler.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID})
	is.NoErr(err)
	ends := *page.Data[0].LeaseEndsAt

	next, err := Open(opts)
	is.NoErr(err)
	defer next.Close()
	if time.Now().Before(ends) {
		is.Equal(next.Status().Code, api.VerdictActivationLimit)
	}
	for deadline := time.Now().Add(time.Minute); !next.Status().Valid && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
		_ = next.Refresh(t.Context())
	}
	is.True(next.Status().Valid)
	is.True(!time.Now().Before(ends))
	files, err := os.ReadDir(opts.Dir)
	is.NoErr(err)
	for _, f := range files {
		require.NotContains(t, f.Name(), licenseName)
	}
}

// waitForDeath opens the license, says whether it is valid, and waits, at most a minute.
func waitForDeath(t *testing.T) {
	l, err := Open(Options{
		URL: os.Getenv(processURL), Keys: []byte(os.Getenv(processKeys)), ProductID: "atlas", Key: os.Getenv(processKey), Dir: os.Getenv(processDir), PerProcess: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(l.Status().Code)
	time.Sleep(time.Minute)
}
