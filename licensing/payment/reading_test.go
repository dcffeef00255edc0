package payment

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A hooked transport calls a function after each answer.
type hooked struct {
	http.RoundTripper
	after func(r *http.Request)
}

func (h hooked) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	h.after(r)
	return resp, err
}

// TestInstantIsBeforeTheRead: what is read counts from the instant before the read, or a slow
// answer beats the event that comes while it is on its way.
func TestInstantIsBeforeTheRead(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	a[fakestripe.Checkout]["payment_status"] = "paid"
	paddle := newPaddleShop(t)
	slow := func(s *shop, transport http.RoundTripper) *http.Client {
		return &http.Client{Transport: hooked{transport, func(*http.Request) { s.tick() }}}
	}
	account := stripeOf(a)
	account.Client = slow(s, a)
	paddle.paddle.Client = slow(paddle.shop, http.DefaultTransport)
	for _, c := range []struct {
		shop      *shop
		record    func() error
		reference string
	}{
		{s, func() error { _, err := account.RecordCheckout(t.Context(), s.sales, fakestripe.Checkout); return err }, stripeOnceRef},
		{s, func() error {
			_, err := account.with(s.sales).recordSubscription(t.Context(), fakestripe.Subscription)
			return err
		}, stripeItemRef},
		{paddle.shop, func() error { _, err := paddle.paddle.RecordTransaction(t.Context(), paddle.sales, "once"); return err }, "paddle:txnitm_1"},
		{paddle.shop, func() error {
			_, err := paddle.paddle.with(paddle.sales).recordSubscription(t.Context(), "sub")
			return err
		}, "paddle:sub:pro"},
	} {
		before := c.shop.now
		is.NoErr(c.record())
		is.True(c.shop.now.After(before))
		f, err := c.shop.sales.GetPurchase(t.Context(), c.reference)
		is.NoErr(err)
		is.True(f.Fields["state"].At.Equal(before))
	}
}

// TestPaddleAsks: the transactions of a subscription are asked for with the newest first, those
// that are completed, and with their adjustments; Sync asks for no subscription that has ended.
func TestPaddleAsks(t *testing.T) {
	is := is.New(t)
	s := newPaddleShop(t)
	s.api.set("/subscriptions", `{"data":[{"id":"sub"}]}`)
	s.api.set("/transactions?billed_at", `{"data":[]}`)
	is.NoErr(s.paddle.Sync(t.Context(), s.sales))
	asked := fmt.Sprint(s.api.asked)
	require.Contains(t, asked, "/transactions?include=adjustments&order_by=billed_at%5BDESC%5D&status=completed&subscription_id=sub", "/subscriptions?status=active%2Cpast_due%2Cpaused%2Ctrialing ")
}

// TestSyncStops: a Sync whose context ends reads and records nothing more.
func TestSyncStops(t *testing.T) {
	for name, sync := range map[string]func(ctx context.Context, s *shop, client func(http.RoundTripper) *http.Client) error{
		"stripe": func(ctx context.Context, s *shop, client func(http.RoundTripper) *http.Client) error {
			a := fakestripe.New()
			account := stripeOf(a)
			account.Client = client(a)
			return account.Sync(ctx, s.sales)
		},
		"polar": func(ctx context.Context, s *shop, client func(http.RoundTripper) *http.Client) error {
			f, url := newAPI(t)
			f.set("/v1/subscriptions/", text(object{"items": []object{s.polarSub("s", "active", 1, nil)}, "pagination": object{"max_page": 9}}))
			err := Polar{Key: "key", URL: url, Client: client(http.DefaultTransport)}.Sync(ctx, s.sales)
			is.New(t).Equal(len(f.asked), 1)
			return err
		},
		"lemonsqueezy": func(ctx context.Context, s *shop, client func(http.RoundTripper) *http.Client) error {
			f, url := newAPI(t)
			f.set("/v1/subscriptions", text(object{"data": []object{lemonSub(8, "active", "2026-01-01T00:00:00Z", nil)}, "meta": object{"page": object{"lastPage": 9}}}))
			err := LemonSqueezy{Key: "key", URL: url, Client: client(http.DefaultTransport)}.Sync(ctx, s.sales)
			is.New(t).Equal(len(f.asked), 1)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newShop(t, "price_pro", "prod", "7")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := sync(ctx, s, func(transport http.RoundTripper) *http.Client {
				return &http.Client{Transport: hooked{transport, func(*http.Request) { cancel() }}}
			})
			require.ErrorIs(t, err, context.Canceled)
			is.Equal(strings.Count(err.Error(), "\n"), 0)
			page, err := s.rules.List(t.Context(), api.ListLicensesParams{})
			is.NoErr(err)
			is.Equal(len(page.Data), 0)
		})
	}
}

// A busy transport answers that it is busy, and then with an empty list.
type busy struct {
	after func() string
	asked []time.Time
}

func (b *busy) RoundTrip(*http.Request) (*http.Response, error) {
	b.asked = append(b.asked, time.Now())
	if len(b.asked) > 1 {
		return answer(http.StatusOK, `{"data":[],"has_more":false}`), nil
	}
	resp := answer(http.StatusServiceUnavailable, "busy")
	resp.Header.Set("Retry-After", b.after())
	return resp, nil
}

// TestSyncWaitsAsLongAsAsked: Retry-After is a number of seconds or a date; one that is neither
// is 2 seconds, and more than 10 minutes is an error.
func TestSyncWaitsAsLongAsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		after func() string
		want  time.Duration
	}{
		"seconds": {func() string { return "300" }, 5 * time.Minute},
		"date":    {func() string { return time.Now().Add(2 * time.Minute).UTC().Format(http.TimeFormat) }, 2 * time.Minute},
		"none":    {func() string { return "" }, 2 * time.Second},
		"long":    {func() string { return "601" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				b := &busy{after: c.after}
				// A key of its own: what waits for an account belongs to the bubble.
				err := Stripe{Key: rand.Text(), Client: &http.Client{Transport: b}}.Sync(t.Context(), newShop(t).sales)
				if c.want == 0 {
					require.Contains(t, err.Error(), "503: busy")
					return
				}
				is.NoErr(err)
				is.Equal(b.asked[1].Sub(b.asked[0]), c.want)
			})
		})
	}
}
