package payment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

var lemonSqueezyStates = map[string]api.PurchaseState{
	"on_trial": "active", "active": "active", "past_due": "active", "cancelled": "active", // until ends_at
	"paused": "paused", "unpaid": "paused", "expired": "ended",
}

var lemonSqueezyOrders = map[string]api.PurchaseState{
	"paid": "active", "refunded": "refunded", "pending": "", "failed": "", "fraudulent": "", "partial_refund": "",
}

// RecordLemonSqueezy brings the license of a Lemon Squeezy order or subscription up to
// date. The body is that of an order_created, order_refunded or subscription_* event.
// The item of the order is the reference of both: an order that begins a subscription is
// the same purchase.
func RecordLemonSqueezy(ctx context.Context, sales *selling.Service, body []byte) error {
	var event struct {
		Meta struct {
			Name string `json:"event_name"`
		}
		Data struct {
			Type string
			Is   struct {
				Customer   int64 `json:"customer_id"`
				Status     string
				Name       string           `json:"user_name"`
				Email      string           `json:"user_email"`
				Updated    time.Time        `json:"updated_at"`
				Ordered    lemonSqueezyItem `json:"first_order_item"`
				Item       int64            `json:"order_item_id"` // from here on of a subscription
				Variant    int64            `json:"variant_id"`
				Subscribed lemonSqueezyItem `json:"first_subscription_item"`
				Renews     *time.Time       `json:"renews_at"`
				Ends       *time.Time       `json:"ends_at"` // of one that was canceled
			} `json:"attributes"`
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	is := event.Data.Is
	p := OfCustomer(api.RecordPurchaseParams{At: is.Updated, CustomerID: fmt.Sprint(is.Customer)}, is.Name, is.Email)
	states := map[string]map[string]api.PurchaseState{"subscriptions": lemonSqueezyStates, "orders": lemonSqueezyOrders}[event.Data.Type]
	if states == nil {
		return nil
	}
	var err error
	if p.State, err = StateOf(states, is.Status); err != nil {
		return err
	}
	switch ordered := fmt.Sprint("lemonsqueezy:", is.Ordered.ID); {
	case event.Data.Type == "subscriptions":
		p.Reference, p.PlanID, p.Quantity = fmt.Sprint("lemonsqueezy:", is.Item), fmt.Sprint(is.Variant), is.Subscribed.Quantity
		p.Until = api.ToOptional(cmp.Or(is.Ends, is.Renews))
	case event.Meta.Name == "order_created" && p.State == api.PurchaseActive:
		p.Reference, p.PlanID, p.Quantity = ordered, fmt.Sprint(is.Ordered.Variant), is.Ordered.Quantity
	case event.Meta.Name == "order_refunded" && p.State == api.PurchaseRefunded: // and not a part of it
		p.Reference = ordered
		if f, err := sales.GetPurchase(ctx, ordered); err == nil && f.Fields["until"].Value != nil {
			return nil // the payments of a subscription change nothing: it is canceled, too
		}
	default:
		return nil
	}
	_, err = RecordItems(ctx, sales, p)
	return err
}

type lemonSqueezyItem struct {
	ID       int64
	Variant  int64 `json:"variant_id"`
	Quantity *int64
}
