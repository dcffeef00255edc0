package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestReplay: the recorded payloads end in one license in any order.
func TestReplay(t *testing.T) {
	is := is.New(t)
	all, err := providers()
	is.NoErr(err)
	wants := map[string]string{
		"stripe":       "Ada Lovelace, plan price_pro, 15 activations,",
		"paddle":       "ada@customer.example, plan pri_pro, 10 activations, expired until 2026-03-12T00:00:00Z",
		"lemonsqueezy": "Ada Lovelace, plan 10, 5 activations,",
		"polar":        "Ada Lovelace, plan 0f1a2b3c-21b7-4a41-8bc3-ce909c0cfe24, 20 activations, expired until 2026-03-09T00:00:00Z",
	}
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			is := is.New(t)
			want := ""
			for range 100 {
				order := p.shuffled()
				got, err := p.replay(t.Context(), memory.New(), order)
				is.NoErr(err)
				if want == "" {
					want = got
				}
				if got != want {
					t.Fatalf("%v ends in\n%s\nand another order in\n%s", order, got, want)
				}
			}
			require.HasPrefix(t, want, wants[p.Name])
		})
	}
}

// TestStripe: the recorded events are those of the version of Stripe's API that its
// library is made for, and only what Stripe has signed is recorded.
func TestStripe(t *testing.T) {
	is := is.New(t)
	all, err := providers()
	is.NoErr(err)
	p := all[0]
	for _, payload := range p.payloads {
		var event stripe.Event
		is.NoErr(json.Unmarshal(payload, &event))
		is.Equal(event.APIVersion, stripe.APIVersion)
		var sub stripe.Subscription
		is.NoErr(json.Unmarshal(event.Data.Raw, &sub))
		item := sub.Items.Data[0]
		is.True(sub.Customer.ID != "")
		is.True(item.ID != "" && item.Price.ID != "" && item.Quantity > 0 && item.CurrentPeriodEnd > 0)
	}
	a, err := p.accounts()
	is.NoErr(err)
	sales, err := newSales(t.Context(), memory.New())
	is.NoErr(err)
	payload := p.payloads[1]
	for name, forge := range map[string]func(*http.Request){
		"unsigned":  func(r *http.Request) { r.Header.Del("Stripe-Signature") },
		"other key": func(r *http.Request) { r.Header.Set("Stripe-Signature", r.Header.Get("Stripe-Signature")+"0") },
		"other body": func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(strings.Replace(string(payload), "si_", "sj_", 1)))
		},
		"old": func(r *http.Request) {
			signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: payload, Secret: secret, Timestamp: time.Now().Add(-time.Hour)})
			r.Header.Set("Stripe-Signature", signed.Header)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := signed(t.Context(), "stripe", payload), httptest.NewRecorder()
			forge(r)
			a.ofStripe().Handler(sales).ServeHTTP(w, r)
			is := is.New(t)
			is.Equal(w.Code, http.StatusBadRequest)
			_, err := sales.GetPurchase(t.Context(), p.reference)
			require.ErrorIs(t, err, api.ErrNotFound)
		})
	}
	old := strings.Replace(string(payload), stripe.APIVersion, "2019-02-19", 1)
	is.Equal(a.deliver(t.Context(), sales, "stripe", []byte(old)).Code, http.StatusOK)
	f, err := sales.GetPurchase(t.Context(), p.reference)
	is.NoErr(err)
	is.True(f.License != nil)
}

func TestPage(t *testing.T) {
	is := is.New(t)
	for _, method := range []string{"GET", "POST"} {
		w := httptest.NewRecorder()
		serve(w, httptest.NewRequest(method, "/", nil))
		is.Equal(w.Code, 200)
		is.Equal(strings.Count(w.Body.String(), "the same"), 4)
	}
}
