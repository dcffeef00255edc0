//go:build unix

package main

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/process"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/internal/testing/smtpsink"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// asProgram makes the test binary be the program itself.
const asProgram = "LICENSEKIT_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program returns the program as a process with a part of the environment.
func program(t *testing.T, environment []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), environment...)
	cmd.WaitDelay = time.Minute
	return cmd
}

// output runs a command to its end.
func output(t *testing.T, environment []string, args ...string) string {
	t.Helper()
	out, err := program(t, environment, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestReadme runs the curl lines of the README against serve.
func TestReadme(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is needed")
	}
	is := is.New(t)
	readme, err := os.ReadFile("../../README.md")
	is.NoErr(err)
	_, session, found := strings.Cut(string(readme), "<!-- run -->\n```sh\n")
	is.True(found)
	session, _, _ = strings.Cut(session, "```")

	environment := []string{"LICENSEKIT_STORE=" + filepath.Join(t.TempDir(), "licenses.db"), "LICENSEKIT_ADDR=127.0.0.1:0"}
	p := process.Start(t, program(t, environment, "serve"), false)
	words := strings.Fields(output(t, environment, "create-client", "shop", "license:read,license:write"))
	values := map[string]string{"BASE": p.URL, "CLIENT_ID": words[1], "CLIENT_SECRET": words[3]}
	session = regexp.MustCompile(`(?m)^(BASE|CLIENT_ID|CLIENT_SECRET)=\S+`).ReplaceAllStringFunc(session, func(line string) string {
		variable, _, _ := strings.Cut(line, "=")
		return variable + "=" + values[variable]
	})
	out, err := exec.CommandContext(t.Context(), "sh", "-uc", session).CombinedOutput()
	is.NoErr(err)
	require.Contains(t, string(out), `{"valid":true,"code":"valid"`)
	require.NotContains(t, p.Log(), words[3])
}

// TestServe: systemd hears that the service is ready; a key is mailed, and a link that leads
// to the customer pages; metrics have the gauges of the alerts; the log names the command
// that creates a setup code, for which the dashboard asks.
func TestServe(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	key := filepath.Join(dir, "master.key")
	is.NoErr(os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))), 0o600))
	runtimeDir, err := os.MkdirTemp("", "lk") // a short path, for the socket
	is.NoErr(err)
	defer os.RemoveAll(runtimeDir)
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(runtimeDir, "s"), Net: "unixgram"})
	is.NoErr(err)
	defer systemd.Close()
	heard := func() string {
		is.NoErr(systemd.SetReadDeadline(time.Now().Add(30 * time.Second)))
		b := make([]byte, 100)
		n, err := systemd.Read(b)
		is.NoErr(err)
		return string(b[:n])
	}
	inbox := smtpsink.New(t)
	environment := []string{"LICENSEKIT_STORE=" + filepath.Join(dir, "licenses.db"), "LICENSEKIT_MASTER_KEY_FILE=" + key}
	p := process.Start(t, program(t, append(environment, "NOTIFY_SOCKET="+filepath.Join(runtimeDir, "s")), "serve", "--addr", "127.0.0.1:0",
		"--metrics-addr", "127.0.0.1:0", "--smtp-addr", inbox.Addr, "--smtp-from", "licenses@vendor.example", "--public-url", "http://licenses.example/licensing"), true)
	is.Equal(heard(), "READY=1")

	// A new subscriber begins with the events after its first run, which may be later.
	client := process.NewClient(t, p, output(t, environment, "create-client", "shop", "license:write"))
	sold := ""
	for range 60 {
		status, l, err := client.Sell(p, "ada@customer.example")
		sold = l.ID
		is.NoErr(err)
		is.Equal(status, http.StatusCreated)
		if inbox.Waiting() > 0 {
			break
		}
		time.Sleep(250 * time.Millisecond)
	}
	m, _ := inbox.Next(t)
	is.Equal(m.Header.Get("From"), "<licenses@vendor.example>")

	for origin, status := range map[string]int{"http://evil.example": http.StatusForbidden, "http://licenses.example": http.StatusOK} { // the Host is another one
		ask, err := http.NewRequestWithContext(t.Context(), "POST", strings.TrimSuffix(p.URL, "/licensing")+"/account/sign-in", strings.NewReader("email=ada@customer.example"))
		is.NoErr(err)
		ask.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		ask.Header.Set("Origin", origin)
		asked, err := http.DefaultClient.Do(ask)
		is.NoErr(err)
		asked.Body.Close()
		is.Equal(asked.StatusCode, status)
	}
	var token string
	for token == "" { // mails of keys may come first
		_, body := inbox.Next(t)
		if _, after, ok := strings.Cut(body, "http://licenses.example/account/link#"); ok {
			token = strings.Fields(after)[0]
		}
	}
	require.Contains(t, licensesOf(t, p, token), `<h2><a href="./lic_`)
	require.NotContains(t, p.Log(), token)
	linked, err := http.Post(p.URL+"/license/link", "application/json", strings.NewReader(`{"product_id": "atlas", "fingerprint": "pc-1"}`))
	is.NoErr(err)
	text, err := io.ReadAll(linked.Body)
	is.NoErr(err)
	linked.Body.Close()
	require.Contains(t, string(text), `"url":"http://licenses.example/account/licenses/link?code=`)

	p.Says(t, "licensekit setup-code")
	_, code, found := strings.Cut(output(t, environment, "setup-code"), "dashboard/setup#code=")
	is.True(found)
	resp, err := http.Get(p.URL + "/dashboard/")
	is.NoErr(err)
	resp.Body.Close()
	is.Equal(resp.Request.URL.Path, "/licensing/dashboard/setup")
	resp, err = http.Get(strings.TrimSuffix(p.URL, "/licensing") + "//licensing/oauth/token?client_secret=s")
	is.NoErr(err)
	resp.Body.Close()
	is.Equal(resp.StatusCode, http.StatusNotFound) // and not redirected

	checkDashboardMails(t, p, strings.Fields(code)[0], sold)
	for m, body := inbox.Next(t); m.Header.Get("To") != "<ada@customer.example>" || !strings.Contains(body, "/account/link#"); {
		m, body = inbox.Next(t)
	}

	require.Contains(t, scrape(t, p), "licensing_ready 1", "licensing_waiting_purchases 0", `licensing_build_info{version="(devel)"} 1`,
		`licensing_request_seconds_count{method="POST",route="/license",status="201"}`, `kind="subscriber",name="mail",outcome="succeeded"`)
	p.Signal(syscall.SIGTERM)
	is.Equal(heard(), "STOPPING=1")
	p.Wait(t)
}

// checkDashboardMails becomes the first operator with a setup code, and mails a link to the
// customer of a license. Before a key is replaced, the page says where it is mailed to.
func checkDashboardMails(t *testing.T, p *process.Process, code, licenseID string) {
	t.Helper()
	is := is.New(t)
	jar, err := cookiejar.New(nil)
	is.NoErr(err)
	browser := &http.Client{Jar: jar}
	read := func(resp *http.Response, err error) string {
		t.Helper()
		is.NoErr(err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		is.NoErr(err)
		is.Equal(resp.StatusCode, http.StatusOK)
		return strings.ReplaceAll(string(text), "<wbr>", "")
	}
	read(browser.PostForm(p.URL+"/dashboard/setup", url.Values{"code": {code}, "email": {"sue@vendor.example"}, "password": {"the ferry leaves before breakfast"}}))
	license := p.URL + "/dashboard/licenses/" + licenseID
	require.Contains(t, read(browser.Get(license)), "Mail a link")
	require.Contains(t, read(browser.Get(license+"/rekey")), "The key is mailed to ada@customer.example.")
	require.Contains(t, read(browser.PostForm(license+"/mail-link", url.Values{"address": {"ada@customer.example"}})), "A link was mailed to ada@customer.example.")
}

// TestTLS: serve speaks HTTPS and HTTP/2, and the metrics show a problem.
func TestTLS(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	example := httptest.NewUnstartedServer(http.NotFoundHandler()) // for its certificate and client
	example.EnableHTTP2 = true
	example.StartTLS()
	defer example.Close()
	key, err := x509.MarshalPKCS8PrivateKey(example.TLS.Certificates[0].PrivateKey)
	is.NoErr(err)
	environment := []string{"LICENSEKIT_STORE=" + filepath.Join(dir, "licenses.db")}
	for name, block := range map[string]*pem.Block{
		"CERT": {Type: "CERTIFICATE", Bytes: example.Certificate().Raw}, "KEY": {Type: "PRIVATE KEY", Bytes: key},
	} {
		file := filepath.Join(dir, name)
		is.NoErr(os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
		environment = append(environment, "LICENSEKIT_TLS_"+name+"="+file)
	}
	p := process.Start(t, program(t, environment, "serve", "--addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"), true)
	output(t, environment, "create-keys") // without a master key
	resp, err := example.Client().Get(p.URL + "/ready")
	is.NoErr(err)
	resp.Body.Close()
	is.Equal(resp.StatusCode, http.StatusOK)
	is.Equal(resp.ProtoMajor, 2)
	output(t, environment, "health", "--addr", strings.TrimSuffix(strings.TrimPrefix(p.URL, "https://"), mount)) // whatever name the certificate has
	require.Contains(t, scrape(t, p), `licensing_problem{code="secrets_unencrypted"`)
}

// licensesOf returns the customer page that the token of a link leads to.
func licensesOf(t *testing.T, p *process.Process, token string) string {
	t.Helper()
	is := is.New(t)
	jar, err := cookiejar.New(nil)
	is.NoErr(err)
	browser := &http.Client{Jar: jar}
	resp, err := browser.PostForm(strings.TrimSuffix(p.URL, "/licensing")+"/account/link", url.Values{"token": {token}})
	is.NoErr(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	return string(text)
}

// scrape returns the metrics.
func scrape(t *testing.T, p *process.Process) string {
	t.Helper()
	is := is.New(t)
	resp, err := http.Get(p.Metrics)
	is.NoErr(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	return string(text)
}

// TestStopUnderLoad stops serve while clients sell: each license in the store was
// acknowledged, and each that was acknowledged is in the store.
func TestStopUnderLoad(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "licenses.db")
	environment := []string{"LICENSEKIT_STORE=" + file}
	p := process.Start(t, program(t, environment, "serve", "--addr", "127.0.0.1:0"), false)
	load := process.NewLoad(process.NewClient(t, p, output(t, environment, "create-client", "shop", "license:write")), p)
	load.Sold()
	p.Signal(syscall.SIGTERM)
	sold := load.End()
	p.Wait(t)

	st, err := sqlite.Open(file)
	is.NoErr(err)
	defer st.Close()
	var stored []string
	for l, err := range license.New(st, license.Options{}).All(t.Context(), api.ListLicensesParams{}) {
		is.NoErr(err)
		stored = append(stored, l.ID)
	}
	slices.Sort(sold)
	slices.Sort(stored)
	is.Equal(len(stored), len(sold))
	is.True(slices.Equal(stored, sold))
	is.True(len(sold) >= 100)
}

// TestCommandsBesideServe: while the service runs in another process, checkpoint empties the log,
// so that the file has nothing of an erased customer, and health says whether it is ready.
func TestCommandsBesideServe(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "licenses.db")
	environment := []string{"LICENSEKIT_STORE=" + file}
	p := process.Start(t, program(t, environment, "serve", "--addr", "127.0.0.1:0", "--log-level", "debug"), false)
	client := process.NewClient(t, p, output(t, environment, "create-client", "shop", "license:write,customer:write"))
	status, _, err := client.Sell(p, "ada@erased.example")
	is.NoErr(err)
	is.Equal(status, http.StatusCreated)
	isStored := func() bool {
		all, err := os.ReadFile(file)
		is.NoErr(err)
		log, err := os.ReadFile(file + "-wal")
		is.NoErr(err)
		return bytes.Contains(append(all, log...), []byte("ada@erased.example"))
	}
	is.True(isStored())
	status, _, err = client.Do(p, "DELETE", "/customer/cus_1", "")
	is.NoErr(err)
	is.Equal(status, http.StatusOK)
	is.True(isStored())
	require.Contains(t, output(t, environment, "checkpoint"), "written back")
	is.True(!isStored())

	u, err := url.Parse(p.URL)
	is.NoErr(err)
	is.Equal(output(t, nil, "health", "--addr", ":"+u.Port()), "")
	p.Says(t, `"level":"DEBUG","msg":"licensing: request","method":"GET","route":"/ready"`)
	p.Kill()
	damaged := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer damaged.Close()
	for addr, want := range map[string]string{u.Host: "connection refused", strings.TrimPrefix(damaged.URL, "http://"): "not ready: 503"} {
		out, err := program(t, []string{"LICENSEKIT_ADDR=" + addr}, "health").CombinedOutput()
		var exit *exec.ExitError
		is.True(errors.As(err, &exit))
		is.Equal(exit.ExitCode(), 1)
		require.Contains(t, string(out), want)
	}
	require.Contains(t, output(t, nil, "version"), "licensekit ", runtime.Version())
}

// TestBadConfiguration: everything that is wrong is named at once, with its variable
// and without what it was set to.
func TestBadConfiguration(t *testing.T) {
	is := is.New(t)
	key := filepath.Join(t.TempDir(), "key")
	is.NoErr(os.WriteFile(key, []byte("c2hvcnQ="), 0o600))
	environment := []string{
		"LICENSEKIT_STORE=mysql://ada:hunter2@db/licenses", "LICENSEKIT_ADDR=here", "LICENSEKIT_PUBLIC_URL=licenses.example.com",
		"LICENSEKIT_MASTER_KEY_FILE=" + key, "LICENSEKIT_PREVIOUS_MASTER_KEYS_FILE=" + key + ".none", "LICENSEKIT_TRUSTED_PROXIES=proxy",
		"LICENSEKIT_TLS_CERT=" + key, "LICENSEKIT_METRICS_ADDR=", "LICENSEKIT_SMTP_ADDR=mail", "LICENSEKIT_SMTP_FROM=nobody", "LICENSEKIT_SMTP_USER=ada",
	}
	out, err := program(t, environment, "serve").CombinedOutput()
	var exit *exec.ExitError
	is.True(errors.As(err, &exit))
	is.Equal(exit.ExitCode(), 2)
	for _, setting := range environment {
		variable, _, _ := strings.Cut(setting, "=")
		require.Contains(t, string(out), "("+variable+")")
	}
	require.NotContains(t, string(out), "hunter2")
	require.NotContains(t, string(out), "c2hvcnQ=")

	for _, args := range [][]string{{"serve", "postgres://ada:hunter2@db/licenses"}, {"postgres://ada:hunter2@db/licenses"}, {"check", "--store", "postgres://ada:hunter2@db:port/licenses"}} {
		out, err := program(t, nil, args...).CombinedOutput()
		is.True(errors.As(err, &exit))
		is.Equal(exit.ExitCode(), 2)
		require.NotContains(t, string(out), "hunter2") // for each use
	}
	for _, query := range []string{"search_path=a,b", "search_path=$user", "search_path=%22$user%22,public", "search_path=%22a%22", "search_path=a%20b", "search_path=Licenses", "options=-csearch_path%3Da"} {
		out, err := program(t, nil, "check", "--store", "postgres://ada:hunter2@127.0.0.1:1/licenses?"+query).CombinedOutput()
		is.True(errors.As(err, &exit))
		is.Equal(exit.ExitCode(), 2)
		require.Contains(t, string(out), "must name one schema")
		require.NotContains(t, string(out), "hunter2")
	}
	out, err = program(t, nil, "check", "--store", key+".none").CombinedOutput()
	is.True(errors.As(err, &exit))
	is.Equal(exit.ExitCode(), 1) // nothing is wrong with the settings
	require.Contains(t, string(out), "no such file")
}

// TestHelp: the list of commands has all of them, and each has help.
func TestHelp(t *testing.T) {
	help := output(t, nil)
	commands := regexp.MustCompile(`(?m)^  ([a-z-]+) `).FindAllStringSubmatch(help, -1)
	is.New(t).Equal(len(commands), 23)
	require.Contains(t, output(t, nil, "serve", "-help"), "LICENSEKIT_TRUSTED_PROXIES", "LICENSEKIT_STORE")
}
