package payment_test

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/payment"
)

// mountPayments mounts the webhook of Stripe and the page after the payment, and reads every
// night what events have missed, until ctx is done.
func mountPayments(ctx context.Context, mux *http.ServeMux, h *licensing.Handler, account payment.Stripe) {
	mux.Handle("/payments/stripe", account.Handler(h.Selling()))
	mux.Handle("GET /thanks", account.Thanks(h.Selling()))
	for ctx.Err() == nil {
		if err := account.Sync(ctx, h.Selling()); err != nil {
			slog.Error("read what was sold", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(24 * time.Hour):
		}
	}
}
