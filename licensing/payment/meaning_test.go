package payment

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestMeaningOfStates: each documented state of each provider has its meaning; one that says
// nothing stores nothing.
func TestMeaningOfStates(t *testing.T) {
	const at = "2026-01-01T00:00:00Z"
	states := func(active, paused, ended, refunded, nothing []string) map[api.PurchaseState][]string {
		return map[api.PurchaseState][]string{"active": active, "paused": paused, "ended": ended, "refunded": refunded, "": nothing}
	}
	type all = []string
	stripe := states(all{"trialing", "active", "past_due"}, all{"unpaid", "paused"}, all{"canceled", "incomplete_expired"}, nil, all{"incomplete"})
	for name, c := range map[string]struct {
		plan, reference string
		states          map[api.PurchaseState][]string
		send            func(t *testing.T, s *shop, state string) int
	}{
		"stripe subscription": {"price_pro", stripeItemRef, stripe, func(t *testing.T, s *shop, state string) int {
			a := fakestripe.New()
			a[fakestripe.Subscription]["status"] = state
			return s.send("stripe", stripeOf(a).Handler(s.sales), a.Event("customer.subscription.updated", fakestripe.Subscription, "")).Code
		}},
		"stripe session": {"price_once", stripeOnceRef, states(all{"complete"}, nil, nil, nil, all{"open", "expired"}), func(t *testing.T, s *shop, state string) int {
			a := fakestripe.New()
			a[fakestripe.Checkout]["status"], a[fakestripe.Checkout]["payment_status"] = state, "paid"
			return s.send("stripe", stripeOf(a).Handler(s.sales), a.Event("checkout.session.completed", fakestripe.Checkout, "")).Code
		}},
		"stripe payment": {"price_once", stripeOnceRef, states(all{"paid", "no_payment_required"}, nil, nil, nil, all{"unpaid"}), func(t *testing.T, s *shop, state string) int {
			a := fakestripe.New()
			a[fakestripe.Checkout]["payment_status"] = state
			return s.send("stripe", stripeOf(a).Handler(s.sales), a.Event("checkout.session.completed", fakestripe.Checkout, "")).Code
		}},
		"stripe dispute": {"price_once", stripeOnceRef, states(all{"won", "prevented", "warning_needs_response", "warning_under_review", "warning_closed"}, all{"needs_response", "under_review"}, nil, all{"lost"}, nil), func(t *testing.T, s *shop, state string) int {
			a := fakestripe.New()
			a[fakestripe.Checkout]["payment_status"] = "paid"
			a[fakestripe.Dispute]["payment_intent"], a[fakestripe.Dispute]["status"] = fakestripe.Intent, state
			return s.send("stripe", stripeOf(a).Handler(s.sales), a.Event("checkout.session.completed", fakestripe.Checkout, "")).Code
		}},
		"paddle subscription": {"pri", "paddle:sub:pro", states(all{"trialing", "active", "past_due"}, all{"paused"}, all{"canceled"}, nil, nil), func(t *testing.T, s *shop, state string) int {
			paddle := newPaddleShop(t)
			paddle.sub["status"] = state
			paddle.putSub()
			return s.send("paddle", paddle.paddle.Handler(s.sales), []byte(`{"event_type":"subscription.updated","data":{"id":"sub"}}`)).Code
		}},
		"paddle transaction": {"pri_once", "paddle:txnitm_once", states(all{"completed"}, nil, nil, nil, all{"draft", "ready", "billed", "paid", "past_due", "canceled"}), func(t *testing.T, s *shop, state string) int {
			return sendPaddleOnce(t, s, state)
		}},
		"paddle adjustment": {"pri_once", "paddle:txnitm_once", states(all{"credit", "credit_reverse", "chargeback_warning", "chargeback_warning_reverse", "chargeback_reverse"}, all{"chargeback"}, nil, all{"refund"}, nil), func(t *testing.T, s *shop, state string) int {
			return sendPaddleOnce(t, s, "completed", adjustment(state, "approved"))
		}},
		"paddle approval": {"pri_once", "paddle:txnitm_once", states(all{"pending_approval", "rejected", "reversed"}, nil, nil, all{"approved"}, nil), func(t *testing.T, s *shop, state string) int {
			return sendPaddleOnce(t, s, "completed", adjustment("refund", state))
		}},
		"polar subscription": {"prod", "polar:s", stripe, func(t *testing.T, s *shop, state string) int {
			return s.polar(t, Polar{Secrets: []string{secret}}, "subscription.updated", s.polarSub("s", state, 1, nil))
		}},
		"polar order": {"prod", "polar:o", states(all{"paid", "partially_refunded"}, nil, nil, all{"refunded"}, all{"pending", "draft", "void"}), func(t *testing.T, s *shop, state string) int {
			return s.polar(t, Polar{Secrets: []string{secret}}, "order.updated", s.polarSub("o", state, 1, nil))
		}},
		"lemonsqueezy subscription": {"7", "lemonsqueezy:8", states(all{"on_trial", "active", "past_due", "cancelled"}, all{"paused", "unpaid"}, all{"expired"}, nil, nil), func(t *testing.T, s *shop, state string) int {
			return s.send("lemonsqueezy", LemonSqueezy{Secrets: []string{secret}}.Handler(s.sales), []byte(text(object{"data": lemonSub(8, state, at, nil)}))).Code
		}},
		"lemonsqueezy order": {"7", "lemonsqueezy:8", states(all{"paid", "partial_refund"}, all{"fraudulent"}, nil, all{"refunded"}, all{"pending", "failed"}), func(t *testing.T, s *shop, state string) int {
			return s.send("lemonsqueezy", LemonSqueezy{Secrets: []string{secret}}.Handler(s.sales), []byte(text(object{"data": lemonOrder(8, state, at, at)}))).Code
		}},
	} {
		for meaning, states := range c.states {
			for _, state := range states {
				t.Run(name+" "+state, func(t *testing.T) {
					is := is.New(t)
					s := newShop(t, c.plan)
					is.Equal(c.send(t, s, state), http.StatusOK)
					f, err := s.sales.GetPurchase(t.Context(), c.reference)
					if meaning == "" {
						require.ErrorIs(t, err, api.ErrNotFound)
						return
					}
					is.NoErr(err)
					is.Equal([]bool{f.FirstActiveAt != nil, f.Fields["state"].Value == api.PurchasePaused, f.EndedAt != nil, f.RefundedAt != nil},
						[]bool{meaning == api.PurchaseActive, meaning == api.PurchasePaused, meaning == api.PurchaseEnded, meaning == api.PurchaseRefunded})
				})
			}
		}
	}
}

// sendPaddleOnce sends a transaction of what was paid once.
func sendPaddleOnce(t *testing.T, s *shop, status string, adjustments ...object) int {
	f, url := newAPI(t)
	once := transaction("once", "900", adjustments...)
	once["status"], once["subscription_id"], once["items"] = status, nil, []object{{"price": object{"id": "pri_once", "billing_cycle": nil}}}
	once["details"].(object)["line_items"] = []object{{"id": "txnitm_once", "price_id": "pri_once", "quantity": 1}}
	f.set("/transactions/once", text(object{"data": once}))
	return s.send("paddle", Paddle{Key: "key", Secrets: []string{secret}, URL: url}.Handler(s.sales), []byte(`{"event_type":"transaction.completed","data":{"id":"once"}}`)).Code
}

// TestStatesOfTheSeller: States also changes the meaning of a known state. A subscription whose
// state says nothing stores nothing, and is no problem any more.
func TestStatesOfTheSeller(t *testing.T) {
	is := is.New(t)
	s := newPaddleShop(t)
	for _, id := range []string{"prod", "7"} {
		_, err := s.sales.PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: "atlas"})
		is.NoErr(err)
	}
	polar := Polar{Secrets: []string{secret}}
	lemon := LemonSqueezy{Secrets: []string{secret}}
	fails := func(provider string, code int, want bool) {
		t.Helper()
		is.Equal([]bool{code != http.StatusOK, s.failing(t, provider) != ""}, []bool{want, want})
	}
	send := func() {
		s.tick()
		fails("paddle", s.send("paddle", s.paddle.Handler(s.sales), []byte(`{"event_type":"subscription.updated","data":{"id":"sub"}}`)).Code, s.paddle.States == nil)
		fails("polar", s.polar(t, polar, "subscription.updated", s.polarSub("s", "hibernating", 1, nil)), polar.States == nil)
		body := []byte(text(object{"data": lemonSub(8, "hibernating", "2026-01-01T00:00:00Z", nil)}))
		fails("lemonsqueezy", s.send("lemonsqueezy", lemon.Handler(s.sales), body).Code, lemon.States == nil)
	}
	s.sub["status"] = "hibernating"
	s.putSub()
	send()
	nothing := map[string]api.PurchaseState{"hibernating": ""}
	s.paddle.States, polar.States, lemon.States = nothing, nothing, nothing
	send()
	for _, reference := range []string{"paddle:sub:pro", "polar:s", "lemonsqueezy:8"} {
		_, err := s.sales.GetPurchase(t.Context(), reference)
		is.True(errors.Is(err, api.ErrNotFound))
	}
	polar.States = map[string]api.PurchaseState{"past_due": "paused"}
	is.Equal(s.polar(t, polar, "subscription.updated", s.polarSub("s", "active", 2, nil)), http.StatusOK)
	is.Equal(s.polar(t, polar, "subscription.updated", s.polarSub("s", "past_due", 3, nil)), http.StatusOK)
	is.Equal(s.status(t, "polar:s"), api.LicenseSuspended)
}

// TestPaddleScheduledPause: a pause that is scheduled does not end the renewal.
func TestPaddleScheduledPause(t *testing.T) {
	is := is.New(t)
	s := newPaddleShop(t)
	s.sub["scheduled_change"] = object{"action": "pause", "effective_at": s.now.Add(time.Hour)}
	s.putSub()
	s.event(t, "subscription.updated", `{"id":"sub"}`)
	f, err := s.sales.GetPurchase(t.Context(), "paddle:sub:pro")
	is.NoErr(err)
	is.Equal(f.Fields["renews"].Value, true)
}
