package payment

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

var polarStates = map[string]api.PurchaseState{
	"trialing": "active", "active": "active", "past_due": "active", // also with cancel_at_period_end
	"unpaid": "paused", "paused": "paused", "canceled": "ended", "incomplete_expired": "ended", "incomplete": "",
	"pending": "", "draft": "", "void": "", "paid": "active", "partially_refunded": "active", "refunded": "refunded", // of an order
}

// RecordPolar brings the license of a Polar order or subscription up to date. The body
// is that of an order.paid, order.refunded or subscription.* event.
func RecordPolar(ctx context.Context, sales *selling.Service, body []byte) error {
	var event struct {
		Type string
		At   time.Time `json:"timestamp"`
		Data struct {
			ID, Status   string
			CustomerID   string     `json:"customer_id"`
			Product      string     `json:"product_id"`
			Subscription string     `json:"subscription_id"` // of an order
			Seats        *int64     // null: not sold by the seat
			Units        *int64     // null: not sold by the unit
			End          *time.Time `json:"current_period_end"` // of a subscription
			Customer     struct{ Name, Email string }
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	is := event.Data
	p := OfCustomer(api.RecordPurchaseParams{
		Reference: "polar:" + is.ID, At: event.At, CustomerID: is.CustomerID, PlanID: is.Product, Quantity: cmp.Or(is.Units, is.Seats),
	}, is.Customer.Name, is.Customer.Email)
	switch kind, _, _ := strings.Cut(event.Type, "."); {
	case kind == "subscription":
		p.Until = api.ToOptional(is.End)
	case kind != "order" || is.Subscription != "": // the payments of a subscription change nothing
		return nil
	}
	var err error
	if p.State, err = StateOf(polarStates, is.Status); err == nil {
		_, err = RecordItems(ctx, sales, p)
	}
	return err
}
