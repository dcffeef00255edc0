// Package payment has the code of the guide on selling.
package payment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ServeWebhook serves the webhook of a provider. verified returns the body of a
// request whose signature is right.
func ServeWebhook(verified func(*http.Request) ([]byte, error), fulfill func(ctx context.Context, body []byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := verified(r)
		if err != nil {
			http.Error(w, "wrong signature", http.StatusBadRequest)
		} else if err := fulfill(r.Context(), body); err != nil {
			slog.Error("webhook failed", "error", err)
			http.Error(w, "try again", http.StatusInternalServerError)
		}
	}
}

var paddleStates = map[string]api.PurchaseState{
	"trialing": "active", "active": "active", "past_due": "active", "paused": "paused", "canceled": "ended",
}

// FulfillPaddle brings the licenses of a Paddle subscription up to date. The body is
// that of a subscription.* event.
func FulfillPaddle(ctx context.Context, sales *selling.Service, body []byte) error {
	var event struct {
		At   time.Time `json:"occurred_at"`
		Data struct {
			ID, Status string
			Customer   string   `json:"customer_id"`
			Period     struct { // null after the end
				End *time.Time `json:"ends_at"`
			} `json:"current_billing_period"`
			Items []struct {
				Quantity int64
				Price    struct {
					ID      string
					Product string `json:"product_id"`
				}
			}
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	p := api.FulfillParams{At: event.At, CustomerID: event.Data.Customer, Until: api.ToOptional(event.Data.Period.End), State: paddleStates[event.Data.Status]}
	for _, item := range event.Data.Items {
		p.Reference, p.PlanID, p.Quantity = "paddle:"+event.Data.ID+":"+item.Price.Product, item.Price.ID, &item.Quantity
		if _, err := sales.Fulfill(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

var lemonSqueezyStates = map[string]api.PurchaseState{
	"on_trial": "active", "active": "active", "past_due": "active", "cancelled": "active", // until ends_at
	"paused": "paused", "unpaid": "paused", "expired": "ended",
}

// FulfillLemonSqueezy brings the license of a Lemon Squeezy subscription up to date.
// The body is that of a subscription_* event whose data has the type subscriptions.
func FulfillLemonSqueezy(ctx context.Context, sales *selling.Service, body []byte) error {
	var event struct {
		Data struct {
			ID   string
			Subs struct {
				Customer int64 `json:"customer_id"`
				Variant  int64 `json:"variant_id"`
				Status   string
				Name     string     `json:"user_name"`
				Renews   *time.Time `json:"renews_at"`
				Ends     *time.Time `json:"ends_at"` // of one that was canceled
				Updated  time.Time  `json:"updated_at"`
			} `json:"attributes"`
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	sub := event.Data.Subs
	_, err := sales.Fulfill(ctx, api.FulfillParams{
		Reference: "lemonsqueezy:" + event.Data.ID, At: sub.Updated, CustomerID: fmt.Sprint(sub.Customer), Name: sub.Name,
		PlanID: fmt.Sprint(sub.Variant), Until: api.ToOptional(cmp.Or(sub.Ends, sub.Renews)), State: lemonSqueezyStates[sub.Status],
	})
	return err
}

var polarStates = map[string]api.PurchaseState{
	"trialing": "active", "active": "active", "past_due": "active", // also with cancel_at_period_end
	"unpaid": "paused", "canceled": "ended", "incomplete_expired": "ended",
}

// FulfillPolar brings the license of a Polar subscription up to date. The body is
// that of a subscription.* event.
func FulfillPolar(ctx context.Context, sales *selling.Service, body []byte) error {
	var event struct {
		At   time.Time `json:"timestamp"`
		Data struct {
			ID, Status string
			Customer   string     `json:"customer_id"`
			Product    string     `json:"product_id"`
			Seats      *int64     // null: not sold by the seat
			End        *time.Time `json:"current_period_end"`
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	sub := event.Data
	_, err := sales.Fulfill(ctx, api.FulfillParams{
		Reference: "polar:" + sub.ID, At: event.At, CustomerID: sub.Customer, PlanID: sub.Product, Quantity: sub.Seats,
		Until: api.ToOptional(sub.End), State: polarStates[sub.Status],
	})
	return err
}

// StartTrial starts the trial of a customer on a device, once.
func StartTrial(ctx context.Context, sales *selling.Service, customer, mail, device string) (api.Trial, error) {
	return sales.StartTrial(ctx, api.StartTrialParams{
		PlanID: "trial", CustomerID: customer, Subjects: []string{"device:" + device, "mail:" + foldMail(mail)},
	})
}

// foldMail returns what is the same for the addresses of one mailbox: the address in
// lower case, and without what follows a plus sign.
func foldMail(address string) string {
	name, domain, _ := strings.Cut(strings.ToLower(address), "@")
	name, _, _ = strings.Cut(name, "+")
	return name + "@" + domain
}

// EnsureLicense returns the license of a user of the host, and creates it when there
// is none. Call it at each sign-in: the reference makes the license the only one.
func EnsureLicense(ctx context.Context, sales *selling.Service, userID string, joined time.Time) (*api.License, error) {
	f, err := sales.Fulfill(ctx, api.FulfillParams{
		Reference: "user:" + userID, At: joined, CustomerID: userID, PlanID: "free", State: api.PurchaseActive,
	})
	return f.License, err
}
