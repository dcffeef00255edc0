package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// payments returns the webhooks of payment providers, and the page after a payment at Stripe, by
// their paths.
func (c config) payments(sales *selling.Service) map[string]http.Handler {
	all := map[string]http.Handler{}
	if s := c.Payments.Stripe; s != nil {
		s.ClientIP = c.Options.ClientIP
		if s.PortalURL == "" {
			s.PortalURL = c.Options.PortalURL
		}
		all["/payments/stripe/thanks"] = s.Thanks(sales)
	}
	for _, a := range c.Payments.Accounts() {
		all["/payments/"+strings.ToLower(a.Name)] = a.Handler(sales)
	}
	return all
}

// syncPayments reads what events have missed from each provider, at start and then at its
// interval, until ctx ends.
func (c config) syncPayments(ctx context.Context, sales *selling.Service) {
	var work sync.WaitGroup
	defer work.Wait()
	for _, a := range c.Payments.Accounts() {
		if !a.Syncs {
			continue
		}
		every := 24 * time.Hour
		if a.Name == "Polar" { // which sends an event once only, if the handler answers 200
			every = time.Hour
		}
		work.Go(func() {
			for ctx.Err() == nil {
				if err := syncOnce(ctx, a, sales); err != nil && ctx.Err() == nil {
					slog.ErrorContext(ctx, "purchases could not be read from a payment provider", "provider", a.Name, "error", err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(every):
				}
			}
		})
	}
}

// syncOnce returns a panic as an error: a fault of one provider ends nothing else.
func syncOnce(ctx context.Context, a settings.Account, sales *selling.Service) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return a.Sync(ctx, sales)
}
