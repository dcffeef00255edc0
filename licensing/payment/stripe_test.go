package payment

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

const (
	stripeItemRef = "stripe:" + fakestripe.Item
	stripeOnceRef = "stripe:" + fakestripe.Checkout + ":" + fakestripe.Line
)

// subscribed returns a shop and an account with a subscription that a payment has paid for.
func subscribed(t *testing.T) (*shop, fakestripe.Account) {
	t.Helper()
	s := newShop(t, "price_basic", "price_pro", "price_once")
	a := fakestripe.New()
	item(a)["current_period_end"] = s.now.AddDate(1, 0, 0).Unix()
	a.Bill("in_1", fakestripe.Intent, 5880, s.now.Add(-time.Hour))
	a[fakestripe.Checkout]["created"] = s.now.Add(-time.Hour).Unix()
	return s, a
}

func item(a fakestripe.Account) map[string]any {
	return a[fakestripe.Subscription]["items"].(map[string]any)["data"].([]any)[0].(map[string]any)
}

// stripe delivers an event of the account.
func (s *shop) stripe(t *testing.T, a fakestripe.Account, kind, id string) {
	t.Helper()
	s.tick()
	w := s.send("stripe", stripeOf(a).Handler(s.sales), a.Event(kind, id, fakestripe.Version))
	if w.Code != http.StatusOK {
		t.Fatalf("%s %s: %d %s", kind, id, w.Code, w.Body)
	}
}

// TestStripeDisputedSubscription: a subscription is paused while its newest payment is
// disputed and after the dispute was lost, whatever event comes then, also invoices of 0; the
// next payment resumes it.
func TestStripeDisputedSubscription(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	for _, step := range []struct {
		kind, id, dispute string
		want              api.LicenseStatus
	}{
		{"customer.subscription.created", fakestripe.Subscription, "warning_needs_response", api.LicenseActive},
		{"charge.dispute.created", fakestripe.Dispute, "needs_response", api.LicenseSuspended},
		{"customer.subscription.updated", fakestripe.Subscription, "under_review", api.LicenseSuspended},
		{"charge.dispute.closed", fakestripe.Dispute, "prevented", api.LicenseActive},
		{"charge.dispute.closed", fakestripe.Dispute, "won", api.LicenseActive},
		{"charge.dispute.closed", fakestripe.Dispute, "lost", api.LicenseSuspended},
		{"customer.subscription.updated", fakestripe.Subscription, "lost", api.LicenseSuspended},
	} {
		a[fakestripe.Dispute]["payment_intent"], a[fakestripe.Dispute]["status"] = fakestripe.Intent, step.dispute
		s.stripe(t, a, step.kind, step.id)
		is.Equal(s.status(t, stripeItemRef), step.want)
	}
	for n := range 5 { // over several pages
		a.Bill(fmt.Sprint("in_0", n), "pi_0", 0, s.now.Add(time.Duration(n)*time.Minute))
	}
	s.stripe(t, a, "customer.subscription.updated", fakestripe.Subscription)
	s.stripe(t, a, "invoice.paid", "in_04")
	is.Equal(s.status(t, stripeItemRef), api.LicenseSuspended)
	a["pi_2"] = maps.Clone(a[fakestripe.Intent])
	a.Bill("in_2", "pi_2", 5880, s.now.Add(time.Hour))
	s.stripe(t, a, "invoice.paid", "in_2")
	is.Equal(s.status(t, stripeItemRef), api.LicenseActive)
	a[fakestripe.Charge]["refunded"] = true
	s.stripe(t, a, "charge.refunded", fakestripe.Charge)
	is.Equal(s.status(t, stripeItemRef), api.LicenseActive) // of one payment
}

// TestStripeCart: what is paid once in the cart of a subscription gets a license, too, which
// a refund of the invoice ends, also while the subscription has an unknown state.
func TestStripeCart(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	session := a[fakestripe.Checkout]
	session["mode"], session["subscription"], session["payment_status"], session["payment_intent"], session["invoice"] = "subscription", fakestripe.Subscription, "paid", nil, "in_1"
	session["customer"] = fakestripe.Customer
	licenses, err := stripeOf(a).RecordCheckout(t.Context(), s.sales, fakestripe.Checkout)
	is.NoErr(err)
	is.Equal(len(licenses), 2)
	is.Equal(s.status(t, stripeOnceRef), api.LicenseActive)
	s.tick()
	a[fakestripe.Charge]["amount_refunded"] = 100
	s.stripe(t, a, "charge.refunded", fakestripe.Charge)
	is.Equal(s.status(t, stripeOnceRef), api.LicenseActive)
	a[fakestripe.Charge]["refunded"] = true
	a[fakestripe.Subscription]["status"] = "hibernating"
	s.tick()
	w := s.send("stripe", stripeOf(a).Handler(s.sales), a.Event("charge.refunded", fakestripe.Charge, fakestripe.Version))
	is.Equal(w.Code, http.StatusInternalServerError)
	is.Equal(s.status(t, stripeOnceRef), api.LicenseExpired)
	is.Equal(s.status(t, stripeItemRef), api.LicenseActive)
}

// TestStripeOnce: a checkout gives nothing before it is paid, a dispute suspends it, and a
// refund of the whole ends it.
func TestStripeOnce(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	s.stripe(t, a, "checkout.session.completed", fakestripe.Checkout) // a bank debit
	_, err := s.sales.GetPurchase(t.Context(), stripeOnceRef)
	require.ErrorIs(t, err, api.ErrNotFound)
	a[fakestripe.Checkout]["payment_status"] = "paid"
	a["in_1"]["subscription"] = "none" // this payment is that of the checkout
	delete(a, "inpay_in_1")
	a[fakestripe.Dispute]["payment_intent"], a[fakestripe.Dispute]["status"] = fakestripe.Intent, "won"
	s.stripe(t, a, "checkout.session.async_payment_succeeded", fakestripe.Checkout)
	is.Equal(s.status(t, stripeOnceRef), api.LicenseActive)
	f, err := s.sales.GetPurchase(t.Context(), stripeOnceRef)
	is.NoErr(err)
	is.Equal([]any{f.CustomerID, f.License.Name}, []any{"mail:grace@customer.example", "Grace Hopper"})
	for _, id := range []string{"du_2", "du_3"} { // the page of the fake has two
		a[id] = map[string]any{"id": id, "object": "dispute", "payment_intent": fakestripe.Intent, "status": "won"}
	}
	for _, step := range []struct {
		status string
		want   api.LicenseStatus
	}{{"under_review", api.LicenseSuspended}, {"won", api.LicenseActive}, {"lost", api.LicenseExpired}} {
		a["du_9"] = map[string]any{"id": "du_9", "object": "dispute", "payment_intent": fakestripe.Intent, "status": step.status}
		s.stripe(t, a, "charge.dispute.closed", "du_9")
		is.Equal(s.status(t, stripeOnceRef), step.want)
	}
}

// TestStripePages: all items count of a checkout and of a subscription with several pages.
func TestStripePages(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	lines := a[fakestripe.Checkout+"/line_items"]
	first := lines["data"].([]any)[0].(map[string]any)
	all := []any{first}
	for _, id := range []string{"li_2", "li_3", "li_4", "li_5"} {
		line := maps.Clone(first)
		line["id"] = id
		all = append(all, line)
	}
	lines["data"], a[fakestripe.Checkout]["payment_status"] = all, "paid"
	licenses, err := stripeOf(a).RecordCheckout(t.Context(), s.sales, fakestripe.Checkout)
	is.NoErr(err)
	is.Equal(len(licenses), 5)
	for _, id := range []string{"si_1", "si_2", "si_3"} {
		one := maps.Clone(item(a))
		one["id"], one["object"], one["subscription"] = id, "subscription_item", fakestripe.Subscription
		a[id] = one
	}
	a[fakestripe.Subscription]["items"].(map[string]any)["has_more"] = true
	s.stripe(t, a, "customer.subscription.updated", fakestripe.Subscription)
	for _, id := range []string{"si_1", "si_2", "si_3"} {
		is.Equal(s.status(t, "stripe:"+id), api.LicenseActive)
	}
}

// TestStripeEvents: the API version of an event does not matter, events of other things are
// answered with 200, and what cannot be understood says why, without the key.
func TestStripeEvents(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	h := stripeOf(a).Handler(s.sales)
	is.Equal(s.send("stripe", h, a.Event("customer.subscription.updated", fakestripe.Subscription, "2019-02-19")).Code, http.StatusOK)
	is.Equal(s.status(t, stripeItemRef), api.LicenseActive)
	for _, kind := range []string{"product.created", "charge.captured", "invoice.created"} {
		is.Equal(s.send("stripe", h, a.Event(kind, fakestripe.Charge, "")).Code, http.StatusOK)
	}
	a[fakestripe.Charge]["payment_intent"] = nil
	is.Equal(s.send("stripe", h, a.Event("charge.refunded", fakestripe.Charge, "")).Code, http.StatusOK)
	for body, want := range map[string]string{
		`{"object":"v2.core.event","type":"v1.charge.refunded"}`:                                                                               "payload style snapshot",
		strings.ReplaceAll(string(a.Event("customer.subscription.updated", fakestripe.Subscription, "")), fakestripe.Subscription, "sub_gone"): "/v1/subscriptions/sub_gone: 404",
		`{`: "unexpected end",
	} {
		w := s.send("stripe", h, []byte(body))
		is.Equal(w.Code, http.StatusInternalServerError)
		require.Contains(t, w.Body.String(), want)
		require.NotContains(t, w.Body.String(), fakestripe.Key)
	}
	w := s.send("stripe", Stripe{Key: "rk_live_secret", Secrets: []string{secret}, Client: echo{}.client()}.Handler(s.sales), a.Event("customer.subscription.updated", fakestripe.Subscription, ""))
	is.Equal(w.Code, http.StatusInternalServerError)
	require.Contains(t, w.Body.String(), "403: your key is")
	require.NotContains(t, w.Body.String()+s.log.String(), "rk_live_secret")
}

// TestStripeUnknownStates: a state that is in no map is an error with its name, and States
// gives it a meaning.
func TestStripeUnknownStates(t *testing.T) {
	for name, change := range map[string]func(a fakestripe.Account){
		"subscription": func(a fakestripe.Account) { a[fakestripe.Subscription]["status"] = "hibernating" },
		"dispute": func(a fakestripe.Account) {
			a[fakestripe.Dispute]["payment_intent"], a[fakestripe.Dispute]["status"] = fakestripe.Intent, "hibernating"
		},
		"session": func(a fakestripe.Account) { a[fakestripe.Checkout]["status"] = "hibernating" },
		"payment": func(a fakestripe.Account) { a[fakestripe.Checkout]["payment_status"] = "hibernating" },
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s, a := subscribed(t)
			change(a)
			kind, id := "customer.subscription.updated", fakestripe.Subscription
			if name == "session" || name == "payment" {
				kind, id = "checkout.session.completed", fakestripe.Checkout
			}
			w := s.send("stripe", stripeOf(a).Handler(s.sales), a.Event(kind, id, ""))
			is.Equal(w.Code, http.StatusInternalServerError)
			require.Contains(t, w.Body.String(), `stripe: the state "hibernating" of`)
			require.Contains(t, s.log.String(), `hibernating`)
			require.Contains(t, s.failing(t, "stripe"), `"hibernating"`)
			known := stripeOf(a)
			known.States = map[string]api.PurchaseState{"hibernating": ""}
			s.tick()
			is.Equal(s.send("stripe", known.Handler(s.sales), a.Event(kind, id, "")).Code, http.StatusOK)
			is.Equal(s.failing(t, "stripe"), "")
			for _, reference := range []string{stripeOnceRef, stripeItemRef} {
				_, err := s.sales.GetPurchase(t.Context(), reference)
				if name != "dispute" || reference == stripeOnceRef {
					require.ErrorIs(t, err, api.ErrNotFound) // what says nothing stores nothing
				}
			}
		})
	}
}

// TestStripeCustomers: a customer's ID is taken from metadata that the seller sets, of the
// session or of the subscription, and never from client_reference_id.
func TestStripeCustomers(t *testing.T) {
	for name, c := range map[string]struct {
		session, subscription map[string]any
		want                  string
	}{
		"none":         {nil, nil, fakestripe.Customer},
		"subscription": {nil, map[string]any{"account": "42"}, "42"},
		"both":         {map[string]any{"account": "42"}, map[string]any{"account": "42"}, "42"},
		"other key":    {map[string]any{"user": "42"}, map[string]any{"user": "42"}, fakestripe.Customer},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s, a := subscribed(t)
			session := a[fakestripe.Checkout]
			session["subscription"], session["payment_status"], session["customer"], session["invoice"], session["payment_intent"] = fakestripe.Subscription, "paid", fakestripe.Customer, "in_1", nil
			session["client_reference_id"], session["metadata"], a[fakestripe.Subscription]["metadata"] = "victim", c.session, c.subscription
			account := stripeOf(a)
			account.CustomerKey = "account"
			licenses, err := account.RecordCheckout(t.Context(), s.sales, fakestripe.Checkout)
			is.NoErr(err)
			is.Equal(len(licenses), 2)
			for _, l := range licenses {
				is.Equal(l.CustomerID, c.want)
			}
		})
	}
}

// TestStripeRenews: what an event says of the renewal is stored.
func TestStripeRenews(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	sub := a[fakestripe.Subscription]
	for _, c := range []struct {
		status   string
		end      bool
		cancelAt any
		want     any
	}{{"active", false, nil, true}, {"active", true, nil, false}, {"active", false, 1999999999, false}, {"trialing", false, nil, true}, {"unpaid", false, nil, true}} {
		sub["status"], sub["cancel_at_period_end"], sub["cancel_at"] = c.status, c.end, c.cancelAt
		s.stripe(t, a, "customer.subscription.updated", fakestripe.Subscription)
		f, err := s.sales.GetPurchase(t.Context(), stripeItemRef)
		is.NoErr(err)
		is.Equal(f.Fields["renews"].Value, c.want) // that an unpaid one renews was said before
	}
}

// An echo answers every request with its credentials.
type echo struct{}

func (e echo) client() *http.Client { return &http.Client{Transport: e} }

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	return answer(http.StatusForbidden, "your key is\n "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")), nil
}
