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

// Go code gets each event at least once, after its change is committed, and
// goes on where it was after a restart.
func ExampleSubscriber() {
	ctx, cancel := context.WithCancel(context.Background())
	mail := func(text, licenseID string) error {
		fmt.Println(text)
		cancel()
		return nil
	}

	h := licensing.NewHandler(memory.New(), licensing.Options{
		Logger: slog.New(slog.DiscardHandler),
		Subscribers: []licensing.Subscriber{{
			Name:      "mail",
			Types:     []string{license.EventLicenseCreated, license.EventLicenseExpiring},
			FromStart: true,
			Handle: func(ctx context.Context, e license.Event) error {
				err := mail(e.Type+" for "+e.CustomerID, e.Subject)
				if errors.Is(err, license.ErrNotFound) {
					return nil // the license was deleted since: nothing to do
				}
				return err // an error: the event comes again, and the ones after it wait
			},
		}},
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
