package payment

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

var paddleStates = map[string]api.PurchaseState{
	"trialing": "active", "active": "active", "past_due": "active", "paused": "paused", "canceled": "ended", // of a subscription
	"refund": "refunded", "chargeback": "paused", "chargeback_reverse": "active", // of an item, after an adjustment
	"chargeback_warning": "paused", "chargeback_warning_reverse": "active",
}

// A Paddle is an account of Paddle.
type Paddle struct {
	URL string // https://api.paddle.com
	Key string // which may read customers and transactions
}

// paddleData has the fields of a subscription, a transaction or an adjustment.
type paddleData struct {
	ID, Status, Action string
	Customer           string   `json:"customer_id"`
	Transaction        string   `json:"transaction_id"`
	Period             struct { // null after the end
		End *time.Time `json:"ends_at"`
	} `json:"current_billing_period"`
	Items []struct {
		Quantity int64
		Type     string // of an adjustment
		Line     string `json:"item_id"`
		Price    struct {
			ID      string
			Product string    `json:"product_id"`
			Cycle   *struct{} `json:"billing_cycle"` // null: it is paid once
		}
	}
	Details struct {
		Lines []struct {
			ID       string
			Price    string `json:"price_id"`
			Quantity int64
		} `json:"line_items"`
	}
}

// Record brings the licenses of a customer of Paddle up to date. The body is that of a
// subscription.*, transaction.completed, adjustment.created or adjustment.updated event.
func (p Paddle) Record(ctx context.Context, sales *selling.Service, body []byte) error {
	var event struct {
		Type string     `json:"event_type"`
		At   time.Time  `json:"occurred_at"`
		Data paddleData `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	data, of := event.Data, api.RecordPurchaseParams{At: event.At, CustomerID: event.Data.Customer}
	switch kind, name, _ := strings.Cut(event.Type, "."); {
	case kind == "adjustment" && data.Status == "approved" && paddleStates[data.Action] != "":
		return p.adjust(ctx, sales, data, of)
	case kind != "subscription" && (kind != "transaction" || name != "completed"):
		return nil
	}
	var customer struct{ Name, Email string } // whom events name only by ID
	if err := p.get(ctx, "/customers/"+data.Customer, &customer); err != nil {
		return err
	}
	of = OfCustomer(of, customer.Name, customer.Email)
	var items []api.RecordPurchaseParams
	if data.Details.Lines == nil {
		var err error
		if of.State, err = StateOf(paddleStates, data.Status); err != nil {
			return err
		}
		for _, item := range data.Items {
			of.Reference, of.PlanID, of.Quantity = "paddle:"+data.ID+":"+item.Price.Product, item.Price.ID, &item.Quantity
			of.Until = api.ToOptional(data.Period.End)
			items = append(items, of)
		}
	}
	for _, line := range data.Details.Lines {
		if data.paidOnce(line.ID) {
			of.Reference, of.PlanID, of.Quantity, of.State = "paddle:"+line.ID, line.Price, &line.Quantity, api.PurchaseActive
			items = append(items, of)
		}
	}
	_, err := RecordItems(ctx, sales, items...)
	return err
}

// paidOnce reports whether a line of a transaction is no payment of a subscription.
func (t paddleData) paidOnce(id string) bool {
	for _, line := range t.Details.Lines {
		for _, item := range t.Items {
			if line.ID == id && item.Price.ID == line.Price {
				return item.Price.Cycle == nil
			}
		}
	}
	return false
}

// adjust ends, pauses or resumes what was paid once, after a refund of a whole line of a
// transaction or a dispute. The payments of a subscription change nothing: it is canceled,
// too.
func (p Paddle) adjust(ctx context.Context, sales *selling.Service, adjustment paddleData, of api.RecordPurchaseParams) error {
	var transaction paddleData
	if err := p.get(ctx, "/transactions/"+adjustment.Transaction, &transaction); err != nil {
		return err
	}
	for _, item := range adjustment.Items {
		if item.Type == "full" && transaction.paidOnce(item.Line) {
			of.Reference, of.State = "paddle:"+item.Line, paddleStates[adjustment.Action]
			if _, err := sales.RecordPurchase(ctx, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// get reads an entity of the account.
func (p Paddle) get(ctx context.Context, path string, entity any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.Key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("paddle: %s: %s", path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(&struct{ Data any }{entity})
}
