package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"
)

const stripeSecret = "whsec_test"

// signedByStripe returns a request with a payload, as Stripe signs it.
func signedByStripe(ctx context.Context, payload []byte) *http.Request {
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: payload, Secret: stripeSecret, Timestamp: time.Now()})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/stripe", bytes.NewReader(payload))
	if err != nil {
		panic(err) // of constants
	}
	r.Header.Set("Stripe-Signature", signed.Header)
	return r
}

// stripeAccount returns a client of Stripe's API whose account has the subscription as
// the last of the payloads says: a handler reads it after all changes.
func (p provider) stripeAccount() *stripe.Client {
	return stripe.NewClient("sk_test", stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		HTTPClient:    &http.Client{Transport: account(p.payloads[len(p.payloads)-1])},
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})))
}

// An account answers requests to Stripe's API with the subscription of an event.
type account json.RawMessage

func (a account) RoundTrip(r *http.Request) (*http.Response, error) {
	var event stripe.Event
	if err := json.Unmarshal(a, &event); err != nil {
		return nil, err
	}
	answer := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader([]byte(`{"error":{}}`))), Request: r}
	if sub, _ := event.Data.Object["id"].(string); r.Method == http.MethodGet && r.URL.Path == "/v1/subscriptions/"+sub {
		answer.StatusCode, answer.Body = http.StatusOK, io.NopCloser(bytes.NewReader(event.Data.Raw))
	}
	return answer, nil
}
