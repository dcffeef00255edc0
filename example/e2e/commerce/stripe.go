package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	stripe "github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

var stripeStates = map[stripe.SubscriptionStatus]api.PurchaseState{
	"trialing": "active", "active": "active", "past_due": "active", "unpaid": "paused", "paused": "paused",
	"canceled": "ended", "incomplete_expired": "ended",
}

// fulfillStripe brings the licenses of a Stripe subscription up to date. Call it for
// customer.subscription.* events, on the page after a payment, and every night.
func fulfillStripe(ctx context.Context, sales *selling.Service, sc *stripe.Client, id string) error {
	at := time.Now() // before the subscription is read
	sub, err := sc.V1Subscriptions.Retrieve(ctx, id, nil)
	if err != nil {
		return err
	}
	for _, item := range sub.Items.Data {
		if _, err := sales.Fulfill(ctx, api.FulfillParams{
			Reference: "stripe:" + item.ID, At: at, CustomerID: sub.Customer.ID, PlanID: item.Price.ID,
			Quantity: &item.Quantity, Until: api.To(time.Unix(item.CurrentPeriodEnd, 0)), State: stripeStates[sub.Status],
		}); err != nil {
			return err // Stripe delivers the event again
		}
	}
	return nil
}

// serveStripe serves the webhook of Stripe, for customer.subscription.* events.
func serveStripe(sales *selling.Service, sc *stripe.Client, secret string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)) // a part of one has no signature
		event, err := webhook.ConstructEvent(body, r.Header.Get("Stripe-Signature"), secret)
		if err != nil {
			http.Error(w, "wrong signature", http.StatusBadRequest)
		} else if err := fulfillStripe(r.Context(), sales, sc, event.GetObjectValue("id")); err != nil {
			slog.Error("webhook failed", "error", err)
			http.Error(w, "try again", http.StatusInternalServerError)
		}
	}
}
