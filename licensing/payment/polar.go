package payment

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// A Polar is an organization at Polar. Send its Handler the events order.paid, order.refunded
// and subscription.*.
//
// Polar sends an event only after the one before it has succeeded, and turns a webhook off
// after ten failures in a row; every later sale would be lost. So with a Key, the Handler
// answers 200 to an event that it cannot apply, Handler.Health of package licensing has
// payment_failing, and Sync reads that object again: call it at start and every hour. Without
// a Key, the answer is 500, except to what can never succeed.
//
// The instant of an event is that at which the object was last changed, modified_at, in
// events and in Sync alike: the clock of this service does not matter. Orders of a
// subscription change nothing, and neither does their refund: cancel the subscription, too.
// Polar reports no disputes of a subscription.
//
// From Polar's documentation and issues: the signatures, the order of events, the fields and
// states. From memory: the paths and the order of lists of Sync. Not tried with a real
// organization: try it once in the sandbox.
type Polar struct {
	Secrets []string // of the webhook; two while it is replaced
	Key     string   // an organization access token that may read subscriptions and orders

	States map[string]api.PurchaseState // the meanings of states that a later API has
	URL    string                       // default: https://api.polar.sh; that of the sandbox is https://sandbox-api.polar.sh
	Client *http.Client                 // default: one that waits 10 seconds
}

// The states of subscriptions and orders.
var (
	polarStates = map[string]api.PurchaseState{
		"trialing": "active", "active": "active", "past_due": "active", "unpaid": "paused", "paused": "paused",
		"canceled": "ended", "incomplete_expired": "ended", "incomplete": "",
	}
	polarOrders = map[string]api.PurchaseState{
		"paid": "active", "partially_refunded": "active", "refunded": "refunded", "pending": "", "draft": "", "void": "",
	}
)

// Validate returns an error if a secret is missing or a meaning in States is unknown.
func (p Polar) Validate() error { return validate("Polar", p.Secrets, p.States) }

// Handler returns the handler of the webhook. It panics if Validate returns an error.
func (p Polar) Handler(sales *selling.Service) http.Handler {
	mustBe(p.Validate())
	return &webhook{provider: "polar", sales: sales, verify: p.verify, apply: p.with(sales).event,
		accepts: func(err error) bool { return p.Key != "" || isRefused(err) }}
}

// verify checks the signature of the Standard Webhooks specification.
func (p Polar) verify(r *http.Request, body []byte, now time.Time) error {
	at := r.Header.Get("Webhook-Timestamp")
	if err := onTime(at, now); err != nil {
		return err
	}
	var signatures [][]byte
	for word := range strings.FieldsSeq(r.Header.Get("Webhook-Signature")) {
		if text, ok := strings.CutPrefix(word, "v1,"); ok {
			if signature, err := base64.StdEncoding.DecodeString(text); err == nil {
				signatures = append(signatures, signature)
			}
		}
	}
	return anySigned(p.keys(), signatures, r.Header.Get("Webhook-Id"), ".", at, ".", string(body))
}

// keys returns the keys of the secrets. Polar signs with the bytes of the whole secret if it
// was created before 8 September 2026, and as the specification says after that.
func (p Polar) keys() []string {
	keys := slices.Clone(p.Secrets)
	for _, secret := range p.Secrets {
		if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
			if key, err := base64.StdEncoding.DecodeString(text); err == nil && len(key) > 0 {
				keys = append(keys, string(key))
			}
		}
	}
	return keys
}

// A polarAccount reads an organization and records what it has sold.
type polarAccount struct{ account }

func (p Polar) with(sales *selling.Service) polarAccount {
	return polarAccount{account{provider: "polar", url: cmp.Or(p.URL, "https://api.polar.sh"), key: p.Key, client: p.Client, states: p.States, sales: sales}}
}

// A polarObject is an order or a subscription.
type polarObject struct {
	ID, Status   string
	CustomerID   string     `json:"customer_id"`
	Product      string     `json:"product_id"`
	Subscription string     `json:"subscription_id"` // of an order
	Seats        *int64     // null: not sold by the seat
	Units        *int64     // null: not sold by the unit
	End          *time.Time `json:"current_period_end"` // of a subscription
	CancelsEnd   bool       `json:"cancel_at_period_end"`
	Created      time.Time  `json:"created_at"`
	Modified     time.Time  `json:"modified_at"` // null: not since it was created
	Customer     struct{ Name, Email string }
}

func (a polarAccount) event(ctx context.Context, body []byte) (about string, err error) {
	var e struct {
		Type string
		Data json.RawMessage
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return "", err
	}
	kind, _, _ := strings.Cut(e.Type, ".")
	if kind != "subscription" && kind != "order" {
		return "", nil
	}
	var is polarObject
	if err := json.Unmarshal(e.Data, &is); err != nil {
		return "", err
	}
	return kind + "s/" + is.ID, a.record(ctx, kind, is)
}

// record brings the license of an order or a subscription up to date.
func (a polarAccount) record(ctx context.Context, kind string, is polarObject) error {
	if kind == "order" && is.Subscription != "" {
		return nil // a payment of a subscription
	}
	states := map[string]map[string]api.PurchaseState{"order": polarOrders, "subscription": polarStates}[kind]
	state, err := a.state(states, "a "+kind, is.Status)
	if err != nil || state == "" {
		return err
	}
	at := cmp.Or(is.Modified, is.Created)
	if at.IsZero() {
		return errors.New("polar: the " + kind + " " + is.ID + " has neither modified_at nor created_at")
	}
	p := a.of(api.RecordPurchaseParams{
		Reference: "polar:" + is.ID, At: at, CustomerID: is.CustomerID, PlanID: is.Product, Quantity: cmp.Or(is.Units, is.Seats), State: state,
	}, is.Customer.Name, is.Customer.Email)
	if kind == "subscription" {
		p.Until, p.Renews = api.ToOptional(is.End), renews(is.CancelsEnd, state)
	}
	_, err = RecordItems(ctx, a.sales, p)
	return err
}

// Sync brings up to date the objects about which an event has failed, all subscriptions that
// have not ended, and the orders of the last 7 days. It continues after an error, and returns
// all of them; it stops when ctx is done. It returns an error without a Key. Call it at start
// and every hour.
func (p Polar) Sync(ctx context.Context, sales *selling.Service) error {
	a := p.with(sales)
	return a.readAll(ctx, func(since time.Time, failed func(error)) {
		payments := inner.Of(sales).Payments()
		for _, about := range payments.About("polar") {
			kind, _, ok := strings.Cut(about, "s/")
			if !ok {
				continue // an event that could not be read
			}
			var is polarObject
			err := a.get(ctx, "/v1/"+about, nil, &is)
			if err == nil {
				err = a.record(ctx, kind, is)
			}
			if err == nil {
				payments.Passed("polar", about)
			}
			failed(err)
		}
		a.recordAll(ctx, "subscription", "-started_at", since, failed)
		a.recordAll(ctx, "order", "-created_at", since, failed)
	})
}

// recordAll records the objects of a kind: of orders, those since an instant.
func (a polarAccount) recordAll(ctx context.Context, kind, sorting string, since time.Time, failed func(error)) {
	for is, err := range numbered[polarObject](ctx, a.account, "/v1/"+kind+"s/", "page", url.Values{"limit": {"100"}, "sorting": {sorting}}) {
		if err == nil && kind == "order" && is.Created.Before(since) {
			return
		}
		if err == nil && (kind == "order" || a.follows(ctx, "polar:"+is.ID, polarStates[is.Status])) {
			err = a.record(ctx, kind, is)
		}
		failed(err)
	}
}

// follows reports whether Sync records a subscription: one that has ended, only if it was
// recorded before.
func (a account) follows(ctx context.Context, reference string, known api.PurchaseState) bool {
	if known != api.PurchaseEnded {
		return true
	}
	_, err := a.sales.GetPurchase(ctx, reference)
	return !errors.Is(err, api.ErrNotFound)
}
