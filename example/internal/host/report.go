package host

import (
	"fmt"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// handleReport adds a page that needs a valid license of one product with one
// entitlement. The request carries the license key.
func handleReport(mux *http.ServeMux, h *licensing.Handler) {
	require := h.Require(licensing.Requirement{
		ProductID:   "atlas",
		Entitlement: "export",
		Key:         func(r *http.Request) string { return r.Header.Get("License-Key") },
	})
	mux.Handle("GET /report", require(http.HandlerFunc(report)))
}

// report is called with the license in the context of its request.
func report(w http.ResponseWriter, r *http.Request) {
	l, _ := licensing.LicenseFrom(r.Context())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprintf(w, "The report for %s, under the license %q.\n", l.CustomerID, l.Name)
}
