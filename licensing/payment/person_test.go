package payment

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestWhatCustomersType: no name and no address that a customer types makes an event fail.
func TestWhatCustomersType(t *testing.T) {
	family := "👩\u200d👩\u200d👧"
	names := map[string][2]string{ // and the name of the license
		"empty": {"", "ada@customer.example"}, "spaces": {" \t\n ", "ada@customer.example"}, "two lines": {"Ada\nLovelace\t ", "Ada Lovelace"},
		"256": {strings.Repeat("é", 256), strings.Repeat("é", 255)}, "5000": {strings.Repeat("a", 5000), strings.Repeat("a", 255)},
		"NUL": {"A\x00B", "AB"}, "controls": {"A\u0085B\u200bC\u202eD\x7f", "A B\u200bC\u202eD"}, "invalid": {"A\ufffd\ufffeB", "AB"}, "emoji": {"🦉 Ada", "🦉 Ada"},
		"cut emoji": {strings.Repeat("a", 252) + family, strings.Repeat("a", 252)}, "cut letter": {strings.Repeat("a", 254) + "e\u0301", strings.Repeat("a", 254)},
		"space at the cut": {strings.Repeat("a", 254) + " b", strings.Repeat("a", 254)},
	}
	send := map[string]func(s *shop, name, email string) (reference string, code int){
		"stripe": func(s *shop, name, email string) (string, int) {
			a := fakestripe.New()
			a[fakestripe.Checkout]["payment_status"] = "paid"
			by := a[fakestripe.Checkout]["customer_details"].(map[string]any)
			by["name"], by["email"] = name, email
			return stripeOnceRef, s.send("stripe", stripeOf(a).Handler(s.sales), a.Event("checkout.session.completed", fakestripe.Checkout, "")).Code
		},
		"paddle": func(s *shop, name, email string) (string, int) {
			f, url := newAPI(t)
			once := transaction("txn", "500")
			once["subscription_id"], once["customer"], once["items"] = nil, object{"name": name, "email": email}, []object{{"price": object{"id": "pri"}}}
			f.set("/transactions/txn", text(object{"data": once}))
			return "paddle:txnitm_sub", s.send("paddle", Paddle{Key: "key", Secrets: []string{secret}, URL: url}.Handler(s.sales), []byte(`{"event_type":"transaction.completed","data":{"id":"txn"}}`)).Code
		},
		"polar": func(s *shop, name, email string) (string, int) {
			order := s.polarSub("o", "paid", 1, object{"customer": object{"name": name, "email": email}})
			return "polar:o", s.send("polar", Polar{Secrets: []string{secret}}.Handler(s.sales), []byte(text(object{"type": "order.paid", "data": order}))).Code
		},
		"lemonsqueezy": func(s *shop, name, email string) (string, int) {
			order := lemonOrder(8, "paid", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
			order["attributes"].(object)["user_name"], order["attributes"].(object)["user_email"] = name, email
			return "lemonsqueezy:8", s.send("lemonsqueezy", LemonSqueezy{Secrets: []string{secret}}.Handler(s.sales), []byte(text(object{"data": order}))).Code
		},
	}
	for provider, send := range send {
		for what, name := range names {
			t.Run(provider+" "+what, func(t *testing.T) {
				is := is.New(t)
				s := newShop(t, "price_once", "pri", "prod", "7")
				reference, code := send(s, name[0], "ada@customer.example")
				is.Equal(code, http.StatusOK)
				f, err := s.sales.GetPurchase(t.Context(), reference)
				is.NoErr(err)
				is.Equal(f.License.Name, name[1])
				is.True(utf8.RuneCountInString(f.License.Name) <= 255)
				is.Equal(f.License.Metadata["email"], "ada@customer.example")
			})
		}
		for what, email := range map[string]string{"long": strings.Repeat("a", 388) + "@shop.example", "no": "ada", "control": "a\x00da@shop.example", "two": "a@b.example, c@d.example"} {
			t.Run(provider+" address "+what, func(t *testing.T) {
				is := is.New(t)
				s := newShop(t, "price_once", "pri", "prod", "7")
				reference, code := send(s, "Ada", email)
				is.Equal(code, http.StatusOK)
				f, err := s.sales.GetPurchase(t.Context(), reference)
				is.NoErr(err)
				_, has := f.Fields["metadata/email"]
				is.True(!has)
				require.Contains(t, s.log.String(), "the address of a customer was left out", provider)
				require.NotContains(t, s.log.String(), "shop.example")
				if provider == "stripe" { // a guest, whose address is the customer
					is.Equal(f.Waiting, api.WaitingCustomer)
				} else {
					is.Equal(f.License.Name, "Ada")
				}
			})
		}
	}
}
