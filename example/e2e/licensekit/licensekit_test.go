//go:build unix

package licensekit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
	"github.com/seed-d8a106b4/licensekit/example/internal/process"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/internal/testing/smtpsink"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

var (
	program   string // the program, built for the tests
	server    *pgserver.Server
	serverErr error
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "licensekit")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "licensekit")
	if out, err := exec.Command("go", "build", "-C", "../../licensekit", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	if server, serverErr = pgserver.New("fsync=off"); serverErr == nil {
		defer server.Remove()
		serverErr = server.Start()
	}
	return m.Run()
}

const password = "hunter2-is-in-no-message"

// storeURL returns the URL of a schema of the server. The server asks for no password.
func storeURL(t *testing.T, schema string) string {
	t.Helper()
	if errors.Is(serverErr, pgserver.ErrNotInstalled) {
		t.Skip(serverErr)
	}
	is.New(t).NoErr(serverErr)
	query := url.Values{"host": {server.Dir}, "sslmode": {"disable"}, "search_path": {schema}}
	return "postgres://licensing:" + password + "@/postgres?" + query.Encode()
}

// createSchema creates a schema and returns the URL of its store.
func createSchema(t *testing.T, schema string) string {
	t.Helper()
	store := storeURL(t, schema)
	is.New(t).NoErr(server.Shell(`psql --host="` + server.Dir + `" --username=licensing --dbname=postgres --command="CREATE SCHEMA ` + schema + `"`))
	return store
}

// command returns a command of the program on a store that the environment names.
func command(t *testing.T, store string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "LICENSEKIT_STORE="+store)
	cmd.WaitDelay = time.Minute
	return cmd
}

// run runs a command to its end. The password is in nothing that it prints.
func run(t *testing.T, store string, args ...string) (string, error) {
	t.Helper()
	out, err := command(t, store, args...).CombinedOutput()
	require.NotContains(t, string(out), password)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return string(out), err
}

// TestShareAndRestore: two processes share a store, and the work; a backup that was made
// under load is restored into another schema; SIGTERM loses no answer.
func TestShareAndRestore(t *testing.T) {
	is := is.New(t)
	store := createSchema(t, "shared")
	inbox := smtpsink.New(t)
	serve := func(store string) *process.Process {
		return process.Start(t, command(t, store, "serve", "--addr", "127.0.0.1:0", "--smtp-addr", inbox.Addr, "--smtp-from", "licenses@vendor.example"), false)
	}
	first, second := serve(store), serve(store)
	created, err := run(t, store, "create-client", "shop", "license:read,license:write")
	is.NoErr(err)
	client := process.NewClient(t, first, created)

	status, sold, err := client.Sell(first, "")
	is.NoErr(err)
	is.Equal(status, http.StatusCreated)
	status, seen, err := client.Do(second, "GET", "/license/"+sold.ID, "") // with the token of the first
	is.NoErr(err)
	is.Equal(status, http.StatusOK)
	is.Equal(seen.ID, sold.ID)

	load := process.NewLoad(client, first)
	before := load.Sold()
	archive := filepath.Join(t.TempDir(), "archive.ndjson")
	_, err = run(t, store, "backup", archive)
	is.NoErr(err)
	first.Signal(syscall.SIGTERM)
	all := append(load.End(), sold.ID)
	first.Wait(t)

	// The second process has each license that the first acknowledged, and no other. It
	// mails keys now; a new subscriber begins with the events after its first run.
	stored := licenses(t, store)
	slices.Sort(all)
	is.True(slices.Equal(stored, all))
	var addresses int
	for ; inbox.Waiting() == 0 && addresses < 60; addresses++ {
		status, _, err := client.Sell(second, "ada@customer.example")
		is.NoErr(err)
		is.Equal(status, http.StatusCreated)
		time.Sleep(250 * time.Millisecond)
	}
	inbox.Next(t)

	_, err = run(t, store, "restore", archive)
	is.True(err != nil) // the schema is not empty
	restored := createSchema(t, "restored")
	_, err = run(t, restored, "check")
	is.True(err != nil)
	require.Contains(t, err.Error(), `the schema "restored" has no tables`)
	_, err = run(t, restored, "restore", archive)
	is.NoErr(err)
	out, err := run(t, restored, "check")
	is.NoErr(err)
	require.Contains(t, out, "read every record")
	third := serve(restored)
	kept := licenses(t, restored)
	for _, id := range append(before, sold.ID) {
		_, found := slices.BinarySearch(kept, id)
		is.True(found) // each license that was acknowledged before the backup
	}
	status, _, err = client.Do(third, "GET", "/license/"+sold.ID, "")
	is.NoErr(err)
	is.Equal(status, http.StatusUnauthorized) // tokens are not in a backup
	status, seen, err = process.NewClient(t, third, created).Do(third, "GET", "/license/"+sold.ID, "")
	is.NoErr(err)
	is.Equal(status, http.StatusOK)
	is.Equal(seen.ID, sold.ID)
	for _, p := range []*process.Process{second, third} {
		p.Signal(syscall.SIGTERM)
		p.Wait(t)
	}
	for _, p := range []*process.Process{first, second, third} {
		require.NotContains(t, p.Log(), password)
	}
}

// licenses returns the IDs of the licenses in a store, which it reads from an archive.
func licenses(t *testing.T, store string) (ids []string) {
	t.Helper()
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "licenses.ndjson")
	_, err := run(t, store, "export", file)
	is.NoErr(err)
	text, err := os.ReadFile(file)
	is.NoErr(err)
	for line := range strings.Lines(string(text)) {
		var record struct{ License *struct{ ID string } }
		is.NoErr(json.Unmarshal([]byte(line), &record))
		if record.License != nil {
			ids = append(ids, record.License.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// TestInterruptedRestore stops a restore in the middle of its archive: it says what to do,
// a repeat is refused, and a restore into an empty schema succeeds.
func TestInterruptedRestore(t *testing.T) {
	is := is.New(t)
	store := createSchema(t, "half")
	dir := t.TempDir()
	file, whole, half := filepath.Join(dir, "licenses.db"), filepath.Join(dir, "whole.ndjson"), filepath.Join(dir, "half.ndjson")
	sell(t, file, 1200) // three Updates of an import
	_, err := run(t, file, "export", whole)
	is.NoErr(err)
	text, err := os.ReadFile(whole)
	is.NoErr(err)
	for _, part := range []int{2, 3} { // what was written: events too, or licenses only
		is.NoErr(os.WriteFile(half, text[:len(text)/part], 0o600))
		_, err = run(t, store, "restore", half)
		is.True(err != nil)
		require.Contains(t, err.Error(), "drop the schema")
		_, err = run(t, store, "restore", whole)
		is.True(err != nil)
		is.NoErr(server.Shell(`psql --host="` + server.Dir + `" --username=licensing --dbname=postgres --command="DROP SCHEMA half CASCADE" --command="CREATE SCHEMA half"`))
	}
	_, err = run(t, store, "restore", whole)
	is.NoErr(err)
	is.Equal(len(licenses(t, store)), 1200)
}

// sell creates licenses in a SQLite file.
func sell(t *testing.T, file string, n int) {
	t.Helper()
	is := is.New(t)
	st, err := sqlite.Open(file)
	is.NoErr(err)
	defer st.Close()
	is.NoErr(license.New(st, license.Options{}).Atomically(t.Context(), func(s *license.Service) error {
		for range n {
			if _, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "cus_1"}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestMoveToPostgresAndBack runs the commands of the guide, and compares the archive of
// a file with that of the schema it was moved to.
func TestMoveToPostgresAndBack(t *testing.T) {
	is := is.New(t)
	store := createSchema(t, "moved")
	keygen, err := filepath.Abs("../../internal/admin/testdata/keygen")
	is.NoErr(err)
	t.Chdir(t.TempDir())
	sell(t, "licenses.db", 1)
	_, err = run(t, "licenses.db", "export", "archive.ndjson")
	is.NoErr(err)
	_, err = run(t, store, "import", "archive.ndjson")
	is.NoErr(err)
	_, err = run(t, store, "export", "back.ndjson")
	is.NoErr(err)
	there, err := os.ReadFile("archive.ndjson")
	is.NoErr(err)
	back, err := os.ReadFile("back.ndjson")
	is.NoErr(err)
	is.Equal(string(back), string(there))
	for _, mode := range []string{"check", "write"} { // the check stores nothing
		out, err := run(t, store, "move-in", keygen, mode)
		is.NoErr(err)
		require.Contains(t, out, "2 new, 0 already here, 0 refused")
	}
	_, err = run(t, store, "create-operator", "ada@example.com", "admin")
	is.NoErr(err)
}

// TestNoMessageHasTheURL: neither a wrong URL nor a failure to connect prints it.
func TestNoMessageHasTheURL(t *testing.T) {
	is := is.New(t)
	for _, store := range []string{
		"postgres://licensing:" + password + "@127.0.0.1:1/licenses?sslmode=disable&connect_timeout=3", // no server
		"postgres://licensing:" + password + "@127.0.0.1:port/licenses",
		"postgres://licensing:" + password + "@127.0.0.1/licenses?sslmode=" + password,
		"postgresql://licensing:" + password + "@/licenses?host=/nowhere",
		"postgres//licensing:" + password + "@127.0.0.1/licenses?a=b",
	} {
		for _, args := range [][]string{{"serve"}, {"check"}} {
			_, err := run(t, store, args...) // which looks for the password
			is.True(err != nil)
			require.NotContains(t, err.Error(), store)
		}
	}
}

// TestBackupScriptOfPostgres: the script of example/licensekit keeps archives that it has read.
func TestBackupScriptOfPostgres(t *testing.T) {
	is := is.New(t)
	store := createSchema(t, "scripted")
	process.Start(t, command(t, store, "serve", "--addr", "127.0.0.1:0"), false)
	folder := filepath.Join(t.TempDir(), "backups")
	cmd := exec.CommandContext(t.Context(), "sh", "../../licensekit/licensekit-backup", folder)
	cmd.Env = append(os.Environ(), "LICENSEKIT_STORE="+store, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	is.NoErr(err)
	require.Contains(t, string(out), "imported", "found no damage")
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	is.NoErr(err)
	is.Equal(len(names), 1)
	is.True(strings.HasSuffix(names[0], ".ndjson"))
}
