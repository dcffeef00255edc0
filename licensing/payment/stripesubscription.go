package payment

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A stripeCustomer has no name and no address once it was deleted.
type stripeCustomer struct{ ID, Name, Email string }

type stripeItem struct {
	objectID
	Price     struct{ ID, Type string }
	Quantity  *int64 // null if the price is billed by usage
	PeriodEnd int64  `json:"current_period_end"` // of a subscription
}

type stripeInvoice struct {
	objectID
	Paid     int64                      `json:"amount_paid"`
	Payments page[stripeInvoicePayment] // with expand
	Parent   struct {
		Details struct{ Subscription string } `json:"subscription_details"`
	}
	Transitions struct {
		PaidAt int64 `json:"paid_at"`
	} `json:"status_transitions"`
}

type stripeInvoicePayment struct {
	objectID
	Payment struct {
		Intent string `json:"payment_intent"`
	}
}

type stripeSubscription struct {
	objectID
	Status     string
	Customer   stripeCustomer // expanded
	Metadata   map[string]string
	CancelAt   int64 `json:"cancel_at"`
	CancelsEnd bool  `json:"cancel_at_period_end"`
	EndedAt    int64 `json:"ended_at"` // 0: not yet
	Items      page[stripeItem]
}

// recordSubscription brings the licenses of a subscription up to date, and returns them.
func (a stripeAccount) recordSubscription(ctx context.Context, id string) ([]*api.License, error) {
	at := a.now() // before the subscription is read
	var sub stripeSubscription
	if err := a.get(ctx, "/v1/subscriptions/"+url.PathEscape(id), url.Values{"expand[]": {"customer"}}, &sub); err != nil {
		return nil, err
	}
	state, err := a.state(stripeStates, "a subscription", sub.Status)
	if err != nil || state == "" {
		return nil, err
	}
	p := a.of(api.RecordPurchaseParams{At: at, CustomerID: cmp.Or(sub.Metadata[a.customerKey], sub.Customer.ID), State: state}, sub.Customer.Name, sub.Customer.Email)
	p.Renews = renews(sub.CancelsEnd || sub.CancelAt != 0, state)
	if state == api.PurchaseActive {
		if p.State, err = a.stateOfNewest(ctx, id); err != nil {
			return nil, err
		}
	}
	items, err := allOf(ctx, a.account, sub.Items, "/v1/subscription_items", url.Values{"subscription": {id}})
	if err != nil {
		return nil, err
	}
	var all []api.RecordPurchaseParams
	for _, item := range items {
		p.Reference, p.PlanID, p.Quantity = "stripe:"+item.ID, item.Price.ID, item.Quantity
		end := item.PeriodEnd
		if sub.EndedAt != 0 { // before it was read
			end = min(end, sub.EndedAt)
		}
		p.Until = api.To(time.Unix(end, 0))
		all = append(all, p)
	}
	return RecordItems(ctx, a.sales, all...)
}

// renews returns what a subscription says of its renewal: one that is canceled ends, an active
// one is charged again, and any other says nothing.
func renews(canceled bool, state api.PurchaseState) *bool {
	if !canceled && state != api.PurchaseActive {
		return nil
	}
	return new(!canceled)
}

// stateOfNewest returns paused if the newest paid payment of a subscription is disputed, or the
// dispute was lost: the customer has that money back. Invoices of 0 are none, or a change of
// plan that costs nothing would end the pause.
func (a stripeAccount) stateOfNewest(ctx context.Context, subscription string) (api.PurchaseState, error) {
	query := url.Values{"subscription": {subscription}, "status": {"paid"}, "expand[]": {"data.payments"}}
	for invoice, err := range listOf[stripeInvoice](ctx, a.account, "/v1/invoices", query) { // the newest is first
		if err != nil {
			return "", err
		}
		if invoice.Paid <= 0 {
			continue
		}
		intents, err := a.paymentsOf(ctx, invoice)
		if err != nil {
			return "", err
		}
		for _, intent := range intents {
			if state, err := a.stateOfDisputes(ctx, intent); err != nil {
				return "", err
			} else if state != api.PurchaseActive {
				return api.PurchasePaused, nil
			}
		}
		break
	}
	return api.PurchaseActive, nil
}

// paymentsOf returns the IDs of the payment intents of an invoice.
func (a stripeAccount) paymentsOf(ctx context.Context, invoice stripeInvoice) (intents []string, err error) {
	payments, err := allOf(ctx, a.account, invoice.Payments, "/v1/invoice_payments", url.Values{"invoice": {invoice.ID}})
	if err != nil {
		return nil, err
	}
	for _, p := range payments {
		if p.Payment.Intent != "" {
			intents = append(intents, p.Payment.Intent)
		}
	}
	return intents, nil
}

// stateOfDisputes returns active if no dispute of a payment is open or lost, paused if one is
// open, and refunded if one was lost.
func (a stripeAccount) stateOfDisputes(ctx context.Context, intent string) (api.PurchaseState, error) {
	type dispute struct {
		objectID
		Status string
	}
	state := api.PurchaseActive
	for d, err := range listOf[dispute](ctx, a.account, "/v1/disputes", url.Values{"payment_intent": {intent}}) {
		if err != nil {
			return "", err
		}
		one, err := a.state(stripeDisputes, "a dispute", d.Status)
		if err != nil || one == api.PurchaseRefunded {
			return one, err
		}
		if one == api.PurchasePaused {
			state = one
		}
	}
	return state, nil
}

// recordInvoice brings up to date the subscription that an invoice is of.
func (a stripeAccount) recordInvoice(ctx context.Context, id string) error {
	var invoice stripeInvoice
	err := a.get(ctx, "/v1/invoices/"+url.PathEscape(id), nil, &invoice)
	if sub := invoice.Parent.Details.Subscription; err == nil && sub != "" {
		_, err = a.recordSubscription(ctx, sub)
	}
	return err
}
