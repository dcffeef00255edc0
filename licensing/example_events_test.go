package licensing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// mailSubscriber sends the key of each new license to its customer. Events
// contain no keys, so it gets the license.
func mailSubscriber(
	get func(ctx context.Context, id string) (api.License, error),
	mail func(ctx context.Context, customerID, text string) error,
) licensing.Subscriber {
	return licensing.Subscriber{
		Name:      "mail",
		Types:     []string{api.EventLicenseCreated},
		FromStart: true,
		Handle: func(ctx context.Context, e api.Event) error {
			l, err := get(ctx, e.Subject)
			if errors.Is(err, api.ErrNotFound) {
				return nil // the license was deleted in the meantime: nothing to do
			}
			if err != nil {
				return err // the event is retried after a pause, and later events wait
			}
			return mail(ctx, l.CustomerID, "The key of "+l.Name+" is "+l.Key)
		},
	}
}

// A subscriber gets each event at least once, after its change is committed,
// and continues where it stopped after a restart.
func ExampleSubscriber() {
	ctx, cancel := context.WithCancel(context.Background())
	mail := func(_ context.Context, customerID, text string) error {
		fmt.Printf("to %s: %s\n", customerID, text)
		cancel()
		return nil
	}
	var h *licensing.Handler
	get := func(ctx context.Context, id string) (api.License, error) { return h.Service().Get(ctx, id) }
	h = licensing.NewHandler(memory.New(), licensing.Options{
		Logger:      slog.New(slog.DiscardHandler),
		Subscribers: []licensing.Subscriber{mailSubscriber(get, mail)},
	})

	create := func(customerID, key string) api.License {
		l, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: customerID, Key: key})
		if err != nil {
			panic(err)
		}
		return l
	}
	deleted := create("ada", "ATLAS-0001-4711-0001") // a given key, because a generated one is random
	if err := h.Service().Delete(ctx, api.DeleteLicenseParams{ID: deleted.ID}); err != nil {
		panic(err)
	}
	create("grace", "ATLAS-0002-4711-0002")

	var work sync.WaitGroup
	work.Go(func() { h.Run(ctx) })
	work.Wait()
	// Output: to grace: The key of Atlas is ATLAS-0002-4711-0002
}
