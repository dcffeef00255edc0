package payment

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

type stripeSession struct {
	objectID
	Status       string
	Created      int64
	Payment      string        `json:"payment_status"`
	Intent       string        `json:"payment_intent"`
	Invoice      stripeInvoice // expanded; null: there is none
	Subscription struct {      // expanded; null: there is none
		ID       string
		Metadata map[string]string
	}
	Customer string
	By       stripeCustomer `json:"customer_details"`
	Metadata map[string]string
}

// readSession reads a checkout session.
func (a stripeAccount) readSession(ctx context.Context, id string) (session stripeSession, err error) {
	query := url.Values{"expand[]": {"invoice.payments", "subscription"}}
	err = a.get(ctx, "/v1/checkout/sessions/"+url.PathEscape(id), query, &session)
	return session, err
}

// paidAt returns when a session was completed, or at the latest known instant before.
func (s stripeSession) paidAt() time.Time {
	return time.Unix(max(s.Created, s.Invoice.Transitions.PaidAt), 0)
}

// recordCheckout brings the licenses of a checkout session up to date, and returns them.
func (a stripeAccount) recordCheckout(ctx context.Context, id string) ([]*api.License, error) {
	at := a.now() // before the session is read
	session, err := a.readSession(ctx, id)
	if err != nil {
		return nil, err
	}
	return a.recordSession(ctx, session, at)
}

// recordSession records what a session has sold: a subscription, and what else was in the
// cart.
func (a stripeAccount) recordSession(ctx context.Context, session stripeSession, at time.Time) (all []*api.License, err error) {
	complete, err := a.state(stripeSessions, "a checkout session", session.Status)
	if err != nil || complete == "" {
		return nil, err
	}
	paid, err := a.state(stripePayments, "the payment of a checkout session", session.Payment)
	if err != nil || paid == "" {
		return nil, err
	}
	var failed error // of the subscription; what was paid once is sold all the same
	if session.Subscription.ID != "" {
		all, failed = a.recordSubscription(ctx, session.Subscription.ID)
	}
	path := "/v1/checkout/sessions/" + url.PathEscape(session.ID) + "/line_items"
	lines, err := allOf(ctx, a.account, page[stripeItem]{More: true}, path, url.Values{})
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	var items []api.RecordPurchaseParams
	p := a.of(api.RecordPurchaseParams{At: at, CustomerID: a.customerOf(session)}, session.By.Name, session.By.Email)
	for _, item := range lines {
		if session.Subscription.ID == "" || item.Price.Type == "one_time" { // and not an item of the subscription
			p.Reference, p.PlanID, p.Quantity = "stripe:"+session.ID+":"+item.ID, item.Price.ID, item.Quantity
			items = append(items, p)
		}
	}
	if len(items) == 0 {
		return all, failed
	}
	state, err := a.stateOfSession(ctx, session)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	for i := range items {
		items[i].State = state
	}
	once, err := RecordItems(ctx, a.sales, items...)
	return append(all, once...), errors.Join(failed, err)
}

// customerOf returns the ID of the customer of a session; empty: there is none.
func (a stripeAccount) customerOf(session stripeSession) string {
	// Without a CustomerKey, these have nothing: names in metadata are not empty.
	if id := cmp.Or(session.Metadata[a.customerKey], session.Subscription.Metadata[a.customerKey], session.Customer); id != "" {
		return id
	}
	if address, ok := cleanAddress(session.By.Email); ok { // a guest
		return "mail:" + strings.ToLower(address)
	}
	return ""
}

// stateOfSession returns the state of what was paid once: refunded if a payment was refunded
// as a whole or lost to a dispute. A refund of a part changes nothing.
func (a stripeAccount) stateOfSession(ctx context.Context, session stripeSession) (state api.PurchaseState, err error) {
	intents, err := a.paymentsOf(ctx, session.Invoice)
	if err != nil {
		return "", err
	}
	if session.Intent != "" {
		intents = append(intents, session.Intent)
	}
	state = api.PurchaseActive
	for _, intent := range intents {
		var payment struct {
			Charge struct{ Refunded bool } `json:"latest_charge"` // expanded; null: not charged
		}
		if err := a.get(ctx, "/v1/payment_intents/"+url.PathEscape(intent), url.Values{"expand[]": {"latest_charge"}}, &payment); err != nil {
			return "", err
		}
		if payment.Charge.Refunded {
			return api.PurchaseRefunded, nil
		}
		disputed, err := a.stateOfDisputes(ctx, intent)
		if err != nil || disputed == api.PurchaseRefunded {
			return disputed, err
		}
		if disputed == api.PurchasePaused {
			state = disputed
		}
	}
	return state, nil
}

// recordPayment brings up to date what a payment has paid for, after a refund or a dispute: a
// checkout, or an invoice of a subscription.
func (a stripeAccount) recordPayment(ctx context.Context, intent string) error {
	if intent == "" {
		return nil
	}
	type invoicePayment struct {
		objectID
		Invoice stripeInvoice // expanded
	}
	var all []error
	failed := func(err error) { all = append(all, err) }
	checkouts := []url.Values{{"payment_intent": {intent}}}
	query := url.Values{"payment[type]": {"payment_intent"}, "payment[payment_intent]": {intent}, "expand[]": {"data.invoice"}}
	for p, err := range listOf[invoicePayment](ctx, a.account, "/v1/invoice_payments", query) {
		sub := p.Invoice.Parent.Details.Subscription
		if err == nil && sub != "" {
			_, err = a.recordSubscription(ctx, sub)
			checkouts = append(checkouts, url.Values{"subscription": {sub}}) // which may have sold something else, too
		}
		failed(err)
	}
	for _, query := range checkouts {
		a.each(ctx, "/v1/checkout/sessions", query, failed, a.recordCheckout)
	}
	return errors.Join(all...)
}
