package host

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

// TestReport asks for the page behind the gate.
func TestReport(t *testing.T) {
	is := is.New(t)
	kit := licensingtest.New(t, licensing.Options{})
	create := func(product string, entitlements map[string]any) api.License {
		l, err := kit.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Team", ProductID: product, CustomerID: "cus_1", Terms: api.Terms{Entitlements: entitlements}})
		is.NoErr(err)
		return l
	}
	mux := http.NewServeMux()
	handleReport(mux, kit.Handler)
	ask := func(key string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/report", nil)
		r.Header.Set("License-Key", key)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}

	good := create("atlas", map[string]any{"export": true})
	status, page := ask(good.Key)
	is.Equal(status, http.StatusOK)
	is.Equal(page, "The report for cus_1, under the license \"Team\".\n")
	_, err := kit.Handler.Service().Suspend(t.Context(), api.ChangeStateParams{ID: good.ID})
	is.NoErr(err)
	for key, code := range map[string]string{
		"":       "license_required",
		good.Key: "suspended",
		create("beacon", map[string]any{"export": true}).Key: "product_mismatch",
		create("atlas", nil).Key:                             "entitlement_missing",
	} {
		status, page := ask(key)
		is.Equal(status, http.StatusForbidden)
		require.Contains(t, page, `"code":"`+code+`"`)
	}
}
