package licensing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func mailSubscriber(mail func(text, licenseID string) error) licensing.Subscriber {
	return licensing.Subscriber{
		Name:      "mail",
		Types:     []string{license.EventLicenseCreated, license.EventLicenseExpiring},
		FromStart: true,
		Handle: func(ctx context.Context, e license.Event) error {
			err := mail(e.Type+" for "+e.CustomerID, e.Subject)
			if errors.Is(err, license.ErrNotFound) {
				return nil // the license was deleted in the meantime: nothing to do
			}
			return err // the event is retried after a pause, and later events wait
		},
	}
}

// A subscriber gets each event at least once, after its change is committed,
// and continues where it stopped after a restart.
func ExampleSubscriber() {
	ctx, cancel := context.WithCancel(context.Background())
	mail := func(text, licenseID string) error {
		fmt.Println(text)
		cancel()
		return nil
	}

	h := licensing.NewHandler(memory.New(), licensing.Options{
		Logger:      slog.New(slog.DiscardHandler),
		Subscribers: []licensing.Subscriber{mailSubscriber(mail)},
	})
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })

	_, err := h.Service().Create(ctx, license.CreateParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada"})
	if err != nil {
		panic(err)
	}
	wg.Wait()
	// Output: license.created for ada
}
