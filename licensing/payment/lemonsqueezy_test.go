package payment

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

func lemonOrder(item int, status, created, updated string) object {
	return object{"type": "orders", "id": fmt.Sprint(1000 + item), "attributes": object{"customer_id": 5, "user_name": "Ada", "user_email": "ada@customer.example", "status": status,
		"first_order_item": object{"id": item, "variant_id": 7, "quantity": 2}, "created_at": created, "updated_at": updated}}
}

func lemonSub(item int, status, updated string, more object) object {
	is := object{"customer_id": 5, "order_item_id": item, "variant_id": 7, "status": status, "user_name": "Ada", "user_email": "ada@customer.example",
		"first_subscription_item": object{"quantity": 2}, "renews_at": "2099-01-01T00:00:00Z", "ends_at": nil, "created_at": updated, "updated_at": updated}
	for name, v := range more {
		is[name] = v
	}
	return object{"type": "subscriptions", "id": fmt.Sprint(500 + item), "attributes": is}
}

func (s *shop) lemon(t *testing.T, l LemonSqueezy, data object) {
	t.Helper()
	if w := s.send("lemonsqueezy", l.Handler(s.sales), []byte(text(object{"meta": object{"event_name": "any"}, "data": data}))); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// TestLemonSqueezyOrders: a refund of a part changes nothing, one that is called fraudulent is
// paused until that is over, and the refund of the whole ends it.
func TestLemonSqueezyOrders(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "7")
	at := func(seconds int) string {
		return s.now.Add(time.Duration(seconds-3600) * time.Second).UTC().Format(time.RFC3339)
	}
	l := LemonSqueezy{Secrets: []string{secret}}
	s.lemon(t, l, lemonOrder(8, "pending", at(0), at(0)))
	_, err := s.sales.GetPurchase(t.Context(), "lemonsqueezy:8")
	require.ErrorIs(t, err, api.ErrNotFound)
	for i, c := range []struct {
		status string
		want   api.LicenseStatus
	}{{"paid", "active"}, {"partial_refund", "active"}, {"fraudulent", "suspended"}, {"paid", "active"}, {"refunded", "expired"}} {
		s.lemon(t, l, lemonOrder(8, c.status, at(0), at(i)))
		is.Equal(s.status(t, "lemonsqueezy:8"), c.want)
	}
	f, err := s.sales.GetPurchase(t.Context(), "lemonsqueezy:8")
	is.NoErr(err)
	is.Equal([]any{f.CustomerID, *f.License.MaxActivations}, []any{"lemonsqueezy:5", int64(2)})
}

// TestLemonSqueezySubscription: the order that begins a subscription makes no second license
// in any order of events, its plan gives way to that of the subscription, and its refund does
// not end what the subscription pays for.
func TestLemonSqueezySubscription(t *testing.T) {
	s := newShop(t)
	at := func(seconds int) string {
		return s.now.Add(time.Duration(seconds-3600) * time.Second).UTC().Format(time.RFC3339)
	}
	events := []object{
		lemonOrder(8, "paid", at(1), at(1)), lemonSub(8, "active", at(2), nil), lemonSub(8, "active", at(3), object{"variant_id": 9}),
		lemonOrder(8, "paid", at(1), at(4)), lemonOrder(8, "refunded", at(1), at(5)),
	}
	for name, order := range map[string][]int{"in order": {0, 1, 2, 3, 4}, "late": {1, 2, 4, 3, 0}, "refund first": {4, 0, 1, 2}, "again": {0, 0, 2, 1, 4, 2, 3}} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newShop(t, "7", "9")
			f, url := newAPI(t)
			f.set("/v1/subscriptions?filter%5Border_id%5D=1008", `{"data":[{"id":"508"}]}`)
			for _, n := range order {
				s.lemon(t, LemonSqueezy{Secrets: []string{secret}, Key: "key", URL: url}, events[n])
			}
			page, err := s.rules.List(t.Context(), api.ListLicensesParams{})
			is.NoErr(err)
			is.Equal(len(page.Data), 1)
			is.Equal([]any{page.Data[0].Status, page.Data[0].PlanID}, []any{api.LicenseActive, "9"})
		})
	}
}

// TestLemonSqueezyStates: a subscription that is canceled is valid until it ends, events of its
// payments say nothing, and an unknown state is an error.
func TestLemonSqueezyStates(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "7")
	at := func(seconds int) string {
		return s.now.Add(time.Duration(seconds-3600) * time.Second).UTC().Format(time.RFC3339)
	}
	l := LemonSqueezy{Secrets: []string{secret}}
	end := s.now.AddDate(0, 1, 0).UTC().Truncate(time.Second)
	for i, c := range []struct {
		status string
		want   api.LicenseStatus
		renews bool
	}{{"on_trial", "active", true}, {"past_due", "active", true}, {"paused", "suspended", true}, {"unpaid", "suspended", true}, {"cancelled", "active", false}, {"expired", "expired", false}} {
		s.lemon(t, l, lemonSub(8, c.status, at(i), object{"ends_at": end}))
		is.Equal(s.status(t, "lemonsqueezy:8"), c.want)
		f, err := s.sales.GetPurchase(t.Context(), "lemonsqueezy:8")
		is.NoErr(err)
		is.Equal([]any{f.Fields["renews"].Value, *f.Fields["until"].Value.(*time.Time)}, []any{c.renews, end})
	}
	s.lemon(t, l, object{"type": "subscription-invoices", "id": "8", "attributes": object{"status": "refunded", "updated_at": at(9)}})
	for _, data := range []object{lemonSub(9, "hibernating", at(1), nil), lemonOrder(9, "hibernating", at(1), at(1))} {
		w := s.send("lemonsqueezy", l.Handler(s.sales), []byte(text(object{"data": data})))
		is.Equal(w.Code, http.StatusInternalServerError)
		require.Contains(t, w.Body.String(), `lemonsqueezy: the state "hibernating" of a`)
		known := l
		known.States = map[string]api.PurchaseState{"hibernating": ""}
		s.lemon(t, known, data)
	}
}
