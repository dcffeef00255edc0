package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
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

// An account answers requests to Stripe's API with its objects, which it has by their IDs.
// As in the API, an object names others by their IDs unless the request expands them, and
// the line items of a checkout are a list of their own, at its ID + "/line_items".
type account map[string]map[string]any

// newAccount returns the account of testdata/stripeaccount.json.
func newAccount() (a account, err error) {
	file, err := recorded.ReadFile("testdata/stripeaccount.json")
	if err == nil {
		err = json.Unmarshal(file, &a)
	}
	return a, err
}

// client returns a client of the account.
func (a account) client() *stripe.Client {
	return stripe.NewClient("sk_test", stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		HTTPClient:    &http.Client{Transport: a},
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})))
}

// event returns an event about the present state of an object.
func (a account) event(kind, id string) []byte {
	return encode(map[string]any{
		"id": "evt_" + kind, "object": "event", "api_version": stripe.APIVersion, "created": time.Now().Unix(), "type": kind,
		"livemode": false, "pending_webhooks": 1, "request": map[string]any{"id": nil, "idempotency_key": nil}, "data": map[string]any{"object": a[id]},
	})
}

func (a account) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	kind, id := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
	if session, ok := strings.CutPrefix(kind, "checkout/sessions/"); ok && id == "line_items" {
		id = session + id
	}
	found, status := any(map[string]any{"error": map[string]any{"type": "invalid_request_error"}}), http.StatusNotFound
	if of := map[string]string{"checkout/sessions": "checkout.session", "disputes": "dispute"}[path]; of != "" {
		list := []any{}
		for _, id := range slices.Sorted(maps.Keys(a)) {
			if a[id]["object"] == of && a[id]["payment_intent"] == r.URL.Query().Get("payment_intent") {
				list = append(list, a[id])
			}
		}
		found, status = map[string]any{"object": "list", "url": r.URL.Path, "has_more": false, "data": list}, http.StatusOK
	} else if object, ok := a[id]; ok && r.Method == http.MethodGet {
		for name, values := range r.URL.Query() {
			if strings.HasPrefix(name, "expand") {
				object = a.expand(object, strings.Split(values[0], "."))
			}
		}
		found, status = object, http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(encode(found))), Request: r}, nil
}

// expand returns an object with those of a path in the place of their IDs.
func (a account) expand(object map[string]any, path []string) map[string]any {
	id, ok := object[path[0]].(string)
	if !ok {
		return object
	}
	object = maps.Clone(object)
	expanded := a[id]
	if len(path) > 1 {
		expanded = a.expand(expanded, path[1:])
	}
	object[path[0]] = expanded
	return object
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of decoded JSON
	}
	return text
}
