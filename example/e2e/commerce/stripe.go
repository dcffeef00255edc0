package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	stripe "github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/seed-d8a106b4/licensekit/example/internal/payment"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// recordCheckout brings the licenses of a checkout up to date, also of a payment link, and
// returns them. Call it for checkout.session.* events, and on the page after the payment,
// in whose URL Stripe replaces {CHECKOUT_SESSION_ID}.
func recordCheckout(ctx context.Context, sales *selling.Service, sc *stripe.Client, id string) ([]*api.License, error) {
	at := time.Now() // before the session is read
	params := &stripe.CheckoutSessionRetrieveParams{}
	params.AddExpand("payment_intent.latest_charge")
	s, err := sc.V1CheckoutSessions.Retrieve(ctx, id, params)
	if err != nil || s.Status != stripe.CheckoutSessionStatusComplete || s.PaymentStatus == stripe.CheckoutSessionPaymentStatusUnpaid {
		return nil, err // a bank debit takes days
	}
	if s.Subscription != nil {
		return recordSubscription(ctx, sales, sc, s.Subscription.ID)
	}
	state, err := stateOfPayment(ctx, sc, s.PaymentIntent)
	if err != nil {
		return nil, err // Stripe delivers the event again
	}
	by := cmp.Or(s.CustomerDetails, &stripe.CheckoutSessionCustomerDetails{})
	p := payment.OfCustomer(api.RecordPurchaseParams{At: at, State: state}, by.Name, by.Email)
	if s.Customer != nil {
		p.CustomerID = s.Customer.ID
	} else if by.Email != "" { // a guest
		p.CustomerID = "mail:" + strings.ToLower(by.Email)
	}
	var items []api.RecordPurchaseParams
	for item, err := range sc.V1CheckoutSessions.ListLineItems(ctx, &stripe.CheckoutSessionListLineItemsParams{Session: &id}).All(ctx) {
		if err != nil {
			return nil, err
		}
		p.Reference, p.PlanID, p.Quantity = "stripe:"+id+":"+item.ID, item.Price.ID, &item.Quantity
		items = append(items, p)
	}
	return payment.RecordItems(ctx, sales, items...)
}

var stripeDisputes = map[stripe.DisputeStatus]api.PurchaseState{
	"needs_response": "paused", "under_review": "paused", "lost": "refunded", "won": "active", "prevented": "active",
	"warning_needs_response": "active", "warning_under_review": "active", "warning_closed": "active",
}

// stateOfPayment returns the state of what was paid once; nil: it was free. A refund of a
// part of it changes nothing.
func stateOfPayment(ctx context.Context, sc *stripe.Client, paid *stripe.PaymentIntent) (state api.PurchaseState, err error) {
	switch {
	case paid == nil || paid.LatestCharge == nil:
		return api.PurchaseActive, nil
	case paid.LatestCharge.Refunded:
		return api.PurchaseRefunded, nil
	}
	state = api.PurchaseActive
	for dispute, err := range sc.V1Disputes.List(ctx, &stripe.DisputeListParams{PaymentIntent: &paid.ID}).All(ctx) {
		if err != nil {
			return "", err
		}
		switch disputed, err := payment.StateOf(stripeDisputes, dispute.Status); {
		case err != nil || disputed == api.PurchaseRefunded:
			return disputed, err
		case disputed == api.PurchasePaused:
			state = disputed
		}
	}
	return state, nil
}

// recordPayment brings the licenses up to date that were paid once by a payment, after a
// refund or a dispute. The payments of a subscription change nothing: it is canceled, too.
func recordPayment(ctx context.Context, sales *selling.Service, sc *stripe.Client, paymentIntent string) error {
	if paymentIntent == "" {
		return nil
	}
	for s, err := range sc.V1CheckoutSessions.List(ctx, &stripe.CheckoutSessionListParams{PaymentIntent: &paymentIntent}).All(ctx) {
		if err == nil {
			_, err = recordCheckout(ctx, sales, sc, s.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var stripeStates = map[stripe.SubscriptionStatus]api.PurchaseState{
	"trialing": "active", "active": "active", "past_due": "active", "unpaid": "paused", "paused": "paused",
	"canceled": "ended", "incomplete_expired": "ended", "incomplete": "", // the first payment is under way
}

// recordSubscription brings the licenses of a subscription up to date, and returns them.
// Call it for customer.subscription.* events, and every night.
func recordSubscription(ctx context.Context, sales *selling.Service, sc *stripe.Client, id string) ([]*api.License, error) {
	at := time.Now() // before the subscription is read
	params := &stripe.SubscriptionRetrieveParams{}
	params.AddExpand("customer")
	sub, err := sc.V1Subscriptions.Retrieve(ctx, id, params)
	if err != nil {
		return nil, err
	}
	state, err := payment.StateOf(stripeStates, sub.Status)
	if err != nil {
		return nil, err
	}
	p := payment.OfCustomer(api.RecordPurchaseParams{At: at, CustomerID: sub.Customer.ID, State: state}, sub.Customer.Name, sub.Customer.Email)
	var items []api.RecordPurchaseParams
	for _, item := range sub.Items.Data {
		p.Reference, p.PlanID, p.Quantity = "stripe:"+item.ID, item.Price.ID, &item.Quantity
		p.Until = api.To(time.Unix(item.CurrentPeriodEnd, 0))
		items = append(items, p)
	}
	return payment.RecordItems(ctx, sales, items...)
}

// serveStripe serves the webhook of Stripe.
func serveStripe(sales *selling.Service, sc *stripe.Client, secret string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)) // a part of one has no signature
		event, err := webhook.ConstructEvent(body, r.Header.Get("Stripe-Signature"), secret)
		if err != nil {
			slog.Error("webhook refused", "error", err) // also of another API version than that of stripe-go
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch kind, _, _ := strings.Cut(strings.TrimPrefix(string(event.Type), "customer."), "."); kind {
		case "checkout":
			_, err = recordCheckout(r.Context(), sales, sc, event.GetObjectValue("id"))
		case "charge": // charge.refunded and charge.dispute.*
			err = recordPayment(r.Context(), sales, sc, event.GetObjectValue("payment_intent"))
		case "subscription":
			_, err = recordSubscription(r.Context(), sales, sc, event.GetObjectValue("id"))
		}
		if err != nil {
			slog.Error("webhook failed", "error", err)
			http.Error(w, "try again", http.StatusInternalServerError)
		}
	}
}
