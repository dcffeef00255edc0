package main

import (
	"context"
	"strconv"
	"time"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// stripeUsage returns a subscriber that reports usage to meters of Stripe with the names of
// ours and the formula "last".
func stripeUsage(sc *stripe.Client) licensing.Subscriber {
	return licensing.Subscriber{Name: "stripe-usage", Types: []string{api.EventUsageCounted}, Handle: func(ctx context.Context, e api.Event) error {
		data, err := e.Decode()
		if err != nil || data.Usage == nil { // the customer was erased
			return err
		}
		used, at := data.Usage, e.Timestamp
		if used.To != nil && !at.Before(*used.To) {
			at = used.To.Add(-time.Second) // the event came after the end of the period
		}
		_, err = sc.V1BillingMeterEvents.Create(ctx, &stripe.BillingMeterEventCreateParams{
			EventName: &used.Meter, Identifier: &e.ID, Timestamp: stripe.Int64(at.Unix()),
			Payload: map[string]string{"stripe_customer_id": e.CustomerID, "value": strconv.FormatInt(used.Used, 10)},
		})
		return err
	}}
}
