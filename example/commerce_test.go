package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// The code of the guide on selling.

// serveWebhook serves the webhook of a provider. verified returns the body of a
// request whose signature is right.
func serveWebhook(verified func(*http.Request) ([]byte, error), fulfill func(ctx context.Context, body []byte) error) http.HandlerFunc {
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

// fulfillStripe brings the licenses of a Stripe subscription up to date. Call it for
// customer.subscription.* events, on the page after a payment, and every night.
func fulfillStripe(ctx context.Context, rules *license.Service, id string, read func(ctx context.Context, path string, into any) error) error {
	var sub struct {
		Customer, Status string
		Items            struct {
			Data []struct {
				ID       string
				Price    struct{ ID string }
				Quantity int64
				End      int64 `json:"current_period_end"`
			}
		}
	}
	at := time.Now() // before the subscription is read
	if err := read(ctx, "/v1/subscriptions/"+id, &sub); err != nil {
		return err
	}
	states := map[string]license.PurchaseState{
		"trialing": "active", "active": "active", "past_due": "active", "unpaid": "paused", "paused": "paused",
		"canceled": "ended", "incomplete_expired": "ended",
	}
	for _, item := range sub.Items.Data {
		if _, err := rules.Fulfill(ctx, license.FulfillParams{
			Reference: "stripe:" + item.ID, At: at, CustomerID: sub.Customer, PlanID: item.Price.ID,
			Quantity: &item.Quantity, Until: license.To(time.Unix(item.End, 0)), State: states[sub.Status],
		}); err != nil {
			return err // the provider delivers the event again
		}
	}
	return nil
}

// fulfillPaddle brings the licenses of a Paddle subscription up to date. The body is
// that of a subscription.* event.
func fulfillPaddle(ctx context.Context, rules *license.Service, body []byte) error {
	var event struct {
		At   time.Time `json:"occurred_at"`
		Data struct {
			ID, Status string
			Customer   string    `json:"customer_id"`
			Period     *struct { // null after the end
				End time.Time `json:"ends_at"`
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
	sub := event.Data
	p := license.FulfillParams{At: event.At, CustomerID: sub.Customer, State: map[string]license.PurchaseState{
		"trialing": "active", "active": "active", "past_due": "active", "paused": "paused", "canceled": "ended"}[sub.Status]}
	if sub.Period != nil {
		p.Until = license.To(sub.Period.End)
	}
	for _, item := range sub.Items {
		p.Reference, p.PlanID, p.Quantity = "paddle:"+sub.ID+":"+item.Price.Product, item.Price.ID, &item.Quantity
		if _, err := rules.Fulfill(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// fulfillLemonSqueezy brings the license of a Lemon Squeezy subscription up to date.
// The body is that of a subscription_* event whose data has the type subscriptions.
func fulfillLemonSqueezy(ctx context.Context, rules *license.Service, body []byte) error {
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
	p := license.FulfillParams{
		Reference: "lemonsqueezy:" + event.Data.ID, At: sub.Updated, CustomerID: fmt.Sprint(sub.Customer), Name: sub.Name,
		PlanID: fmt.Sprint(sub.Variant), State: map[string]license.PurchaseState{
			"on_trial": "active", "active": "active", "past_due": "active", "cancelled": "active", // until ends_at
			"paused": "paused", "unpaid": "paused", "expired": "ended"}[sub.Status],
	}
	if until := cmp.Or(sub.Ends, sub.Renews); until != nil {
		p.Until = license.To(*until)
	}
	_, err := rules.Fulfill(ctx, p)
	return err
}

// fulfillPolar brings the license of a Polar subscription up to date. The body is
// that of a subscription.* event.
func fulfillPolar(ctx context.Context, rules *license.Service, body []byte) error {
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
	p := license.FulfillParams{
		Reference: "polar:" + sub.ID, At: event.At, CustomerID: sub.Customer, PlanID: sub.Product, Quantity: sub.Seats,
		State: map[string]license.PurchaseState{
			"trialing": "active", "active": "active", "past_due": "active", // also with cancel_at_period_end
			"unpaid": "paused", "canceled": "ended", "incomplete_expired": "ended"}[sub.Status],
	}
	if sub.End != nil {
		p.Until = license.To(*sub.End)
	}
	_, err := rules.Fulfill(ctx, p)
	return err
}

// startTrial starts the trial of a customer on a device, once.
func startTrial(ctx context.Context, rules *license.Service, customer, mail, device string) (license.Trial, error) {
	name, domain, _ := strings.Cut(strings.ToLower(mail), "@")
	name, _, _ = strings.Cut(name, "+") // ada+2@example.com is ada@example.com
	return rules.StartTrial(ctx, license.StartTrialParams{
		PlanID: "trial", CustomerID: customer, Subjects: []string{"device:" + device, "mail:" + name + "@" + domain},
	})
}

// TestSelling sends each handler of the guide what its provider reports about a
// purchase that is paid, canceled and over.
func TestSelling(t *testing.T) {
	is := is.New(t)
	rules := license.New(memory.New(), license.Options{})
	for _, id := range []string{"price_1", "pri_1", "9", "prod-1", "trial"} {
		_, err := rules.PutPlan(t.Context(), license.PutPlanParams{ID: id, ProductID: "atlas", MaxActivations: new(int64(2)), Duration: license.Duration{Days: 14}})
		is.NoErr(err)
	}
	until := time.Now().Add(20 * 24 * time.Hour).Truncate(time.Second).UTC()
	at := func(hours int) string {
		return time.Now().Add(time.Duration(hours-3) * time.Hour).UTC().Format(time.RFC3339Nano)
	}
	end := until.Format(time.RFC3339)
	for reference, send := range map[string]func(hour int, status string) error{
		"stripe:si_1": func(_ int, status string) error {
			return fulfillStripe(t.Context(), rules, "sub_1", func(_ context.Context, path string, into any) error {
				is.Equal(path, "/v1/subscriptions/sub_1")
				return json.Unmarshal(fmt.Appendf(nil, `{"id":"sub_1","customer":"cus_1","status":%q,"items":{"data":[{"id":"si_1","price":{"id":"price_1"},"quantity":3,"current_period_end":%d}]}}`, status, until.Unix()), into)
			})
		},
		"paddle:sub_1:pro_1": func(hour int, status string) error {
			return fulfillPaddle(t.Context(), rules, fmt.Appendf(nil, `{"event_type":"subscription.updated","occurred_at":%q,"data":{"id":"sub_1","status":%q,"customer_id":"ctm_1","current_billing_period":{"starts_at":%q,"ends_at":%q},"items":[{"quantity":3,"price":{"id":"pri_1","product_id":"pro_1"}}]}}`, at(hour), status, at(0), end))
		},
		"lemonsqueezy:7": func(hour int, status string) error {
			status = strings.NewReplacer("trialing", "on_trial", "canceled", "expired").Replace(status)
			return fulfillLemonSqueezy(t.Context(), rules, fmt.Appendf(nil, `{"meta":{"event_name":"subscription_updated"},"data":{"type":"subscriptions","id":"7","attributes":{"customer_id":5,"variant_id":9,"status":%q,"user_name":"Ada","renews_at":%q,"ends_at":null,"updated_at":%q}}}`, status, end, at(hour)))
		},
		"polar:7b0c": func(hour int, status string) error {
			return fulfillPolar(t.Context(), rules, fmt.Appendf(nil, `{"type":"subscription.updated","timestamp":%q,"data":{"id":"7b0c","status":%q,"customer_id":"c-1","product_id":"prod-1","seats":3,"current_period_end":%q}}`, at(hour), status, end))
		},
	} {
		t.Run(reference, func(t *testing.T) {
			is := is.New(t)
			is.NoErr(send(1, "trialing"))
			f, err := rules.GetFulfillment(t.Context(), reference)
			is.NoErr(err)
			is.Equal([]any{f.License.Status, *f.License.ExpiresAt}, []any{license.StatusActive, until})
			if reference != "lemonsqueezy:7" { // which sells one unit
				is.Equal(*f.License.MaxActivations, int64(6))
			}
			is.NoErr(send(2, "past_due"))
			is.NoErr(send(2, "past_due"))
			is.NoErr(send(2, "paused"))
			is.NoErr(send(3, "canceled"))
			is.NoErr(send(2, "active")) // late
			f, err = rules.GetFulfillment(t.Context(), reference)
			is.NoErr(err)
			is.True(f.EndedAt != nil)
			is.True(f.License.ExpiresAt.Before(until))
		})
	}
	trial, err := startTrial(t.Context(), rules, "cus_9", "Ada+2@Example.com", "pc-1")
	is.NoErr(err)
	is.True(trial.Started)
	_, err = startTrial(t.Context(), rules, "cus_8", "ada@example.com", "pc-2")
	require.ErrorIs(t, err, license.ErrTrialTaken)

	for want, failure := range map[int][2]error{200: {}, 400: {io.EOF, nil}, 500: {nil, io.EOF}} {
		w := httptest.NewRecorder()
		serveWebhook(func(*http.Request) ([]byte, error) { return nil, failure[0] }, func(context.Context, []byte) error {
			return errors.Join(failure[1])
		})(w, httptest.NewRequest("POST", "/", nil))
		is.Equal(w.Code, want)
	}
}
