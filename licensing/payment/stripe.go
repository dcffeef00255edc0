package payment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// stripeVersion is that of the API whose objects this package reads. The version of the
// account and that of the webhook do not matter: an event is only a reason to read.
const stripeVersion = "2026-03-25.dahlia"

// A Stripe is an account of Stripe. Send its Handler the events checkout.session.completed,
// checkout.session.async_payment_succeeded, customer.subscription.*, invoice.paid,
// charge.refunded and charge.dispute.*.
//
// Each event is a reason to read: whatever its API version and its order, the account as it
// is now counts. A subscription is paused while its newest payment is disputed and after
// that dispute was lost, until the next payment; payments of 0 do not count.
// pause_collection leaves a subscription active. A refund of one payment of a subscription
// changes nothing; of what was paid once, a refund of the whole ends it.
//
// From Stripe's documentation and its library: the fields, the states, and that
// invoice_payments lead from a payment to its invoice. Not tried with a real account: try it
// once in test mode.
type Stripe struct {
	// Key is a restricted key that may read checkout sessions, subscriptions, customers,
	// invoices, payment intents, charges and disputes.
	Key     string
	Secrets []string // of the webhook, whsec_…; two while it is rolled

	// CustomerKey is the name of the metadata that has the ID of the customer's account at
	// your site: of a checkout session (metadata) and of its subscription
	// (subscription_data.metadata). Set both, on your server only: client_reference_id is not
	// read, because visitors can change it in the URL of a payment link. Default: the ID of
	// the customer at Stripe and, of a guest, "mail:" and the address.
	CustomerKey string

	// PortalURL is the address of the customer pages, which Thanks links to. Empty: no link.
	PortalURL string
	// ClientIP is that of licensing.Options, for the limit of Thanks. Default: the address
	// of the connection.
	ClientIP func(*http.Request) netip.Addr

	States map[string]api.PurchaseState // the meanings of states that a later API has
	URL    string                       // default: https://api.stripe.com
	Client *http.Client                 // default: one that waits 10 seconds
}

// The states of subscriptions, disputes, checkout sessions and their payments. A subscription
// that is incomplete has not been paid for yet, and a warning has not moved money.
var (
	stripeStates = map[string]api.PurchaseState{
		"trialing": "active", "active": "active", "past_due": "active", "unpaid": "paused", "paused": "paused",
		"canceled": "ended", "incomplete_expired": "ended", "incomplete": "",
	}
	stripeDisputes = map[string]api.PurchaseState{
		"needs_response": "paused", "under_review": "paused", "lost": "refunded", "won": "active", "prevented": "active",
		"warning_needs_response": "active", "warning_under_review": "active", "warning_closed": "active",
	}
	stripeSessions = map[string]api.PurchaseState{"complete": "active", "open": "", "expired": ""}
	stripePayments = map[string]api.PurchaseState{"paid": "active", "no_payment_required": "active", "unpaid": ""} // a bank debit takes days
)

// Validate returns an error if a secret is missing or a meaning in States is unknown.
func (s Stripe) Validate() error {
	err := validate("Stripe", s.Secrets, s.States)
	if s.Key == "" {
		err = errors.Join(errors.New("payment: Stripe.Key must be a key that may read checkout sessions and subscriptions"), err)
	}
	return err
}

// Handler returns the handler of the webhook. It panics if Validate returns an error.
func (s Stripe) Handler(sales *selling.Service) http.Handler {
	mustBe(s.Validate())
	verify := func(r *http.Request, body []byte, now time.Time) error {
		return timedSigned(s.Secrets, r.Header.Get("Stripe-Signature"), ",", "t", "v1", ".", body, now) // v0 is of test events only
	}
	return &webhook{provider: "stripe", sales: sales, verify: verify, apply: s.with(sales).event}
}

// RecordCheckout brings the licenses of a checkout session up to date, also of a payment
// link, and returns them: none before it is paid. Call it on a page after the payment of your
// own, in whose URL Stripe replaces {CHECKOUT_SESSION_ID}.
func (s Stripe) RecordCheckout(ctx context.Context, sales *selling.Service, id string) ([]*api.License, error) {
	return s.with(sales).recordCheckout(ctx, id)
}

// Sync brings all subscriptions that have not ended up to date, and the checkouts of the last
// 7 days, in three to six requests each. It continues after an error, and returns all of them;
// it stops when ctx is done. Call it at start and every night.
func (s Stripe) Sync(ctx context.Context, sales *selling.Service) error {
	a := s.with(sales)
	return a.readAll(ctx, func(since time.Time, failed func(error)) {
		a.each(ctx, "/v1/subscriptions", url.Values{"limit": {"100"}}, failed, a.recordSubscription)
		a.each(ctx, "/v1/checkout/sessions", url.Values{"limit": {"100"}, "status": {"complete"}, "created[gte]": {fmt.Sprint(since.Unix())}}, failed, a.recordCheckout)
	})
}

// A stripeAccount reads an account and records what it has sold.
type stripeAccount struct {
	account
	customerKey string
}

func (s Stripe) with(sales *selling.Service) stripeAccount {
	return stripeAccount{account{
		provider: "stripe", url: cmp.Or(s.URL, "https://api.stripe.com"), key: s.Key, client: s.Client,
		header: map[string]string{"Stripe-Version": stripeVersion}, states: s.States, sales: sales, after: "starting_after",
	}, s.CustomerKey}
}

// event reads what an event is about.
func (a stripeAccount) event(ctx context.Context, body []byte) (about string, err error) {
	var e struct {
		Object, Type string
		Data         struct {
			Object struct {
				ID      string
				Payment string `json:"payment_intent"`
			}
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return "", err
	}
	if e.Object != "event" {
		return "", fmt.Errorf("stripe: %q is not an event with a snapshot; create the webhook with the payload style snapshot", e.Object)
	}
	id := e.Data.Object.ID
	switch {
	case strings.HasPrefix(e.Type, "checkout.session."):
		_, err = a.recordCheckout(ctx, id)
	case strings.HasPrefix(e.Type, "customer.subscription."):
		_, err = a.recordSubscription(ctx, id)
	case e.Type == "invoice.paid":
		err = a.recordInvoice(ctx, id)
	case e.Type == "charge.refunded", strings.HasPrefix(e.Type, "charge.dispute."):
		id = e.Data.Object.Payment // empty: of no checkout and no subscription
		err = a.recordPayment(ctx, id)
	default:
		return "", nil
	}
	return id, err
}
