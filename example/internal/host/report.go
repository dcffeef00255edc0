package host

import (
	"fmt"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// handleReport adds a page that only those see who have a license for it: of
// this product, with this in it, valid now. Whoever asks shows the key.
func handleReport(mux *http.ServeMux, h *licensing.Handler) {
	gate := h.Require(licensing.Gate{
		ProductID:   "atlas",
		Entitlement: "export",
		Key:         func(r *http.Request) string { return r.Header.Get("License-Key") },
		OnOutage:    licensing.OutageDeny,
	})
	mux.Handle("GET /report", gate(http.HandlerFunc(report)))
}

// report is behind the gate, and knows the license that opened it.
func report(w http.ResponseWriter, r *http.Request) {
	l, _ := licensing.LicenseFrom(r.Context())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprintf(w, "The report for %s, under the license %q.\n", l.CustomerID, l.Name)
}
