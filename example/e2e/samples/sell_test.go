package samples

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// newSeller returns a service, its URL, and the credentials of a shop.
func newSeller(t *testing.T) (h *licensing.Handler, url, client, secret string) {
	t.Helper()
	h = licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	shop, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "shop"})
	is.New(t).NoErr(err)
	return h, server.URL, shop.ID, secret
}

// TestSellWithCurl runs the commands of the guide, twice.
func TestSellWithCurl(t *testing.T) {
	is := is.New(t)
	guide, err := os.ReadFile("../../../licensing/docs/sell.md")
	is.NoErr(err)
	_, block, _ := strings.Cut(string(guide), "<!-- run: example/e2e/samples -->\n```sh\n")
	block, _, ok := strings.Cut(block, "```\n")
	is.True(ok)
	h, url, client, secret := newSeller(t)
	for range 2 {
		cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", block)
		cmd.Env = append(os.Environ(), "BASE="+url, "CLIENT="+client, "SECRET="+secret)
		out, err := cmd.CombinedOutput()
		is.NoErr(err)
		f, err := h.Selling().GetPurchase(t.Context(), "shop:1042:1")
		is.NoErr(err)
		require.Contains(t, string(out), f.License.Key)
		is.Equal([]any{*f.License.MaxActivations, f.License.Status}, []any{int64(10), api.LicenseExpired}) // refunded in the end
	}
}

// TestStripeSample: the sample gives a subscription and a checkout their licenses, refuses what
// is not signed, and lets Stripe repeat what it does not understand.
func TestStripeSample(t *testing.T) {
	is := is.New(t)
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("Node.js is needed: %v", err)
	}
	h, url, client, secret := newSeller(t)
	for _, id := range []string{"price_pro", "price_once"} {
		_, err := h.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: "atlas", Terms: api.Terms{MaxActivations: new(int64(1))}})
		is.NoErr(err)
	}
	a := fakestripe.New()
	a[fakestripe.Checkout]["payment_status"] = "paid"
	a[fakestripe.Checkout]["line_items"] = a[fakestripe.Checkout+"/line_items"] // as with expand
	account := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := a.RoundTrip(r)
		if err != nil {
			panic(err)
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = bufio.NewReader(resp.Body).WriteTo(w)
	}))
	defer account.Close()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "stripe.mjs", "0")
	cmd.Dir = filepath.FromSlash("../../../licensing/docs/samples")
	cmd.Env = append(os.Environ(), "LICENSE_SERVER="+url, "LICENSE_CLIENT="+client, "LICENSE_SECRET="+secret, "STRIPE_KEY="+fakestripe.Key, "STRIPE_SECRET=whsec_test", "STRIPE_SERVER="+account.URL)
	out, err := cmd.StdoutPipe()
	is.NoErr(err)
	is.NoErr(cmd.Start())
	defer cmd.Wait()
	defer cancel()
	line, err := bufio.NewReader(out).ReadString('\n')
	is.NoErr(err)
	port := strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
	post := func(body []byte, signature string) int {
		r, err := http.NewRequestWithContext(ctx, "POST", "http://127.0.0.1:"+port, bytes.NewReader(body))
		is.NoErr(err)
		r.Header.Set("Stripe-Signature", signature)
		resp, err := http.DefaultClient.Do(r)
		is.NoErr(err)
		resp.Body.Close()
		return resp.StatusCode
	}
	send := func(kind, id, secret string) int {
		body := a.Event(kind, id, stripe.APIVersion)
		return post(body, webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: time.Now()}).Header)
	}
	for _, signature := range []string{"", "t", "v1", "v1=" + strings.Repeat("z", 64), "v1=" + strings.Repeat("\xe9", 64)} {
		is.Equal(post([]byte("{}"), fmt.Sprintf("t=%d,%s", time.Now().Unix(), signature)), 400) // and the process continues
	}
	is.Equal(send("customer.subscription.updated", fakestripe.Subscription, "whsec_other"), 400)
	for reference, event := range map[string][2]string{
		"stripe:" + fakestripe.Item:                             {"customer.subscription.updated", fakestripe.Subscription},
		"stripe:" + fakestripe.Checkout + ":" + fakestripe.Line: {"checkout.session.completed", fakestripe.Checkout},
	} {
		is.Equal([]int{send(event[0], event[1], "whsec_test"), send(event[0], event[1], "whsec_test")}, []int{200, 200})
		f, err := h.Selling().GetPurchase(t.Context(), reference)
		is.NoErr(err)
		is.True(f.License != nil)
	}
	a[fakestripe.Subscription]["status"] = "hibernating"
	is.Equal(send("customer.subscription.updated", fakestripe.Subscription, "whsec_test"), 500)
}
