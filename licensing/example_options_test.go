package licensing_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// Every license is for a product that is for sale, and a trial ends after 14
// days, whether it is created over HTTP, in the dashboard or from Go.
func ExampleOptions_beforeCreate() {
	products := []string{"atlas", "beacon"}
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	h := licensing.NewHandler(memory.New(), licensing.Options{
		Now:    now,
		Logger: slog.New(slog.DiscardHandler),
		BeforeCreate: func(_ context.Context, p *api.CreateLicenseParams) error {
			if !slices.Contains(products, p.ProductID) {
				return api.Invalid("product_id", api.FieldUnknown, "must be a product that is for sale")
			}
			if p.Metadata["plan"] == "trial" && p.ExpiresAt == nil {
				end := now().AddDate(0, 0, 14)
				p.ExpiresAt = &end
			}
			return nil
		},
	})

	ctx := context.Background()
	trial, err := h.Service().Create(ctx, api.CreateLicenseParams{
		Name: "Atlas trial", ProductID: "atlas", CustomerID: "ada", Metadata: map[string]string{"plan": "trial"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(trial.ExpiresAt.Format(time.DateOnly))
	_, err = h.Service().Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "altas", CustomerID: "ada"})
	fmt.Println(err)
	// Output:
	// 2026-03-15
	// before create: product_id must be a product that is for sale
}

// clientIP trusts X-Real-IP in requests from a proxy on this machine only.
func clientIP(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{} // unknown
	}
	if peer.Addr().Unmap().IsLoopback() {
		if forwarded, err := netip.ParseAddr(r.Header.Get("X-Real-IP")); err == nil {
			return forwarded
		}
	}
	return peer.Addr().Unmap()
}

// Behind a proxy, rate limits count by the address that the proxy reports. A
// header that the client itself sent is ignored.
func ExampleOptions_clientIP() {
	licensing.NewHandler(memory.New(), licensing.Options{ClientIP: clientIP})

	for _, tt := range []struct{ peer, header string }{
		{"127.0.0.1:999", "203.0.113.7"},
		{"[::ffff:127.0.0.1]:999", "203.0.113.7"},
		{"127.0.0.1:999", ""},
		{"198.51.100.2:999", "203.0.113.7"}, // not from the proxy
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		r.Header.Set("X-Real-IP", tt.header)
		fmt.Println(clientIP(r))
	}
	// Output:
	// 203.0.113.7
	// 203.0.113.7
	// 127.0.0.1
	// 198.51.100.2
}
