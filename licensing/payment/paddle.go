package payment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// A Paddle is an account of Paddle Billing. Send its Handler the events transaction.completed,
// subscription.*, adjustment.created and adjustment.updated.
//
// Each event is a reason to read, as with [Stripe], so every instant is one of this clock. A
// subscription is paused while its newest paid transaction is charged back, until the next
// payment; transactions of 0 do not count. Paddle has no event of a chargeback that is lost.
// A warning changes nothing, and neither does the refund of one payment of a subscription.
//
// From Paddle's documentation: the signature, the fields, the states, and
// include=adjustments,customer of transactions. From memory: that adjustments in it have
// their items, and the filters of Sync. Not tried with a real account: try it once in the
// sandbox.
type Paddle struct {
	Key     string   // may read adjustments, customers, subscriptions and transactions
	Secrets []string // of the notification destination, pdl_ntfset_…; two while it is replaced

	States map[string]api.PurchaseState // the meanings of states that a later API has
	URL    string                       // default: https://api.paddle.com; that of the sandbox is https://sandbox-api.paddle.com
	Client *http.Client                 // default: one that waits 10 seconds
}

// The states of subscriptions, transactions and adjustments, and of what an adjustment says of
// an item. A credit leaves what was bought.
var (
	paddleStates = map[string]api.PurchaseState{
		"trialing": "active", "active": "active", "past_due": "active", "paused": "paused", "canceled": "ended",
	}
	paddleTransactions = map[string]api.PurchaseState{
		"completed": "active", "draft": "", "ready": "", "billed": "", "paid": "", "past_due": "", "canceled": "",
	}
	paddleAdjustments = map[string]api.PurchaseState{"approved": "active", "pending_approval": "", "rejected": "", "reversed": ""}
	paddleActions     = map[string]api.PurchaseState{
		"refund": "refunded", "chargeback": "paused", "chargeback_reverse": "active",
		"chargeback_warning": "", "chargeback_warning_reverse": "", "credit": "", "credit_reverse": "",
	}
)

// Validate returns an error if a secret is missing or a meaning in States is unknown.
func (p Paddle) Validate() error {
	err := validate("Paddle", p.Secrets, p.States)
	if p.Key == "" {
		err = errors.Join(errors.New("payment: Paddle.Key must be a key that may read subscriptions and transactions"), err)
	}
	return err
}

// Handler returns the handler of the notification destination. It panics if Validate returns
// an error.
func (p Paddle) Handler(sales *selling.Service) http.Handler {
	mustBe(p.Validate())
	verify := func(r *http.Request, body []byte, now time.Time) error {
		return timedSigned(p.Secrets, r.Header.Get("Paddle-Signature"), ";", "ts", "h1", ":", body, now)
	}
	return &webhook{provider: "paddle", sales: sales, verify: verify, apply: p.with(sales).event}
}

// RecordTransaction brings the licenses of a completed transaction up to date, also of the
// subscription that it pays for, and returns what was paid once. Call it on the page after the
// payment, with the transaction_id of the event checkout.completed of Paddle.js.
func (p Paddle) RecordTransaction(ctx context.Context, sales *selling.Service, id string) ([]*api.License, error) {
	return p.with(sales).recordTransaction(ctx, id)
}

// Sync brings all subscriptions that have not ended up to date, and the transactions of the
// last 7 days. It continues after an error, and returns all of them; it stops when ctx is done.
// Call it at start and every night.
func (p Paddle) Sync(ctx context.Context, sales *selling.Service) error {
	a := p.with(sales)
	return a.readAll(ctx, func(since time.Time, failed func(error)) {
		a.each(ctx, "/subscriptions", url.Values{"status": {"active,past_due,paused,trialing"}}, failed, a.recordSubscription)
		a.each(ctx, "/transactions", url.Values{"status": {"completed"}, "billed_at[GTE]": {since.UTC().Format(time.RFC3339)}}, failed, a.recordTransaction)
	})
}

// A paddleAccount reads an account and records what it has sold.
type paddleAccount struct{ account }

func (p Paddle) with(sales *selling.Service) paddleAccount {
	return paddleAccount{account{
		provider: "paddle", url: cmp.Or(p.URL, "https://api.paddle.com"), key: p.Key, client: p.Client,
		header: map[string]string{"Paddle-Version": "1"}, states: p.States, sales: sales, after: "after",
	}}
}

// event reads what an event is about.
func (a paddleAccount) event(ctx context.Context, body []byte) (about string, err error) {
	var e struct {
		Type string `json:"event_type"`
		Data struct {
			ID          string
			Transaction string `json:"transaction_id"` // of an adjustment
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return "", err
	}
	switch kind, name, _ := strings.Cut(e.Type, "."); {
	case kind == "subscription":
		about = e.Data.ID
		_, err = a.recordSubscription(ctx, about)
	case kind == "transaction" && name == "completed", kind == "adjustment":
		about = cmp.Or(e.Data.Transaction, e.Data.ID)
		_, err = a.recordTransaction(ctx, about)
	}
	return about, err
}

// read reads an entity of the account.
func (a paddleAccount) read(ctx context.Context, path, id string, query url.Values, entity any) error {
	return a.get(ctx, path+url.PathEscape(id), query, &struct{ Data any }{entity})
}
