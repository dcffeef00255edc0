//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/process"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	shipped "github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A vendor has sold one license, and answers the requests of offices.
type vendor struct {
	t *testing.T
	*licensing.Handler
	license api.License
	keys    []byte // which the programs have
}

func newVendor(t *testing.T, now func() time.Time) *vendor {
	t.Helper()
	is := is.New(t)
	v := &vendor{t: t, Handler: licensing.NewHandler(memory.New(), licensing.Options{Now: now})}
	v.license = v.sell("Acme Ltd")
	pinned, err := v.Files().KeySet(t.Context())
	is.NoErr(err)
	v.keys, err = json.Marshal(pinned)
	is.NoErr(err)
	return v
}

func (v *vendor) sell(name string) api.License {
	v.t.Helper()
	l, err := v.Service().Create(v.t.Context(), api.CreateLicenseParams{
		Name: name, ProductID: "atlas", CustomerID: "cus_1", Terms: api.Terms{MaxActivations: new(int64(20)), Meters: map[string]api.Meter{"exports": {Limit: new(int64(3))}}},
	})
	is.New(v.t).NoErr(err)
	return l
}

// answer returns the answer to a request for seats of a license.
func (v *vendor) answer(l api.License, request string, lifetime api.Duration) string {
	v.t.Helper()
	is := is.New(v.t)
	f, err := v.Service().IssueFile(v.t.Context(), api.IssueFileParams{LicenseID: l.ID, Request: strings.TrimSpace(request), Lifetime: lifetime})
	is.NoErr(err)
	answer, err := v.Files().Sign(v.t.Context(), *f.FileClaims())
	is.NoErr(err)
	return answer
}

// open opens the license in a program on a machine, with the office at url.
func (v *vendor) open(url, machine string) api.Code {
	v.t.Helper()
	p, err := shipped.Open(shipped.Options{URL: url, Keys: v.keys, ProductID: "atlas", Key: v.license.Key, Fingerprint: machine, Dir: v.t.TempDir()})
	is.New(v.t).NoErr(err)
	defer p.Close()
	return p.Status().Code
}

// eventually waits until a program on a machine has a status.
func (v *vendor) eventually(url, machine string, want api.Code) {
	v.t.Helper()
	got := api.Code("")
	for range 60 {
		if got = v.open(url, machine); got == want {
			return
		}
		time.Sleep(250 * time.Millisecond)
	}
	v.t.Fatalf("%s: got %s, want %s", machine, got, want)
}

// use reports usage of two exports to the office at url.
func (v *vendor) use(url, id string, want int) {
	v.t.Helper()
	is := is.New(v.t)
	body := fmt.Sprintf(`{"key":%q,"usage":[{"meter":"exports","id":%q,"total":2}]}`, v.license.Key, id)
	res, err := http.Post(url+"/license/usage", "application/json", strings.NewReader(body))
	is.NoErr(err)
	res.Body.Close()
	is.Equal(res.StatusCode, want)
}

// used returns how many exports the vendor has counted.
func (v *vendor) used() int64 {
	v.t.Helper()
	usage, err := v.Metering().ListUsage(v.t.Context(), api.ListUsageParams{LicenseID: v.license.ID})
	is.New(v.t).NoErr(err)
	return usage.Data[0].Used
}

// TestOfficeCommand: the command prints a request and, with the answer of the vendor, lends
// the seats to programs that have the keys of the vendor. A new answer file has effect
// without a restart, and one that is bad has none.
func TestOfficeCommand(t *testing.T) {
	is, dir := is.New(t), t.TempDir()
	v := newVendor(t, nil)
	path := func(file string) string { return filepath.Join(dir, file) }
	is.NoErr(os.WriteFile(path("license"), []byte(v.license.Key+"\n"), 0o600))
	flags := []string{"office", "--office-key-file", path("key"), "--license-key-file", path("license")}
	ask := func(seats string) (answer string) {
		return v.answer(v.license, output(t, nil, append(flags, "--seats", seats)...), api.Duration{Days: 90})
	}
	tooMany, err := program(t, nil, append(flags, "--seats", "201")...).CombinedOutput()
	is.True(err != nil)
	require.Contains(t, string(tooMany), "must be a whole number from 1 to 200")
	require.Contains(t, output(t, nil, "office", "-help"), "the host:port to listen on; default: 127.0.0.1:8181")
	put := func(answer string) { is.NoErr(os.WriteFile(path("answer"), []byte(answer), 0o600)) }
	put(ask("1"))
	flags = append(flags, "--store", path("office.db"), "--answer-file", path("answer"), "--addr", "127.0.0.1:0")
	p := process.Start(t, program(t, nil, flags...), false)
	is.Equal(v.open(p.URL, "pc-1"), api.VerdictValid)
	is.Equal(v.open(p.URL, "pc-2"), api.VerdictActivationLimit)
	v.use(p.URL, "first", http.StatusOK)
	put(ask("2"))
	is.Equal(v.used(), int64(2))
	v.eventually(p.URL, "pc-2", api.VerdictValid)
	is.Equal(v.open(p.URL, "pc-3"), api.VerdictActivationLimit)

	third := ask("3")
	put("not an answer")
	p.Says(t, "the answer file was refused")
	is.Equal(v.open(p.URL, "pc-1"), api.VerdictValid)
	put(third)
	v.eventually(p.URL, "pc-3", api.VerdictValid)
	p.Signal(syscall.SIGTERM)
	p.Wait(t)
	require.NotContains(t, p.Log(), v.license.Key)
}

// A visitor is a browser at the setup page of an office.
type visitor struct {
	t    *testing.T
	http http.Client
	root string // the URL of the office
}

func newVisitor(t *testing.T, p *process.Process) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	is.New(t).NoErr(err)
	return &visitor{t, http.Client{Jar: jar}, strings.TrimSuffix(p.URL, mount)}
}

// post submits a form, and returns the page that it leads to and its path with the query.
func (v *visitor) post(path string, pairs ...string) (status int, page, at string) {
	v.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
		form.WriteField(pairs[i], pairs[i+1])
	}
	form.Close()
	kind, content := "application/x-www-form-urlencoded", io.Reader(strings.NewReader(values.Encode()))
	if strings.HasSuffix(path, "/answer") {
		kind, content = form.FormDataContentType(), &body
	}
	resp, err := v.http.Post(v.root+path, kind, content)
	return v.read(resp, err)
}

func (v *visitor) get(path string) (status int, page, at string) {
	v.t.Helper()
	resp, err := v.http.Get(v.root + path)
	return v.read(resp, err)
}

func (v *visitor) read(resp *http.Response, err error) (status int, page, at string) {
	v.t.Helper()
	is := is.New(v.t)
	is.NoErr(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	return resp.StatusCode, string(text), resp.Request.URL.RequestURI()
}

// requestIn returns the request that a page shows.
func requestIn(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`<code id="request-text">([^<]+)</code>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no request: %s", page)
	}
	return m[1]
}

const password = "seven brown horses at the lake"

// becomeAdmin creates the first admin of an office, and leads back to its page.
func (v *visitor) becomeAdmin(flags []string) {
	v.t.Helper()
	out := output(v.t, nil, "setup-code", "--store", flags[len(flags)-1])
	_, code, _ := strings.Cut(strings.TrimSpace(out), "#code=")
	status, _, at := v.post(mount+"/dashboard/setup", "code", code, "email", "ida@customer.example", "password", password, "return", "office")
	is.New(v.t).Equal([]any{status, at}, []any{http.StatusOK, officePage})
}

// TestOfficePage: an office that starts with nothing is set up on its page, by an admin, and
// renewed there with more seats without a restart. It starts again with what the page has
// written.
func TestOfficePage(t *testing.T) {
	is, dir := is.New(t), t.TempDir()
	v := newVendor(t, nil)
	path := func(file string) string { return filepath.Join(dir, file) }
	flags := []string{"office", "--office-key-file", path("key"), "--license-key-file", path("license"), "--answer-file", path("answer"), "--addr", "127.0.0.1:0", "--store", path("office.db")}
	p := process.Start(t, program(t, nil, flags...), false)
	is.Equal(v.open(p.URL, "pc-1"), shipped.CodeUnreachable)
	p.Says(t, "licensekit setup-code --store STORE")

	b := newVisitor(t, p)
	status, page, _ := b.get(mount + "/file/keys")
	is.Equal(status, http.StatusServiceUnavailable)
	require.Contains(t, page, `"code":"unavailable","detail":"The office has no license file yet.`)
	status, _, _ = b.get(mount + "/health")
	is.Equal(status, http.StatusOK)
	for _, at := range []string{"/", "/office/", officePage} {
		_, page, to := b.get(at)
		is.Equal(to, mount+"/dashboard/setup?return=office") // there is no operator yet
		require.NotContains(t, page, "License office")
	}
	_, _, to := b.post(officePage+"/request", "license_key", v.license.Key, "seats", "1")
	require.HasPrefix(t, to, mount+"/dashboard/se") // setup
	_, err := os.Stat(path("license"))
	is.True(os.IsNotExist(err))
	b.becomeAdmin(flags)

	status, page, to = b.get("/")
	is.Equal([]any{status, to}, []any{http.StatusOK, officePage})
	require.Contains(t, page, "1. Request seats")
	_, page, _ = b.get(mount + "/dashboard/licenses")
	require.Contains(t, page, `<a href="./office">`) // the office page
	_, page, _ = b.get("/")
	require.NotContains(t, page, "Install the answer")
	for _, seats := range []string{"", "0", "201", "x"} {
		status, page, _ = b.post(officePage+"/request", "license_key", v.license.Key, "seats", seats)
		is.Equal(status, http.StatusUnprocessableEntity)
		require.Contains(t, page, "The number of seats must be a whole number from 1 to 200.")
	}
	status, page, to = b.post(officePage+"/request", "license_key", v.license.Key, "seats", "1")
	is.Equal([]any{status, to}, []any{http.StatusOK, officePage + "?seats=1"})
	require.Contains(t, page, "•••• "+v.license.Key[len(v.license.Key)-4:], "2. Install the answer", "Request for 1 seat<", `aria-label="QR code of the request"`)
	require.NotContains(t, page, v.license.Key)
	request := requestIn(t, page)
	status, download, _ := b.get(officePage + "/request?seats=1")
	is.Equal([]any{status, download}, []any{http.StatusOK, request})

	status, page, _ = b.post(officePage+"/answer", "answer", "something else", "seats", "1")
	is.Equal(status, http.StatusUnprocessableEntity)
	require.Contains(t, page, "The answer is not a whole license file; copy it again.", "something else</textarea>", "Request for 1 seat<")
	is.Equal(v.open(p.URL, "pc-1"), shipped.CodeUnreachable)
	status, page, to = b.post(officePage+"/answer", "answer", v.answer(v.license, request, api.Duration{Days: 20}))
	is.Equal([]any{status, to}, []any{http.StatusOK, officePage + "?installed"})
	require.Contains(t, page, "The answer was installed.", "Acme Ltd", "0 of 1 seat in use", "No program uses a seat.")
	is.Equal(v.open(p.URL, "pc-1"), api.VerdictValid)
	is.Equal(v.open(p.URL, "pc-2"), api.VerdictActivationLimit)

	v.use(p.URL, "first", http.StatusOK)
	v.use(p.URL, "second", http.StatusConflict) // the limit of the vendor
	_, page, _ = b.post(officePage+"/request", "license_key", "other", "seats", "2")
	require.Contains(t, page, "1 of 1 seat in use", `<dt dir="auto">exports</dt><dd>2</dd>`, "Last seen", mount+"/dashboard/licenses/"+v.license.ID)
	status, _, _ = b.post(officePage+"/answer", "answer", v.answer(v.license, requestIn(t, page), api.Duration{Days: 90})+"\n")
	is.Equal(status, http.StatusOK)
	is.Equal(v.used(), int64(2))
	is.Equal(v.open(p.URL, "pc-2"), api.VerdictValid)
	is.Equal(v.open(p.URL, "pc-3"), api.VerdictActivationLimit)
	_, page, _ = b.get("/")
	require.Contains(t, page, "Back to the answer of ")
	status, page, to = b.post(officePage + "/back")
	is.Equal([]any{status, to}, []any{http.StatusOK, officePage + "?installed"})
	require.Contains(t, page, "of 1 seat in use")
	status, _, _ = b.post(officePage + "/back")
	is.Equal(status, http.StatusUnprocessableEntity)
	_, page, _ = b.post(officePage+"/request", "seats", "2")
	status, _, _ = b.post(officePage+"/answer", "answer", v.answer(v.license, requestIn(t, page), api.Duration{Days: 90})+"\n")
	is.Equal(status, http.StatusOK)

	for _, file := range []string{"key", "license", "answer"} {
		info, err := os.Stat(path(file))
		is.NoErr(err)
		is.Equal(info.Mode().Perm(), os.FileMode(0o600))
	}
	p.Signal(syscall.SIGTERM)
	p.Wait(t)
	require.NotContains(t, p.Log(), v.license.Key, request)
	p = process.Start(t, program(t, nil, flags...), false)
	is.Equal(v.open(p.URL, "pc-2"), api.VerdictValid)
	is.Equal(v.open(p.URL, "pc-3"), api.VerdictActivationLimit)
	b = newVisitor(t, p)
	_, _, to = b.get("/office/")
	is.Equal(to, mount+"/dashboard/sign-in?return=office")
	_, page, to = b.post(mount+"/dashboard/sign-in", "email", "ida@customer.example", "password", password, "return", "office")
	is.Equal(to, officePage)
	require.Contains(t, page, "2 of 2 seats in use")
}

// TestOfficePageAccess: the page is for admins, and refuses forms of other sites.
func TestOfficePageAccess(t *testing.T) {
	is, dir := is.New(t), t.TempDir()
	flags := []string{"office", "--office-key-file", filepath.Join(dir, "key"), "--license-key-file", filepath.Join(dir, "license"), "--addr", "127.0.0.1:0", "--store", filepath.Join(dir, "office.db")}
	p := process.Start(t, program(t, nil, flags...), false)
	ida := newVisitor(t, p)
	ida.becomeAdmin(flags)
	for _, role := range []string{"viewer", "support"} {
		code := output(t, nil, "create-operator", "--store", filepath.Join(dir, "office.db"), role+"@customer.example", role)
		b := newVisitor(t, p)
		status, _, at := b.post(mount+"/dashboard/join", "code", regexp.MustCompile(`code=(\S+)`).FindStringSubmatch(code)[1], "password", password)
		is.Equal([]any{status, at}, []any{http.StatusOK, mount + "/dashboard/"})
		status, page, _ := b.get(officePage)
		is.Equal(status, http.StatusForbidden)
		require.NotContains(t, page, "seats")
		status, _, _ = b.post(officePage+"/request", "license_key", "k", "seats", "1")
		is.Equal(status, http.StatusForbidden)
	}
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ida.root+officePage+"/request", strings.NewReader("license_key=k&seats=1"))
		is.NoErr(err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(header, value)
		resp, err := ida.http.Do(r)
		status, page, _ := ida.read(resp, err)
		is.Equal(status, http.StatusForbidden)
		require.Contains(t, page, "another site")
	}
	_, err := os.Stat(filepath.Join(dir, "license"))
	is.True(os.IsNotExist(err))
	for _, path := range []string{"/", "/x", "/answer"} {
		status, _, _ := ida.get(officePage + path)
		is.Equal(status, http.StatusNotFound)
	}
	resp, err := ida.http.Get(ida.root + officePage)
	is.NoErr(err)
	resp.Body.Close()
	is.Equal(resp.Header.Get("Cache-Control"), "no-store")
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'", "frame-ancestors 'none'", "form-action 'self'")
	require.NotContains(t, resp.Header.Get("Content-Security-Policy"), "unsafe")
}
