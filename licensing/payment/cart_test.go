package payment

import (
	"maps"
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestStripeCartSellsOnce: an item of a subscription in a cart is sold by the subscription, and
// not a second time by the checkout.
func TestStripeCartSellsOnce(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	session, lines := a[fakestripe.Checkout], a[fakestripe.Checkout+"/line_items"]
	session["subscription"], session["payment_status"], session["payment_intent"], session["invoice"], session["customer"] = fakestripe.Subscription, "paid", nil, "in_1", fakestripe.Customer
	once := lines["data"].([]any)[0].(map[string]any)
	monthly := maps.Clone(once)
	monthly["id"], monthly["price"] = "li_monthly", map[string]any{"id": "price_pro", "type": "recurring"}
	lines["data"] = []any{monthly, once}
	licenses, err := stripeOf(a).RecordCheckout(t.Context(), s.sales, fakestripe.Checkout)
	is.NoErr(err)
	is.Equal(len(licenses), 2)
	_, err = s.sales.GetPurchase(t.Context(), "stripe:"+fakestripe.Checkout+":li_monthly")
	require.ErrorIs(t, err, api.ErrNotFound)
}

// TestStripePaymentsOfAnInvoice: a dispute of any payment of an invoice counts, over pages.
func TestStripePaymentsOfAnInvoice(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	a["in_1"]["payments"].(map[string]any)["has_more"] = true
	for _, intent := range []string{"pi_2", "pi_3", "pi_4"} {
		a["inpay_"+intent] = map[string]any{"id": "inpay_" + intent, "object": "invoice_payment", "invoice": "in_1", "payment": map[string]any{"type": "payment_intent", "payment_intent": intent}}
	}
	s.stripe(t, a, "customer.subscription.created", fakestripe.Subscription)
	is.Equal(s.status(t, stripeItemRef), api.LicenseActive)
	a[fakestripe.Dispute]["payment_intent"], a[fakestripe.Dispute]["status"] = "pi_4", "needs_response"
	s.stripe(t, a, "customer.subscription.updated", fakestripe.Subscription)
	is.Equal(s.status(t, stripeItemRef), api.LicenseSuspended)
}

// TestPaddleWarningReverse: the end of a warning does not end the chargeback of a payment.
func TestPaddleWarningReverse(t *testing.T) {
	is := is.New(t)
	s := newPaddleShop(t)
	s.event(t, "subscription.created", `{"id":"sub"}`)
	s.transactions(transaction("txn", "500", adjustment("chargeback", "approved"), adjustment("chargeback_warning_reverse", "approved")))
	s.event(t, "adjustment.updated", `{"id":"adj","transaction_id":"txn"}`)
	is.Equal(s.status(t, "paddle:sub:pro"), api.LicenseSuspended)
}

// TestPaddleCart: what is paid once in the transaction of a subscription gets a license, too,
// which a refund ends, also while the subscription has an unknown state.
func TestPaddleCart(t *testing.T) {
	is := is.New(t)
	s := newPaddleShop(t)
	cart := func(adjustments ...object) {
		cart := transaction("cart", "900", adjustments...)
		cart["items"] = append(cart["items"].([]object), object{"price": object{"id": "pri_once", "billing_cycle": nil}})
		details := cart["details"].(object)
		details["line_items"] = append(details["line_items"].([]object), object{"id": "txnitm_once", "price_id": "pri_once", "quantity": 1})
		s.transactions(cart)
	}
	cart()
	s.event(t, "transaction.completed", `{"id":"cart"}`)
	is.Equal([]api.LicenseStatus{s.status(t, "paddle:sub:pro"), s.status(t, "paddle:txnitm_once")}, []api.LicenseStatus{"active", "active"})
	_, err := s.sales.GetPurchase(t.Context(), "paddle:txnitm_sub")
	require.ErrorIs(t, err, api.ErrNotFound)
	cart(object{"action": "refund", "status": "approved", "type": "partial", "items": []object{{"item_id": "txnitm_once", "type": "full"}}})
	s.sub["status"] = "frozen"
	s.putSub()
	s.tick()
	w := s.send("paddle", s.paddle.Handler(s.sales), []byte(`{"event_type":"adjustment.created","data":{"id":"adj","transaction_id":"cart"}}`))
	is.Equal(w.Code, http.StatusInternalServerError)
	is.Equal([]api.LicenseStatus{s.status(t, "paddle:sub:pro"), s.status(t, "paddle:txnitm_once")}, []api.LicenseStatus{"active", "expired"})
}
