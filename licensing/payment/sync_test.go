package payment

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// TestStripeSync: what no event has said is read, of subscriptions that have not ended and of
// what was paid once in the last 7 days, and one error does not stop it.
func TestStripeSync(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	a[fakestripe.Checkout]["payment_status"] = "paid"
	for _, id := range []string{"sub_0", "sub_1", "sub_2", "sub_9"} { // over several pages
		sub := map[string]any{}
		for name, v := range a[fakestripe.Subscription] {
			sub[name] = v
		}
		sub["id"], sub["status"], sub["items"] = id, "hibernating "+id, map[string]any{"data": []any{}}
		a[id] = sub
	}
	a["sub_9"]["status"] = "canceled"
	old := map[string]any{}
	for name, v := range a[fakestripe.Checkout] {
		old[name] = v
	}
	old["id"], old["created"] = "cs_old", s.now.AddDate(0, 0, -8).Unix()
	a["cs_old"] = old
	err := stripeOf(a).Sync(t.Context(), s.sales)
	for _, id := range []string{"sub_0", "sub_1", "sub_2"} {
		require.Contains(t, err.Error(), "hibernating "+id)
	}
	require.NotContains(t, err.Error(), "cs_old", "sub_9")
	is.Equal([]api.LicenseStatus{s.status(t, stripeItemRef), s.status(t, stripeOnceRef)}, []api.LicenseStatus{"active", "active"})
}

// TestClocks: whatever our clock is, a Sync does not beat the pause and the end that follow it.
func TestClocks(t *testing.T) {
	for _, off := range []time.Duration{-5 * time.Minute, 0, 5 * time.Minute} {
		t.Run(off.String(), func(t *testing.T) {
			is := is.New(t)
			theirs := time.Now().Truncate(time.Second)
			at := func(seconds int) string {
				return theirs.Add(time.Duration(seconds-3600) * time.Second).UTC().Format(time.RFC3339)
			}
			s, a := subscribed(t)
			s.now = theirs.Add(off)
			is.NoErr(stripeOf(a).Sync(t.Context(), s.sales))
			for status, want := range states("unpaid", "canceled") {
				a[fakestripe.Subscription]["status"] = status
				s.stripe(t, a, "customer.subscription.updated", fakestripe.Subscription)
				is.Equal(s.status(t, stripeItemRef), want)
			}

			paddle := newPaddleShop(t)
			paddle.now = theirs.Add(off)
			paddle.api.set("/subscriptions", `{"data":[{"id":"sub"}]}`)
			paddle.api.set("/transactions", `{"data":[]}`)
			is.NoErr(paddle.paddle.Sync(t.Context(), paddle.sales))
			for status, want := range states("paused", "canceled") {
				paddle.sub["status"] = status
				paddle.putSub()
				paddle.event(t, "subscription.updated", `{"id":"sub"}`)
				is.Equal(paddle.status(t, "paddle:sub:pro"), want)
			}

			s = newShop(t, "prod", "7")
			s.now = theirs.Add(off)
			f, url := newAPI(t)
			polar := Polar{Secrets: []string{secret}, Key: "key", URL: url}
			sub := func(status string, seconds int) object {
				return s.polarSub("s", status, 1, object{"modified_at": at(seconds)})
			}
			f.set("/v1/subscriptions/", text(object{"items": []object{sub("active", 0)}, "pagination": object{"max_page": 1}}))
			f.set("/v1/orders/", `{"items":[],"pagination":{"max_page":0}}`)
			is.NoErr(polar.Sync(t.Context(), s.sales))
			is.Equal(s.status(t, "polar:s"), api.LicenseActive)
			n := 0
			for status, want := range states("paused", "canceled") {
				n++
				is.Equal(s.polar(t, polar, "subscription.updated", sub(status, n)), http.StatusOK)
				is.Equal(s.status(t, "polar:s"), want)
			}

			f.set("/v1/subscriptions", text(object{"data": []object{lemonSub(8, "active", at(0), nil)}}))
			f.set("/v1/orders", `{"data":[]}`)
			lemon := LemonSqueezy{Secrets: []string{secret}, Key: "key", URL: url}
			is.NoErr(lemon.Sync(t.Context(), s.sales))
			is.Equal(s.status(t, "lemonsqueezy:8"), api.LicenseActive)
			for status, want := range states("paused", "expired") {
				n++
				s.lemon(t, lemon, lemonSub(8, status, at(n), nil))
				is.Equal(s.status(t, "lemonsqueezy:8"), want)
			}
		})
	}
}

// states are a provider's words for a pause and for the end, and the status of the license
// then.
func states(pause, end string) iter.Seq2[string, api.LicenseStatus] {
	return func(yield func(string, api.LicenseStatus) bool) {
		_ = yield(pause, api.LicenseSuspended) && yield(end, api.LicenseExpired)
	}
}

// TestSyncNeedsAKey: without one, the error says so.
func TestSyncNeedsAKey(t *testing.T) {
	s := newShop(t)
	for _, p := range []interface {
		Sync(context.Context, *selling.Service) error
	}{Stripe{}, Paddle{}, Polar{}, LemonSqueezy{}} {
		err := p.Sync(t.Context(), s.sales)
		is.New(t).True(err != nil)
		require.Contains(t, err.Error(), "needs Key")
	}
}

// TestSyncWaits: Sync waits as long as the provider asks for, and stops when its context is
// done; a webhook does not wait.
func TestSyncWaits(t *testing.T) {
	is := is.New(t)
	var asked atomic.Int64
	after := "0"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); n <= 2 || after == "600" {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = w.Write([]byte(`{"data":[],"has_more":false}`))
	}))
	defer server.Close()
	s := newShop(t)
	account := Stripe{Key: "k", Secrets: []string{secret}, URL: server.URL}
	is.NoErr(account.Sync(t.Context(), s.sales))
	is.Equal(asked.Load(), int64(4))
	after = "600"
	w := s.send("stripe", account.Handler(s.sales), []byte(`{"object":"event","type":"invoice.paid","data":{"object":{"id":"in_1"}}}`))
	is.Equal(w.Code, http.StatusInternalServerError)
	require.Contains(t, w.Body.String(), "429")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := account.Sync(ctx, s.sales)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	is.Equal(strings.Count(err.Error(), "\n"), 0)
}

// TestSyncOfAnAccountIsOne: a second Sync of an account waits for the first.
func TestSyncOfAnAccountIsOne(t *testing.T) {
	is := is.New(t)
	var now, most atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		_, _ = w.Write([]byte(`{"data":[],"has_more":false}`))
	}))
	defer server.Close()
	s := newShop(t)
	done := make(chan error)
	for range 4 {
		go func() { done <- Stripe{Key: "k", URL: server.URL}.Sync(t.Context(), s.sales) }()
	}
	for range 4 {
		is.NoErr(<-done)
	}
	is.Equal(most.Load(), int64(1))
}

// TestConcurrentEvents: an event that is delivered eight times at the same time makes one
// license, and is no problem.
func TestConcurrentEvents(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	paddle := newPaddleShop(t)
	for _, id := range []string{"prod", "7"} {
		_, err := s.sales.PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: "atlas"})
		is.NoErr(err)
	}
	for provider, c := range map[string]struct {
		shop *shop
		h    http.Handler
		body []byte
	}{
		"stripe":       {s, stripeOf(a).Handler(s.sales), a.Event("customer.subscription.updated", fakestripe.Subscription, "")},
		"paddle":       {paddle.shop, paddle.paddle.Handler(paddle.sales), []byte(`{"event_type":"subscription.created","data":{"id":"sub"}}`)},
		"polar":        {s, Polar{Secrets: []string{secret}}.Handler(s.sales), []byte(text(object{"type": "order.paid", "data": s.polarSub("o", "paid", 1, nil)}))},
		"lemonsqueezy": {s, LemonSqueezy{Secrets: []string{secret}}.Handler(s.sales), []byte(text(object{"data": lemonSub(8, "active", "2026-01-01T00:00:00Z", nil)}))},
	} {
		before, err := c.shop.rules.List(t.Context(), api.ListLicensesParams{})
		is.NoErr(err)
		codes := make(chan int)
		for range 8 {
			go func() { codes <- c.shop.send(provider, c.h, c.body).Code }()
		}
		for range 8 {
			is.Equal(<-codes, http.StatusOK)
		}
		after, err := c.shop.rules.List(t.Context(), api.ListLicensesParams{})
		is.NoErr(err)
		is.Equal(len(after.Data)-len(before.Data), 1)
	}
}
