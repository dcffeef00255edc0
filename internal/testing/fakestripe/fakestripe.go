// Package fakestripe is an account at Stripe for tests.
package fakestripe

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

//go:embed account.json
var recorded []byte

// An Account answers requests to Stripe's API with its objects, which it has by their IDs.
// As in the API, an object names others by their IDs unless the request expands them, the
// line items of a checkout are a list of their own, at its ID + "/line_items", and lists have
// pages: here of two objects.
type Account map[string]map[string]any

// The objects of [New], and what the account expects of a request.
const (
	Customer     = "cus_Na6dX7aXxi11N4"
	Subscription = "sub_1MowQVLkdIwHu7ixeRlqHVzs"
	Item         = "si_Na6dzxczY5fwHx" // of the subscription
	Checkout     = "cs_test_a1Enj0wV8xxJkPqQ"
	Line         = "li_1Q5Enj0wV8xxJkPq" // of the checkout
	Intent       = "pi_3Q5Enj0wV8xxJkPq"
	Charge       = "ch_3Q5Enj0wV8xxJkPq"
	Dispute      = "du_1Q5Enj0wV8xxJkPq"

	Key     = "rk_test_1"
	Version = "2026-03-25.dahlia"
)

// New returns an account with a customer, a subscription, and a checkout that was not paid
// yet.
func New() (a Account) {
	if err := json.Unmarshal(recorded, &a); err != nil {
		panic(err)
	}
	return a
}

// Client returns a client of the account.
func (a Account) Client() *http.Client { return &http.Client{Transport: a} }

// Event returns an event about the present state of an object, of an API version.
func (a Account) Event(kind, id, version string) []byte {
	return encode(map[string]any{
		"id": "evt_" + kind, "object": "event", "api_version": version, "created": time.Now().Unix(), "type": kind,
		"livemode": false, "pending_webhooks": 1, "request": map[string]any{"id": nil, "idempotency_key": nil}, "data": map[string]any{"object": a[id]},
	})
}

// Bill adds a paid invoice of the subscription, which a payment intent paid.
func (a Account) Bill(invoice, intent string, amount int64, created time.Time) {
	payment := map[string]any{
		"id": "inpay_" + invoice, "object": "invoice_payment", "amount_paid": amount, "amount_requested": amount, "created": created.Unix(), "currency": "eur",
		"invoice": invoice, "is_default": true, "livemode": false, "status": "paid",
		"payment": map[string]any{"type": "payment_intent", "payment_intent": intent}, "status_transitions": map[string]any{"canceled_at": nil, "paid_at": created.Unix()},
	}
	a["inpay_"+invoice] = payment
	a[invoice] = map[string]any{
		"id": invoice, "object": "invoice", "status": "paid", "amount_paid": amount, "created": created.Unix(), "customer": Customer,
		"subscription":       Subscription, // not a field since basil, but a filter of the list
		"parent":             map[string]any{"type": "subscription_details", "quote_details": nil, "subscription_details": map[string]any{"subscription": Subscription, "metadata": map[string]any{}}},
		"payments":           map[string]any{"object": "list", "has_more": false, "data": []any{payment}, "url": "/v1/invoice_payments"},
		"status_transitions": map[string]any{"finalized_at": created.Unix(), "marked_uncollectible_at": nil, "paid_at": created.Unix(), "voided_at": nil},
	}
}

// RoundTrip answers a request.
func (a Account) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	kind, id := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
	if session, ok := strings.CutPrefix(kind, "checkout/sessions/"); ok && id == "line_items" {
		id = session + id
	}
	invalid := any(map[string]any{"error": map[string]any{"type": "invalid_request_error"}})
	found, status := invalid, http.StatusNotFound
	lists := map[string]string{
		"checkout/sessions": "checkout.session", "disputes": "dispute", "invoices": "invoice", "invoice_payments": "invoice_payment",
		"subscriptions": "subscription", "subscription_items": "subscription_item",
	}
	if of := lists[path]; of != "" {
		found, status = a.list(of, r.URL.Path, r.URL.Query()), http.StatusOK
	} else if object, ok := a[id]; ok && r.Method == http.MethodGet {
		for _, path := range r.URL.Query()["expand[]"] {
			object = a.expand(object, strings.Split(path, "."))
		}
		if object["object"] == "list" {
			object = page(object["data"].([]any), r.URL.Path, r.URL.Query())
		}
		found, status = object, http.StatusOK
	}
	if r.Header.Get("Stripe-Version") != Version || r.Header.Get("Authorization") != "Bearer "+Key {
		found, status = invalid, http.StatusUnauthorized
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(encode(found))), Request: r}, nil
}

// list returns a page of the objects of a kind whose fields are those of a query, the newest
// first.
func (a Account) list(kind, path string, query url.Values) map[string]any {
	var found []any
	for _, id := range slices.Sorted(maps.Keys(a)) {
		if object := a[id]; object["object"] == kind && matches(object, query) {
			for _, path := range query["expand[]"] {
				object = a.expand(object, strings.Split(strings.TrimPrefix(path, "data."), "."))
			}
			found = append(found, object)
		}
	}
	slices.SortStableFunc(found, func(a, b any) int { return int(created(b) - created(a)) })
	return page(found, path, query)
}

func created(object any) int64 {
	switch at := object.(map[string]any)["created"].(type) {
	case float64:
		return int64(at)
	case int64:
		return at
	}
	return 0
}

// page returns the two objects of a list that follow the one that a query names.
func page(all []any, path string, query url.Values) map[string]any {
	after := func(object any) bool { return object.(map[string]any)["id"] == query.Get("starting_after") }
	rest := all[slices.IndexFunc(all, after)+1:]
	data := append([]any{}, rest[:min(len(rest), 2)]...)
	return map[string]any{"object": "list", "url": path, "has_more": len(rest) > 2, "data": data}
}

// matches reports whether the fields of an object are those of a query.
func matches(object map[string]any, query url.Values) bool {
	if object["object"] == "subscription" && query.Get("status") == "" && object["status"] == "canceled" {
		return false // as in the API
	}
	for name, values := range query {
		of := object
		switch name {
		case "limit", "starting_after", "expand[]", "payment[type]":
			continue
		case "created[gte]":
			if fmt.Sprint(created(object)) < values[0] {
				return false
			}
			continue
		case "payment[payment_intent]":
			of, name = object["payment"].(map[string]any), "payment_intent"
		}
		if of[name] != values[0] {
			return false
		}
	}
	return true
}

// expand returns an object with those of a path in the place of their IDs.
func (a Account) expand(object map[string]any, path []string) map[string]any {
	id, ok := object[path[0]].(string)
	if !ok { // null, or a list that is included
		return object
	}
	object = maps.Clone(object)
	expanded, ok := a[id]
	if !ok {
		panic("there is no " + id)
	}
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
