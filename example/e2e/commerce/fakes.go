package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/licensing/payment"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

const secret = "whsec_test"

// A paddleAccount answers requests to Paddle's API with the objects of the events that it has
// sent, by their IDs.
type paddleAccount map[string]map[string]any

// send keeps the object of an event, unless it has a newer one.
func (a paddleAccount) send(payload []byte) error {
	var event struct{ Data map[string]any }
	if err := json.Unmarshal(payload, &event); err != nil {
		return err
	}
	id := event.Data["id"].(string)
	if known := a[id]; known == nil || fmt.Sprint(known["updated_at"]) <= fmt.Sprint(event.Data["updated_at"]) {
		a[id] = event.Data
	}
	return nil
}

func (a paddleAccount) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Millisecond) // so that no two reads have the same instant
	file, err := recorded.ReadFile("testdata/paddlecustomer.json")
	var customer struct{ Data map[string]any }
	if err == nil {
		err = json.Unmarshal(file, &customer)
	}
	if err != nil {
		return nil, err
	}
	kind, id := path.Base(path.Dir(r.URL.Path)), path.Base(r.URL.Path)
	found, status := any(customer.Data), http.StatusOK
	switch {
	case id == "transactions": // of a subscription
		found = []any{}
	case kind == "transactions" && a[id] != nil:
		adjustments := []any{}
		for _, object := range a {
			if object["transaction_id"] == id {
				adjustments = append(adjustments, object)
			}
		}
		a[id]["adjustments"], a[id]["customer"] = adjustments, customer.Data
		found = a[id]
	case kind == "subscriptions" && a[id] != nil:
		found = a[id]
	case kind == "subscriptions": // that of the order
		found = map[string]any{"id": id, "status": "active", "customer_id": customer.Data["id"], "items": []any{}}
	case kind != "customers":
		status = http.StatusNotFound
	}
	body, err := json.Marshal(map[string]any{"data": found, "meta": map[string]any{"request_id": "fa176777-4bca-49ec-aa1e-f53885333cb7"}})
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

func mac(text string) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(text))
	return h.Sum(nil)
}

// signed returns a request with an event, as a provider signs it; that of Stripe is signed by
// its own library.
func signed(ctx context.Context, provider string, body []byte) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/payments/"+provider, bytes.NewReader(body))
	now := time.Now()
	at := fmt.Sprint(now.Unix())
	switch provider {
	case "stripe":
		r.Header.Set("Stripe-Signature", webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: now}).Header)
	case "paddle":
		r.Header.Set("Paddle-Signature", "ts="+at+";h1="+hex.EncodeToString(mac(at+":"+string(body))))
	case "lemonsqueezy":
		r.Header.Set("X-Signature", hex.EncodeToString(mac(string(body))))
	case "polar":
		r.Header.Set("Webhook-Id", "msg_1")
		r.Header.Set("Webhook-Timestamp", at)
		r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac("msg_1."+at+"."+string(body))))
	}
	return r
}

// accounts are the accounts at the providers whose events only are reasons to read.
type accounts struct {
	stripe fakestripe.Account
	paddle paddleAccount
}

func (a accounts) ofStripe() payment.Stripe {
	return payment.Stripe{Key: fakestripe.Key, Secrets: []string{secret}, Client: a.stripe.Client()}
}

// happen makes an account what an event says, if the provider is one that is read.
func (a accounts) happen(provider string, payload []byte) error {
	if provider != "paddle" {
		return nil
	}
	return a.paddle.send(payload)
}

// deliver delivers an event to the handler of its provider.
func (a accounts) deliver(ctx context.Context, sales *selling.Service, provider string, body []byte) *httptest.ResponseRecorder {
	secrets := []string{secret}
	h := map[string]interface {
		Handler(*selling.Service) http.Handler
	}{
		"stripe": a.ofStripe(), "paddle": payment.Paddle{Key: "pdl_test", Secrets: secrets, Client: &http.Client{Transport: a.paddle}},
		"lemonsqueezy": payment.LemonSqueezy{Secrets: secrets}, "polar": payment.Polar{Secrets: secrets},
	}[provider].Handler(sales)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, signed(ctx, provider, body))
	return w
}
