package payment

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// A LemonSqueezy is a store at Lemon Squeezy. Send its Handler the events order_created,
// order_refunded, subscription_created and subscription_updated. Lemon Squeezy repeats a
// failed event three times only, so call Sync every night.
//
// The instant of an event is that at which the object was last changed, updated_at, in events
// and in Sync alike: the clock of this service does not matter. It has whole seconds: of two
// events in one second, what is better for the customer counts. The item of the order is the
// reference, so an order that begins a subscription makes no second license. Customers have
// IDs such as lemonsqueezy:12345. The refund of the order of a subscription changes nothing:
// cancel the subscription, too. Lemon Squeezy reports no disputes of a subscription; an order
// that it calls fraudulent is paused.
//
// From Lemon Squeezy's documentation: the signature, the fields, the states, the filters of
// lists. From memory: the order of lists of Sync. Not tried with a real store: try it once in
// test mode.
type LemonSqueezy struct {
	Secrets []string // of the webhook; two while it is replaced
	Key     string   // an API key, for Sync and to tell the orders of subscriptions

	States map[string]api.PurchaseState // the meanings of states that a later API has
	URL    string                       // default: https://api.lemonsqueezy.com
	Client *http.Client                 // default: one that waits 10 seconds
}

// The states of subscriptions and orders. One that is canceled is valid until it ends.
var (
	lemonSqueezyStates = map[string]api.PurchaseState{
		"on_trial": "active", "active": "active", "past_due": "active", "cancelled": "active",
		"paused": "paused", "unpaid": "paused", "expired": "ended",
	}
	lemonSqueezyOrders = map[string]api.PurchaseState{
		"paid": "active", "partial_refund": "active", "refunded": "refunded", "fraudulent": "paused", "pending": "", "failed": "",
	}
)

// Validate returns an error if a secret is missing or a meaning in States is unknown.
func (l LemonSqueezy) Validate() error { return validate("LemonSqueezy", l.Secrets, l.States) }

// Handler returns the handler of the webhook. It panics if Validate returns an error.
func (l LemonSqueezy) Handler(sales *selling.Service) http.Handler {
	mustBe(l.Validate())
	return &webhook{provider: "lemonsqueezy", sales: sales, verify: l.verify, apply: l.with(sales).event}
}

// verify checks the X-Signature header, which has no time: an event can be repeated at any
// later time, and changes nothing then.
func (l LemonSqueezy) verify(r *http.Request, body []byte, _ time.Time) error {
	signature, err := hex.DecodeString(r.Header.Get("X-Signature"))
	if err != nil {
		return errSignature
	}
	return anySigned(l.Secrets, [][]byte{signature}, string(body))
}

// A lemonSqueezyAccount reads a store and records what it has sold.
type lemonSqueezyAccount struct{ account }

func (l LemonSqueezy) with(sales *selling.Service) lemonSqueezyAccount {
	return lemonSqueezyAccount{account{
		provider: "lemonsqueezy", url: cmp.Or(l.URL, "https://api.lemonsqueezy.com"), key: l.Key, client: l.Client,
		header: map[string]string{"Accept": "application/vnd.api+json"}, states: l.States, sales: sales,
	}}
}

// lemonSqueezyData is an order or a subscription.
type lemonSqueezyData struct {
	Type, ID string
	Is       struct {
		Customer   int64 `json:"customer_id"`
		Status     string
		Name       string           `json:"user_name"`
		Email      string           `json:"user_email"`
		Created    time.Time        `json:"created_at"`
		Updated    time.Time        `json:"updated_at"`
		Ordered    lemonSqueezyItem `json:"first_order_item"`
		Item       int64            `json:"order_item_id"` // from here on of a subscription
		Variant    int64            `json:"variant_id"`
		Subscribed lemonSqueezyItem `json:"first_subscription_item"`
		Renews     *time.Time       `json:"renews_at"`
		Ends       *time.Time       `json:"ends_at"` // of one that was canceled
	} `json:"attributes"`
}

type lemonSqueezyItem struct {
	ID       int64
	Variant  int64 `json:"variant_id"`
	Quantity *int64
}

func (a lemonSqueezyAccount) event(ctx context.Context, body []byte) (about string, err error) {
	var e struct{ Data lemonSqueezyData }
	if err := json.Unmarshal(body, &e); err != nil {
		return "", err
	}
	return e.Data.Type + "/" + e.Data.ID, a.record(ctx, e.Data)
}

// record brings the license of an order or a subscription up to date.
func (a lemonSqueezyAccount) record(ctx context.Context, data lemonSqueezyData) (err error) {
	is := data.Is
	p := a.of(api.RecordPurchaseParams{At: is.Updated, CustomerID: fmt.Sprint("lemonsqueezy:", is.Customer)}, is.Name, is.Email)
	switch data.Type {
	default:
		return nil // such as a payment of a subscription
	case "orders":
		p.Reference, p.PlanID, p.Quantity = fmt.Sprint("lemonsqueezy:", is.Ordered.ID), fmt.Sprint(is.Ordered.Variant), is.Ordered.Quantity
		p.State, err = a.state(lemonSqueezyOrders, "an order", is.Status)
	case "subscriptions":
		p.Reference, p.PlanID, p.Quantity = fmt.Sprint("lemonsqueezy:", is.Item), fmt.Sprint(is.Variant), is.Subscribed.Quantity
		p.Until = api.ToOptional(cmp.Or(is.Ends, is.Renews))
		p.State, err = a.state(lemonSqueezyStates, "a subscription", is.Status)
		p.Renews = renews(is.Status == "cancelled", p.State)
	}
	if err != nil || p.State == "" {
		return err
	}
	if is.Updated.IsZero() || is.Created.IsZero() {
		return errors.New("lemonsqueezy: " + data.Type + "/" + data.ID + " has no updated_at or no created_at")
	}
	if data.Type == "orders" {
		return a.recordOrder(ctx, data, p)
	}
	_, err = RecordItems(ctx, a.sales, p)
	return err
}

// recordOrder records an order. What it says of the item was true when it was created: a
// subscription that it began may have changed since. Its state is that of the purchase
// unless it began a subscription.
func (a lemonSqueezyAccount) recordOrder(ctx context.Context, data lemonSqueezyData, p api.RecordPurchaseParams) error {
	if p.State == api.PurchaseActive {
		created := p
		created.At = data.Is.Created
		if _, err := RecordItems(ctx, a.sales, created); err != nil {
			return err
		}
	}
	known, err := a.sales.GetPurchase(ctx, p.Reference)
	if err != nil && !errors.Is(err, api.ErrNotFound) {
		return err
	}
	if p.State == api.PurchaseActive && known.Fields["state"].Value != api.PurchasePaused {
		return nil
	}
	if began, err := a.beganSubscription(ctx, data, known); err != nil || began {
		return err
	}
	_, err = a.sales.RecordPurchase(ctx, api.RecordPurchaseParams{Reference: p.Reference, At: p.At, CustomerID: p.CustomerID, State: p.State})
	return err
}

// beganSubscription reports whether an order began a subscription: if its purchase has an end
// or, with a Key, if the store has such a subscription.
func (a lemonSqueezyAccount) beganSubscription(ctx context.Context, order lemonSqueezyData, known api.Purchase) (bool, error) {
	if known.Fields["until"].Value != nil || a.key == "" {
		return known.Fields["until"].Value != nil, nil
	}
	var list struct{ Data []struct{ ID string } }
	err := a.get(ctx, "/v1/subscriptions", url.Values{"filter[order_id]": {order.ID}}, &list)
	return len(list.Data) > 0, err
}

// Sync brings all subscriptions that have not ended up to date, and the orders of the last 7
// days. It continues after an error, and returns all of them; it stops when ctx is done. It
// returns an error without a Key. Call it at start and every night.
func (l LemonSqueezy) Sync(ctx context.Context, sales *selling.Service) error {
	a := l.with(sales)
	return a.readAll(ctx, func(since time.Time, failed func(error)) {
		a.recordAll(ctx, "subscriptions", since, failed) // first, so that an order finds its own
		a.recordAll(ctx, "orders", since, failed)
	})
}

// recordAll records the objects of a kind: of orders, those since an instant.
func (a lemonSqueezyAccount) recordAll(ctx context.Context, kind string, since time.Time, failed func(error)) {
	query := url.Values{"page[size]": {"100"}, "sort": {"-createdAt"}}
	for data, err := range numbered[lemonSqueezyData](ctx, a.account, "/v1/"+kind, "page[number]", query) {
		if err == nil && kind == "orders" && data.Is.Created.Before(since) {
			return
		}
		if err == nil && (kind == "orders" || a.follows(ctx, fmt.Sprint("lemonsqueezy:", data.Is.Item), lemonSqueezyStates[data.Is.Status])) {
			err = a.record(ctx, data)
		}
		failed(err)
	}
}
