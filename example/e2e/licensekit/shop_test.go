//go:build unix

package licensekit

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
	"github.com/seed-d8a106b4/licensekit/example/internal/process"
	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/internal/testing/smtpsink"
)

// An account is an account at Stripe, for several goroutines.
type account struct {
	mu sync.Mutex
	fakestripe.Account
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	resp, err := a.RoundTrip(r)
	if err != nil {
		panic(err)
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// change changes an object, and returns a signed event about it.
func (a *account) change(kind, id, field string, value any) *webhook.SignedPayload {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Account[id][field] = value
	body := a.Event(kind, id, "2019-02-19") // the version of an old account
	return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: "whsec_test", Timestamp: time.Now()})
}

// TestShopWithoutCode is a sale with the configuration file of the guide and no code: Stripe
// says that a checkout is paid, the customer gets the key by mail and activates license.py with
// it, and license.py is denied after the refund.
func TestShopWithoutCode(t *testing.T) {
	is := is.New(t)
	python := node.Python(t)
	dir, inbox, shop := t.TempDir(), smtpsink.New(t), &account{Account: fakestripe.New()}
	is.NoErr(os.CopyFS(dir, os.DirFS("../../../licensing/docs/samples")))
	provider := httptest.NewServer(shop)
	defer provider.Close()
	guide, err := os.ReadFile("../../../licensing/docs/deploy.md")
	is.NoErr(err)
	_, text, _ := strings.Cut(string(guide), "<!-- run: example/e2e/licensekit -->\n```json\n")
	text, _, found := strings.Cut(text, "```\n")
	is.True(found && strings.Count(text, "\n") <= 10)
	for was, now := range map[string]string{ // the servers, and no sign-in at that of the mails
		`"smtp.shop.example:587"`: `"` + inbox.Addr + `"`, `, "User": "keys", "Password": "env:SMTP_PASSWORD"`: "", `"Key": "file:stripe.key"`: `"Key": "file:stripe.key", "URL": "` + provider.URL + `"`,
	} {
		is.Equal(strings.Count(text, was), 1)
		text = strings.Replace(text, was, now, 1)
	}
	for name, content := range map[string]string{
		"licensekit.json": text, "stripe.key": fakestripe.Key, "stripe.secret": "whsec_test", "master.key": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)),
	} {
		is.NoErr(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	licensekit := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.WaitDelay = time.Minute
		return cmd
	}
	const config = "licensekit.json"
	p := process.Start(t, licensekit("serve", "--config", config, "--addr", "127.0.0.1:0"), false)
	setup, err := licensekit("setup-code", "--config", config).Output()
	is.NoErr(err)
	_, code, found := strings.Cut(string(setup), "  https://shop.example/licensing/dashboard/setup#code=")
	is.True(found)
	jar, err := cookiejar.New(nil)
	is.NoErr(err)
	browser := &http.Client{Jar: jar}
	resp, err := browser.PostForm(p.URL+"/dashboard/setup", url.Values{"code": {strings.TrimSpace(code)}, "email": {"ada@shop.example"}, "password": {"the ferry leaves before breakfast"}})
	is.NoErr(err)
	resp.Body.Close()
	resp, err = browser.Get(p.URL + "/dashboard/settings/about")
	is.NoErr(err)
	about, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	resp.Body.Close()
	require.Contains(t, string(about), "These values are set in licensekit.json, each by its path.")

	// What an operator does once in the dashboard. A new subscriber begins with the events
	// after its first run.
	created, err := licensekit("create-client", "--config", config, "shop", "license:write").Output()
	is.NoErr(err)
	client := process.NewClient(t, p, string(created))
	status, _, err := client.Do(p, "PUT", "/plan/price_once", `{"product_id":"atlas","name":"Atlas","max_activations":1}`)
	is.NoErr(err)
	is.Equal(status, http.StatusCreated)
	for n := 0; inbox.Waiting() == 0 && n < 60; n++ {
		_, _, err := client.Sell(p, "probe@customer.example")
		is.NoErr(err)
		time.Sleep(100 * time.Millisecond)
	}

	send := func(event *webhook.SignedPayload) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", strings.TrimSuffix(p.URL, "/licensing")+"/payments/stripe", bytes.NewReader(event.Payload))
		is.NoErr(err)
		r.Header.Set("Stripe-Signature", event.Header)
		resp, err := http.DefaultClient.Do(r)
		is.NoErr(err)
		resp.Body.Close()
		is.Equal(resp.StatusCode, http.StatusOK)
	}
	send(shop.change("checkout.session.completed", fakestripe.Checkout, "payment_status", "paid"))
	var mail string
	for !strings.Contains(mail, "Grace Hopper") { // those of probes come first
		m, body := inbox.Next(t)
		mail = m.Header.Get("Subject") + " " + m.Header.Get("To") + " " + body
	}
	require.Contains(t, mail, "Your license key for Atlas", "<Grace@customer.example>", "https://shop.example/account/licenses/", "Shop Ltd")
	key := regexp.MustCompile(`[0-9A-Z]{5}(-[0-9A-Z]{5}){4}`).FindString(mail)

	resp, err = http.Get(p.URL + "/file/keys")
	is.NoErr(err)
	keys, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	resp.Body.Close()
	is.NoErr(os.WriteFile(filepath.Join(dir, "keys.json"), keys, 0o600))
	run := func() string {
		cmd := exec.CommandContext(t.Context(), python, "license.py", "keys.json", "license.jws", "machine-1")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "LICENSE_SERVER="+p.URL, "LICENSE_KEY="+key)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	is.Equal(run(), "licensed to Grace Hopper: {}\n")
	send(shop.change("charge.refunded", fakestripe.Charge, "refunded", true))
	is.NoErr(os.Remove(filepath.Join(dir, "license.jws"))) // which is asked about again within the hour
	require.Contains(t, run(), "no license: ", "expired")
	require.NotContains(t, p.Log(), key, fakestripe.Key, "whsec_test")
	p.Signal(syscall.SIGTERM)
	p.Wait(t)
}
