package webhook_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A host sends its events to a receiver, which verifies their signature.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var secret string
	received := make(chan api.Event, 1)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			return
		}
		event, err := client.VerifyWebhook(secret, r.Header, body)
		if err != nil {
			http.Error(w, "wrong signature", http.StatusBadRequest)
			return
		}
		received <- event
	}))
	defer receiver.Close()

	h := licensing.NewHandler(memory.New(), licensing.Options{Webhooks: webhook.Options{
		AllowPrivate: true, Transport: receiver.Client().Transport, // for the receiver of this example
	}})
	hook, first, err := h.Webhooks().Create(ctx, api.CreateWebhookParams{URL: receiver.URL, Types: []string{"license.*"}})
	if err != nil {
		log.Fatal(err)
	}
	secret = first // show it once; the receiver keeps it
	if _, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "Atlas for Ada", ProductID: "atlas", CustomerID: "ada"}); err != nil {
		log.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() { h.Run(ctx) })
	fmt.Println((<-received).Type)
	stop()
	work.Wait()

	deliveries, err := h.Webhooks().Deliveries(context.Background(), api.ListDeliveriesParams{WebhookID: hook.ID})
	fmt.Println(len(deliveries.Data), err)
	// Output:
	// license.created
	// 1 <nil>
}
