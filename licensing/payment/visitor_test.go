package payment

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestForgedDoesNothing: an event that is not signed by the provider stores nothing, and nothing
// is read because of it.
func TestForgedDoesNothing(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "price_pro", "pri", "prod", "7")
	asked := 0
	client := &http.Client{Transport: hooked{http.DefaultTransport, func(*http.Request) { asked++ }}}
	secrets := []string{"another secret"}
	for provider, c := range map[string]struct {
		handler http.Handler
		body    string
	}{
		"stripe":       {Stripe{Key: "k", Secrets: secrets, Client: client, URL: "http://127.0.0.1:0"}.Handler(s.sales), string(fakestripe.New().Event("customer.subscription.updated", fakestripe.Subscription, ""))},
		"paddle":       {Paddle{Key: "k", Secrets: secrets, Client: client, URL: "http://127.0.0.1:0"}.Handler(s.sales), `{"event_type":"subscription.created","data":{"id":"sub"}}`},
		"polar":        {Polar{Secrets: secrets}.Handler(s.sales), text(object{"type": "order.paid", "data": s.polarSub("o", "paid", 1, nil)})},
		"lemonsqueezy": {LemonSqueezy{Secrets: secrets}.Handler(s.sales), text(object{"data": lemonSub(8, "active", "2026-01-01T00:00:00Z", nil)})},
	} {
		is.Equal(s.send(provider, c.handler, []byte(c.body)).Code, http.StatusBadRequest)
	}
	page, err := s.rules.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal([]int{len(page.Data), asked}, []int{0, 0})
}

// TestPolarSignatures: each signature of the header counts.
func TestPolarSignatures(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	r := s.signed("polar", []byte(`{"type":"other"}`))
	r.Header.Set("Webhook-Signature", "v1,"+strings.Repeat("A", 44)+" "+r.Header.Get("Webhook-Signature"))
	w := httptest.NewRecorder()
	Polar{Secrets: []string{secret}}.Handler(s.sales).ServeHTTP(w, r)
	is.Equal(w.Code, http.StatusOK)
}

// TestVisitorsNameNoCustomer: what a visitor can set in a checkout, and metadata, name neither a
// customer nor a license.
func TestVisitorsNameNoCustomer(t *testing.T) {
	is := is.New(t)
	s := newPaddleShop(t)
	for _, id := range []string{"prod", "7"} {
		_, err := s.sales.PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: "atlas"})
		is.NoErr(err)
	}
	victim, err := s.rules.Create(t.Context(), api.CreateLicenseParams{Name: "Victim", ProductID: "atlas", CustomerID: "666"})
	is.NoErr(err)
	named := map[string]string{}
	for _, name := range []string{"customer_id", "customerId", "customer", "user_id", "userId", "account", "client_reference_id"} {
		named[name] = "666"
	}
	for _, name := range []string{"license_id", "licenseId", "license", "reference"} {
		named[name] = victim.ID
	}
	s.sub["custom_data"] = named
	s.putSub()
	cart := transaction("cart", "900")
	cart["custom_data"], cart["items"] = named, []object{{"price": object{"id": "pri", "billing_cycle": nil}}}
	s.transactions(cart)
	s.event(t, "transaction.completed", `{"id":"cart","custom_data":`+text(named)+`}`)
	p := Polar{Secrets: []string{secret}}
	is.Equal(s.polar(t, p, "order.paid", s.polarSub("o", "paid", 1, object{"metadata": named, "custom_field_data": named})), http.StatusOK)
	body := text(object{"meta": object{"event_name": "order_created", "custom_data": named}, "data": lemonOrder(8, "paid", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")})
	is.Equal(s.send("lemonsqueezy", LemonSqueezy{Secrets: []string{secret}}.Handler(s.sales), []byte(body)).Code, http.StatusOK)
	for reference, want := range map[string]string{"paddle:sub:pro": "ctm", "paddle:txnitm_sub": "ctm", "polar:o": "c-1", "lemonsqueezy:8": "lemonsqueezy:5"} {
		f, err := s.sales.GetPurchase(t.Context(), reference)
		is.NoErr(err)
		is.Equal([]any{f.CustomerID, f.License.CustomerID}, []any{want, want})
		is.True(f.LicenseID != victim.ID)
	}
}
