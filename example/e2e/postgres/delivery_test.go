package postgres_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// TestTwoRunsDeliverEachEventOnce runs two handlers, as two processes would, that
// create licenses and deliver their events concurrently.
func TestTwoRunsDeliverEachEventOnce(t *testing.T) {
	is := is.New(t)
	const hosts, each, hooks = 2, 100, 2
	var mu sync.Mutex
	came := map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		came[r.URL.Path+" "+r.Header.Get("webhook-id")]++
	}))
	defer receiver.Close()

	handled := map[string]int{}
	one, other := open(t, "pgx", sharedDSN(t)), open(t, "postgres", sharedDSN(t))
	schema := newSchema(t, one)
	handlers := []*licensing.Handler{
		licensing.NewHandler(newStore(t, one, schema), deliveryOptions(&mu, handled)),
		licensing.NewHandler(newStore(t, other, schema), deliveryOptions(&mu, handled)),
	}
	for _, path := range []string{"/a", "/b"} {
		_, _, err := handlers[0].Webhooks().Create(t.Context(), api.CreateWebhookParams{
			URL: receiver.URL + path, Types: []string{api.EventLicenseCreated},
		})
		is.NoErr(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var running, creating sync.WaitGroup
	for _, h := range handlers {
		running.Go(func() { is.NoErr(h.Run(ctx)) })
		creating.Go(func() {
			for range each {
				_, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
				is.NoErr(err)
			}
		})
	}
	creating.Wait()
	done := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(came) == hosts*each*hooks && len(handled) == hosts*each
	}
	for !done() && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	running.Wait()
	is.Equal(len(came), hosts*each*hooks)
	is.Equal(len(handled), hosts*each)
	for _, n := range came {
		is.Equal(n, 1)
	}
}

// deliveryOptions have a subscriber that counts its events.
func deliveryOptions(mu *sync.Mutex, handled map[string]int) licensing.Options {
	return licensing.Options{
		Logger: slog.New(slog.DiscardHandler), PollInterval: 10 * time.Millisecond,
		Webhooks: webhook.Options{AllowPrivate: true},
		Subscribers: []licensing.Subscriber{{
			Name: "count", FromStart: true, Types: []string{api.EventLicenseCreated},
			Handle: func(_ context.Context, e api.Event) error {
				mu.Lock()
				defer mu.Unlock()
				handled[e.ID]++
				return nil
			},
		}},
	}
}
