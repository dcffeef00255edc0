package admin

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// run runs a command on a store and returns what it prints.
func run(t *testing.T, command, store string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Run(t.Context(), "licensekit", OpenFile, append([]string{command, "--store", store}, args...), &out, io.Discard)
	return out.String(), err
}

// newDatabase creates a database with licenses of n customers, and leaves it
// open, as an application does.
func newDatabase(t *testing.T, path string, n int) *license.Service {
	t.Helper()
	st, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s := license.New(st, license.Options{})
	for range n {
		if _, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "cus_1"}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// licensesIn counts the licenses in a file.
func licensesIn(t *testing.T, path string) int {
	t.Helper()
	st, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	n := 0
	for _, err := range license.New(st, license.Options{}).All(t.Context(), api.ListLicensesParams{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestBackupRestoreCheck(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	db, saved, restored := filepath.Join(dir, "licenses.db"), filepath.Join(dir, "copy.db"), filepath.Join(dir, "restored.db")
	newDatabase(t, db, 3)

	out, err := run(t, "backup", db, saved)
	is.NoErr(err)
	require.Matches(t, out, regexp.MustCompile(`^wrote \S+copy\.db, [\d,]+ bytes, in \S+\n$`))
	_, err = run(t, "backup", db, saved)
	require.ErrorIs(t, err, os.ErrExist) // a backup replaces no other

	_, err = run(t, "restore", restored, saved)
	is.NoErr(err)
	is.Equal(licensesIn(t, restored), 3)
	_, err = run(t, "restore", db, saved)
	require.ErrorIs(t, err, os.ErrExist) // nor the database that is there

	out, err = run(t, "check", restored)
	is.NoErr(err)
	require.HasPrefix(t, out, "found no damage in ")
	f, err := os.OpenFile(restored, os.O_RDWR, 0)
	is.NoErr(err)
	_, err = f.WriteAt(bytes.Repeat([]byte{0xAA}, 8192), 3*4096)
	is.NoErr(err)
	is.NoErr(f.Close())
	_, err = run(t, "check", restored)
	require.ErrorIs(t, err, sqlite.ErrDamaged)
}

func TestExportImport(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	db, archive, moved := filepath.Join(dir, "licenses.db"), filepath.Join(dir, "a.ndjson"), filepath.Join(dir, "moved.db")
	newDatabase(t, db, 3)
	_, err := run(t, "export", db, archive)
	is.NoErr(err)
	info, err := os.Stat(archive)
	is.NoErr(err)
	is.Equal(info.Mode().Perm(), os.FileMode(0o600))
	_, err = run(t, "export", db, archive)
	require.ErrorIs(t, err, os.ErrExist)

	_, err = run(t, "import", moved, archive)
	is.NoErr(err)
	is.Equal(licensesIn(t, moved), 3)
	_, err = run(t, "import", moved, archive)
	is.True(err != nil) // it exists

	// An import that fails leaves nothing behind.
	whole, err := os.ReadFile(archive)
	is.NoErr(err)
	is.NoErr(os.WriteFile(archive, whole[:len(whole)/2], 0o600))
	half := filepath.Join(dir, "half.db")
	_, err = run(t, "import", half, archive)
	is.True(err != nil)
	left, err := filepath.Glob(half + "*")
	is.NoErr(err)
	is.Equal(len(left), 0)
}

// TestSetupCode creates the first admin with the code, and no code after that.
func TestSetupCode(t *testing.T) {
	is := is.New(t)
	db := filepath.Join(t.TempDir(), "licenses.db")
	newDatabase(t, db, 0)
	out, err := run(t, "setup-code", db)
	is.NoErr(err)
	m := regexp.MustCompile(`\n  http://127.0.0.1:8181/licensing/dashboard/setup#code=(\S+)\n`).FindStringSubmatch(out)
	is.True(m != nil)

	st, err := sqlite.Open(db)
	is.NoErr(err)
	defer st.Close()
	service := licensing.NewHandler(st, licensing.Options{}).Operators()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/dashboard/setup", nil)
	op, err := inner.Of(service).CompleteSetup(httptest.NewRecorder(), r, m[1], "ada@example.com", "the ferry leaves before breakfast")
	is.NoErr(err)
	is.Equal(op.Role, operator.RoleAdmin)
	_, err = run(t, "setup-code", db)
	require.ErrorIs(t, err, operator.ErrAlreadySetUp)
}

func TestCreateOperator(t *testing.T) {
	is := is.New(t)
	db := filepath.Join(t.TempDir(), "licenses.db")
	newDatabase(t, db, 0)
	config := filepath.Join(filepath.Dir(db), "licensekit.json")
	is.NoErr(os.WriteFile(config, []byte(`{"Options": {"PublicURL": "https://shop.example/licensing/"}}`), 0o600))
	out, err := run(t, "create-operator", db, "--config", config, "ada@example.com", "admin")
	is.NoErr(err)
	m := regexp.MustCompile(`\n  https://shop.example/licensing/dashboard/join#code=(\S+)\n`).FindStringSubmatch(out)
	is.True(m != nil)

	st, err := sqlite.Open(db)
	is.NoErr(err)
	defer st.Close()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/dashboard/join", nil)
	op, err := inner.Of(licensing.NewHandler(st, licensing.Options{}).Operators()).AcceptInvitation(httptest.NewRecorder(), r, m[1], "the ferry leaves before breakfast")
	is.NoErr(err)
	is.Equal(op.Email, "ada@example.com")
	is.Equal(op.Role, operator.RoleAdmin)

	_, err = run(t, "create-operator", db, "grace@example.com", "owner")
	is.True(err != nil)
	require.Contains(t, err.Error(), "admin, support or viewer")
}

// TestResetPassword helps an admin whom no other admin can help.
func TestResetPassword(t *testing.T) {
	is := is.New(t)
	db := filepath.Join(t.TempDir(), "licenses.db")
	st, err := sqlite.Open(db)
	is.NoErr(err)
	defer st.Close()
	service := licensing.NewHandler(st, licensing.Options{}).Operators()
	_, err = service.Create(t.Context(), operator.CreateParams{Email: "ada@example.com", Password: "the train was late on monday", Role: operator.RoleAdmin})
	is.NoErr(err)
	out, err := run(t, "reset-password", db, "Ada@example.com")
	is.NoErr(err)
	m := regexp.MustCompile(`dashboard/join#code=(\S+)\n`).FindStringSubmatch(out)
	is.True(m != nil)

	const password = "the ferry leaves before breakfast"
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/dashboard/join", nil)
	_, err = inner.Of(service).AcceptInvitation(httptest.NewRecorder(), r, m[1], password)
	is.NoErr(err)
	op, err := inner.Of(service).SignIn(httptest.NewRecorder(), r, "ada@example.com", password, false)
	is.NoErr(err)
	is.Equal(op.Role, operator.RoleAdmin)

	_, err = run(t, "reset-password", db, "grace@example.com")
	is.True(err != nil)
	require.Contains(t, err.Error(), "no operator grace@example.com")
}

// TestRemoveSecondFactor helps an admin who has lost the telephone and the recovery
// codes.
func TestRemoveSecondFactor(t *testing.T) {
	is := is.New(t)
	db := filepath.Join(t.TempDir(), "licenses.db")
	st, err := sqlite.Open(db)
	is.NoErr(err)
	defer st.Close()
	service := licensing.NewHandler(st, licensing.Options{}).Operators()
	const password = "the train was late on monday"
	op, err := service.Create(t.Context(), operator.CreateParams{Email: "ada@example.com", Password: password, Role: operator.RoleAdmin})
	is.NoErr(err)
	r, w := httptest.NewRequestWithContext(t.Context(), "POST", "/dashboard/sign-in", nil), httptest.NewRecorder()
	signIn := func() error {
		_, err := inner.Of(service).SignIn(w, r, op.Email, password, false)
		return err
	}
	is.NoErr(signIn())
	for _, cookie := range w.Result().Cookies() {
		r.AddCookie(cookie)
	}
	secret := signin.NewTOTPSecret()
	_, err = inner.Of(service).EnableSecondFactor(httptest.NewRecorder(), r, signin.EnableSecondFactorParams{Secret: secret, Code: totp(t, secret), Password: password})
	is.NoErr(err)
	require.ErrorIs(t, signIn(), signin.ErrSecondFactor)

	out, err := run(t, "remove-second-factor", db, "Ada@example.com")
	is.NoErr(err)
	require.Contains(t, out, "ada@example.com")
	is.NoErr(signIn())
	_, err = run(t, "remove-second-factor", db, "grace@example.com")
	require.Contains(t, err.Error(), "no operator grace@example.com")
}

// totp returns the present code of an authenticator app (RFC 6238).
func totp(t *testing.T, secret string) string {
	t.Helper()
	key, err := base32.StdEncoding.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(time.Now().Unix()/30)))
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1_000_000)
}

func TestCreateClient(t *testing.T) {
	is := is.New(t)
	db := filepath.Join(t.TempDir(), "licenses.db")
	newDatabase(t, db, 0)
	out, err := run(t, "create-client", db, "Web shop", "license:read, event:read")
	is.NoErr(err)
	m := regexp.MustCompile(`^client_id {6}(\S+)\nclient_secret {2}(\S+)\n$`).FindStringSubmatch(out)
	is.True(m != nil)

	st, err := sqlite.Open(db)
	is.NoErr(err)
	defer st.Close()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/oauth/token", strings.NewReader("grant_type=client_credentials"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(m[1], m[2])
	w := httptest.NewRecorder()
	licensing.NewHandler(st, licensing.Options{}).ServeHTTP(w, r)
	is.Equal(w.Code, 200)
	require.Contains(t, w.Body.String(), "event:read", "license:read")

	_, err = run(t, "create-client", db, "Web shop", "license:own")
	is.True(err != nil)
}

// TestExportAndEraseCustomer: an export has both licenses of the customer, and replaces no file.
func TestExportAndEraseCustomer(t *testing.T) {
	is := is.New(t)
	db := filepath.Join(t.TempDir(), "licenses.db")
	newDatabase(t, db, 2)
	file := filepath.Join(filepath.Dir(db), "cus_1.json")
	out, err := run(t, "export-customer", db, "cus_1", file)
	is.NoErr(err)
	require.Contains(t, out, "wrote "+file)
	text, err := os.ReadFile(file)
	is.NoErr(err)
	var stored struct{ Licenses []struct{ Key string } }
	is.NoErr(json.Unmarshal(text, &stored))
	is.Equal(len(stored.Licenses), 2)
	is.True(stored.Licenses[0].Key != "")
	_, err = run(t, "export-customer", db, "cus_1", file)
	require.ErrorIs(t, err, os.ErrExist)
	for _, want := range []string{
		"licenses   2 deleted\nevents     5 blanked\npurchases  0 blanked\n", // created and deleted, and the export
		"licenses   0 deleted\nevents     0 blanked\npurchases  0 blanked\n",
	} {
		out, err := run(t, "erase-customer", db, "cus_1")
		is.NoErr(err)
		is.Equal(out, want)
	}
	is.Equal(licensesIn(t, db), 0)
}

// A mistyped name must not create a database.
func TestMissingDatabase(t *testing.T) {
	is := is.New(t)
	missing := filepath.Join(t.TempDir(), "none.db")
	for _, args := range [][]string{
		{"backup", missing, missing + ".copy"}, {"check", missing}, {"export", missing, missing + ".ndjson"},
		{"setup-code", missing}, {"create-operator", missing, "ada@example.com", "admin"}, {"reset-password", missing, "ada@example.com"},
		{"remove-second-factor", missing, "ada@example.com"},
		{"create-client", missing, "shop", "license:read"}, {"erase-customer", missing, "cus_1"}, {"create-keys", missing},
	} {
		_, err := run(t, args[0], args[1], args[2:]...)
		require.ErrorIs(t, err, os.ErrNotExist) // for each command
	}
	left, err := filepath.Glob(missing + "*")
	is.NoErr(err)
	is.Equal(len(left), 0)
}

// A wrong use is answered without the arguments, which may hold a password.
func TestUsage(t *testing.T) {
	is := is.New(t)
	const secret = "postgres://ada:hunter2@db/licenses"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "name a command first"},
		{[]string{"bakup"}, `there is no command "bakup"; licensekit help lists them`},
		{[]string{secret}, "licensekit help lists them"},
		{[]string{"backup", secret, "copy.db"}, "usage: licensekit backup [--config FILE | --store STORE] COPY"},
		{[]string{"backup", "--" + secret}, "see -help"},
		{[]string{"backup", "copy.db"}, "--store (LICENSEKIT_STORE): must be a SQLite file or a PostgreSQL database"},
		{[]string{"backup", "--store", "postgress" + secret, "copy.db"}, "without = and ://"},
		{[]string{"backup", "--store", "host=db password=hunter2", "copy.db"}, "without = and ://"},
	} {
		err := Run(t.Context(), "licensekit", OpenFile, tt.args, io.Discard, io.Discard)
		var wrong *settings.Error
		is.True(errors.As(err, &wrong)) // for each use
		require.Contains(t, err.Error(), tt.want)
		require.NotContains(t, err.Error(), "hunter2")
	}
	var help bytes.Buffer
	err := Run(t.Context(), "licensekit", OpenFile, []string{"backup", "-help"}, io.Discard, &help)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Contains(t, help.String(), "licensekit backup FLAGS COPY", "--store", "LICENSEKIT_MASTER_KEY_FILE")
}

// The environment has the flags that are not given.
func TestEnvironment(t *testing.T) {
	is := is.New(t)
	db := filepath.Join(t.TempDir(), "licenses.db")
	newDatabase(t, db, 1)
	check := func(args ...string) error {
		return Run(t.Context(), "licensekit", OpenFile, append([]string{"check"}, args...), io.Discard, io.Discard)
	}
	t.Setenv("LICENSEKIT_STORE", db)
	is.NoErr(check())
	require.ErrorIs(t, check("--store", db+".none"), os.ErrNotExist)
	t.Setenv("LICENSEKIT_STORE", "")
	require.Contains(t, check().Error(), "set and empty")
}

// Long work says how far it is.
func TestProgress(t *testing.T) {
	is := is.New(t)
	now := time.Unix(0, 0)
	var lines bytes.Buffer
	c := &call{progress: &lines, now: func() time.Time { return now }}
	p := newProgress(c, "imported", 40)
	r := p.reader(strings.NewReader(strings.Repeat("{\"a\":1}\n", 5)))
	for range 4 { // a line each
		now = now.Add(500 * time.Millisecond)
		_, err := io.ReadFull(r, make([]byte, 8))
		is.NoErr(err)
	}
	is.Equal(lines.String(), "imported 2 lines, 2 a second, 40 %, 2 s left\nimported 4 lines, 2 a second, 80 %, 0 s left\n")
}

// A command stops when its context ends.
func TestInterrupted(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	db := filepath.Join(dir, "licenses.db")
	newDatabase(t, db, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Run(ctx, "licensekit", OpenFile, []string{"export", "--store", db, filepath.Join(dir, "a.ndjson")}, io.Discard, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	left, err := filepath.Glob(filepath.Join(dir, "*.ndjson"))
	is.NoErr(err)
	is.Equal(len(left), 0)
}
