package payment

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestSignatures: each provider's event counts with the signature of one of its secrets, and
// not with another secret or body, a signature of an hour ago or ahead, or none.
func TestSignatures(t *testing.T) {
	const body = `{"type":"other","event_type":"other","object":"event","data":{"type":"other"}}`
	in := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).Unix()) }
	now, past, ahead := in(0), in(-6*time.Minute), in(6*time.Minute)
	standard := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	key, err := base64.StdEncoding.DecodeString(standard)
	is.New(t).NoErr(err)
	polar := func(key []byte, at string) func(h http.Header) {
		return func(h http.Header) {
			h.Set("Webhook-Id", "msg_1")
			h.Set("Webhook-Timestamp", at)
			h.Set("Webhook-Signature", "v1a,AAAA v1,!! v1,"+base64.StdEncoding.EncodeToString(sign(key, "msg_1.", at, ".", body)))
		}
	}
	set := func(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }
	paddle := func(secret, at string) func(http.Header) {
		return set("Paddle-Signature", "ts="+at+";h1="+hex.EncodeToString(sign([]byte(secret), at, ":", body))+";h1=00")
	}
	stripe := func(secret, at, version string) func(http.Header) {
		return set("Stripe-Signature", "t="+at+",v1=00,"+version+"="+hex.EncodeToString(sign([]byte(secret), at, ".", body)))
	}
	sales, secrets := selling.New(license.New(memory.New(), license.Options{})), []string{"old", "new"}
	for name, c := range map[string]struct {
		handler http.Handler
		header  func(http.Header)
		want    int
	}{
		"stripe":                 {Stripe{Key: "k", Secrets: secrets}.Handler(sales), stripe("new", now, "v1"), 200},
		"stripe, edges":          {Stripe{Key: "k", Secrets: secrets}.Handler(sales), stripe("old", in(-4*time.Minute), "v1"), 200},
		"stripe, late":           {Stripe{Key: "k", Secrets: secrets}.Handler(sales), stripe("new", past, "v1"), 400},
		"stripe, ahead":          {Stripe{Key: "k", Secrets: secrets}.Handler(sales), stripe("new", ahead, "v1"), 400},
		"stripe, other":          {Stripe{Key: "k", Secrets: secrets}.Handler(sales), stripe("other", now, "v1"), 400},
		"stripe, v0":             {Stripe{Key: "k", Secrets: secrets}.Handler(sales), stripe("new", now, "v0"), 400},
		"paddle":                 {Paddle{Key: "k", Secrets: secrets}.Handler(sales), paddle("old", now), 200},
		"paddle, late":           {Paddle{Key: "k", Secrets: secrets}.Handler(sales), paddle("old", past), 400},
		"paddle, ahead":          {Paddle{Key: "k", Secrets: secrets}.Handler(sales), paddle("old", ahead), 400},
		"paddle, other":          {Paddle{Key: "k", Secrets: secrets}.Handler(sales), paddle("", now), 400},
		"polar":                  {Polar{Secrets: secrets}.Handler(sales), polar([]byte("new"), now), 200},
		"polar, whole secret":    {Polar{Secrets: []string{"whsec_" + standard}}.Handler(sales), polar([]byte("whsec_"+standard), now), 200},
		"polar, standard":        {Polar{Secrets: []string{"whsec_" + standard}}.Handler(sales), polar(key, now), 200},
		"polar, empty standard":  {Polar{Secrets: []string{"whsec_"}}.Handler(sales), polar(nil, now), 400},
		"polar, late":            {Polar{Secrets: secrets}.Handler(sales), polar([]byte("new"), past), 400},
		"polar, other":           {Polar{Secrets: secrets}.Handler(sales), polar([]byte("newer"), now), 400},
		"lemonsqueezy":           {LemonSqueezy{Secrets: secrets}.Handler(sales), set("X-Signature", hex.EncodeToString(sign([]byte("new"), body))), 200},
		"lemonsqueezy, other":    {LemonSqueezy{Secrets: secrets}.Handler(sales), set("X-Signature", hex.EncodeToString(sign([]byte("none"), body))), 400},
		"lemonsqueezy, unsigned": {LemonSqueezy{Secrets: secrets}.Handler(sales), set("X-Signature", ""), 400},
		"unsigned":               {Polar{Secrets: secrets}.Handler(sales), func(http.Header) {}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			send := func(body string) int {
				r, w := httptest.NewRequest("POST", "/", strings.NewReader(body)), httptest.NewRecorder()
				c.header(r.Header)
				c.handler.ServeHTTP(w, r)
				return w.Code
			}
			is.Equal(send(body), c.want)
			is.Equal(send(body+" "), 400)
		})
	}
	large := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat(" ", maxBody+1)))
	w := httptest.NewRecorder()
	Polar{Secrets: secrets}.Handler(sales).ServeHTTP(w, large)
	is.New(t).Equal(w.Code, 400)
}

// TestAccountsAreChecked: no secret, an empty one, no key, or a meaning that there is not, is
// refused at start.
func TestAccountsAreChecked(t *testing.T) {
	secrets := []string{"a"}
	sales := selling.New(license.New(memory.New(), license.Options{}))
	for name, account := range map[string]interface {
		Validate() error
		Handler(*selling.Service) http.Handler
	}{
		"stripe without key": Stripe{Secrets: secrets}, "stripe without secret": Stripe{Key: "k"}, "polar": Polar{}, "lemonsqueezy": LemonSqueezy{Secrets: []string{"a", ""}},
		"paddle without key": Paddle{Secrets: secrets}, "paddle without secret": Paddle{Key: "k", Secrets: []string{""}},
		"meaning": Polar{Secrets: secrets, States: map[string]api.PurchaseState{"frozen": "pause"}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.True(account.Validate() != nil)
			defer func() { is.True(recover() != nil) }()
			account.Handler(sales)
		})
	}
	w := httptest.NewRecorder()
	Polar{Secrets: secrets}.Handler(sales).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	is.New(t).Equal(w.Code, http.StatusMethodNotAllowed)
}
