package payment

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

type paddleItem struct {
	Quantity int64
	Price    struct {
		ID      string
		Product string    `json:"product_id"`
		Cycle   *struct{} `json:"billing_cycle"` // null: it is paid once
	}
}

type paddleSubscription struct {
	ID, Status string
	Customer   string   `json:"customer_id"`
	Period     struct { // null after the end
		End *time.Time `json:"ends_at"`
	} `json:"current_billing_period"`
	CanceledAt *time.Time              `json:"canceled_at"`
	Scheduled  struct{ Action string } `json:"scheduled_change"` // null: none
	Items      []paddleItem
}

type paddleTransaction struct {
	objectID
	Status       string
	CustomerID   string         `json:"customer_id"`
	Customer     paddleCustomer // with include
	Subscription string         `json:"subscription_id"`
	Items        []paddleItem
	Details      struct {
		Totals struct {
			Grand string `json:"grand_total"` // in the smallest unit
		}
		Lines []struct {
			ID       string
			Price    string `json:"price_id"`
			Quantity int64
		} `json:"line_items"`
	}
	Adjustments []paddleAdjustment // with include
}

type paddleCustomer struct{ Name, Email string }

type paddleAdjustment struct {
	Status, Action string
	Type           string // full: of the whole transaction
	Items          []struct {
		Line string `json:"item_id"`
		Type string
	}
}

// recordSubscription brings the licenses of a subscription up to date, and returns them.
func (a paddleAccount) recordSubscription(ctx context.Context, id string) ([]*api.License, error) {
	at := a.now() // before the subscription is read
	var sub paddleSubscription
	if err := a.read(ctx, "/subscriptions/", id, nil, &sub); err != nil {
		return nil, err
	}
	state, err := a.state(paddleStates, "a subscription", sub.Status)
	if err != nil || state == "" {
		return nil, err
	}
	var customer paddleCustomer
	if err := a.read(ctx, "/customers/", sub.Customer, nil, &customer); err != nil {
		return nil, err
	}
	p := a.of(api.RecordPurchaseParams{At: at, CustomerID: sub.Customer, State: state}, customer.Name, customer.Email)
	p.Until, p.Renews = api.ToOptional(cmp.Or(sub.Period.End, sub.CanceledAt)), renews(sub.Scheduled.Action == "cancel", state)
	if state == api.PurchaseActive {
		if p.State, err = a.stateOfNewest(ctx, id); err != nil {
			return nil, err
		}
	}
	var items []api.RecordPurchaseParams
	for _, item := range sub.Items { // an item has no ID, and its price changes with an upgrade
		p.Reference, p.PlanID, p.Quantity = "paddle:"+id+":"+item.Price.Product, item.Price.ID, &item.Quantity
		items = append(items, p)
	}
	return RecordItems(ctx, a.sales, items...)
}

// stateOfNewest returns paused if the newest paid transaction of a subscription was charged
// back. Transactions of 0 are none, as in [stripeAccount.stateOfNewest].
func (a paddleAccount) stateOfNewest(ctx context.Context, subscription string) (api.PurchaseState, error) {
	query := url.Values{"subscription_id": {subscription}, "status": {"completed"}, "order_by": {"billed_at[DESC]"}, "include": {"adjustments"}}
	for t, err := range listOf[paddleTransaction](ctx, a.account, "/transactions", query) {
		if err != nil {
			return "", err
		}
		if total := t.Details.Totals.Grand; total == "0" || strings.HasPrefix(total, "-") {
			continue
		}
		if _, disputed, err := a.adjusted(t, ""); err != nil {
			return "", err
		} else if disputed {
			return api.PurchasePaused, nil
		}
		break
	}
	return api.PurchaseActive, nil
}

// adjusted returns what the adjustments of a transaction say of one of its lines. An empty line
// is the whole transaction, of which any dispute counts.
func (a paddleAccount) adjusted(t paddleTransaction, line string) (refunded, disputed bool, err error) {
	open := 0
	for _, adjustment := range t.Adjustments {
		said, unknown := a.state(paddleActions, "an adjustment", adjustment.Action)
		counts, err := a.state(paddleAdjustments, "the approval of an adjustment", adjustment.Status)
		if err := cmp.Or(unknown, err); err != nil {
			return false, false, err
		}
		if counts == "" || line != "" && !adjustment.whole(line) {
			continue
		}
		switch said {
		case api.PurchaseRefunded:
			refunded = true
		case api.PurchasePaused:
			open++
		case api.PurchaseActive:
			open--
		}
	}
	return refunded, open > 0, nil
}

// whole reports whether an adjustment is about the whole of a line.
func (a paddleAdjustment) whole(line string) bool {
	for _, item := range a.Items {
		if item.Line == line {
			return item.Type == "full"
		}
	}
	return a.Type == "full"
}

// recordTransaction brings the licenses up to date of what a transaction has paid for, and
// returns those of what was paid once.
func (a paddleAccount) recordTransaction(ctx context.Context, id string) ([]*api.License, error) {
	at := a.now() // before the transaction is read
	var t paddleTransaction
	if err := a.read(ctx, "/transactions/", id, url.Values{"include": {"adjustments,customer"}}, &t); err != nil {
		return nil, err
	}
	if state, err := a.state(paddleTransactions, "a transaction", t.Status); err != nil || state == "" {
		return nil, err
	}
	p := a.of(api.RecordPurchaseParams{At: at, CustomerID: t.CustomerID}, t.Customer.Name, t.Customer.Email)
	var items []api.RecordPurchaseParams
	var failed error // of the subscription; what was paid once is sold all the same
	for _, line := range t.Details.Lines {
		if !t.paidOnce(line.Price) || line.Quantity < 1 {
			continue
		}
		refunded, disputed, err := a.adjusted(t, line.ID)
		if err != nil {
			return nil, err
		}
		p.Reference, p.PlanID, p.Quantity, p.State = "paddle:"+line.ID, line.Price, &line.Quantity, api.PurchaseActive
		if refunded {
			p.State = api.PurchaseRefunded
		} else if disputed {
			p.State = api.PurchasePaused
		}
		items = append(items, p)
	}
	if t.Subscription != "" { // a payment may end a pause, and a chargeback begin one
		_, failed = a.recordSubscription(ctx, t.Subscription)
	}
	licenses, err := RecordItems(ctx, a.sales, items...)
	return licenses, errors.Join(failed, err)
}

// paidOnce reports whether a price is none of a subscription.
func (t paddleTransaction) paidOnce(price string) bool {
	return slices.ContainsFunc(t.Items, func(item paddleItem) bool { return item.Price.ID == price && item.Price.Cycle == nil })
}
