package payment

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestThanks: the page shows the keys of a session for 24 hours, while their customer is that
// of the session, and afterwards what it shows for an ID that is unknown.
func TestThanks(t *testing.T) {
	type thanks struct {
		*shop
		account fakestripe.Account
		license *api.License
		show    func() string
	}
	begin := func(t *testing.T) thanks {
		s, a := subscribed(t)
		delete(a, "inpay_in_1")
		a[fakestripe.Checkout]["payment_status"] = "paid"
		account := stripeOf(a)
		account.PortalURL = "https://shop.example/licenses"
		h := account.Thanks(s.sales)
		show := func() string {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/thanks?session_id="+fakestripe.Checkout, nil))
			is.New(t).Equal(w.Code, 200)
			return w.Body.String()
		}
		page := show()
		f, err := s.sales.GetPurchase(t.Context(), stripeOnceRef)
		is.New(t).NoErr(err)
		require.Contains(t, page, f.License.Key, "Grace Hopper", "https://shop.example/licenses")
		require.NotContains(t, page, "refresh", "<script")
		s.tick()
		return thanks{s, a, f.License, show}
	}
	unknown := func(t *testing.T, s thanks, id string) string {
		w := httptest.NewRecorder()
		account := stripeOf(s.account)
		account.PortalURL = "https://shop.example/licenses"
		account.Thanks(s.sales).ServeHTTP(w, httptest.NewRequest("GET", "/thanks?session_id="+id, nil))
		is.New(t).Equal(w.Code, 200)
		for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"} {
			is.New(t).Equal(w.Header().Get(name), want)
		}
		return w.Body.String()
	}
	for name, change := range map[string]func(t *testing.T, s thanks){
		"transferred": func(t *testing.T, s thanks) {
			_, err := s.rules.Transfer(t.Context(), api.TransferLicenseParams{ID: s.license.ID, CustomerID: "bob", Name: "Bob"})
			is.New(t).NoErr(err)
		},
		"another customer": func(t *testing.T, s thanks) {
			_, err := s.rules.Update(t.Context(), api.UpdateLicenseParams{ID: s.license.ID, CustomerID: new("bob")})
			is.New(t).NoErr(err)
		},
		"refunded":       func(t *testing.T, s thanks) { s.account[fakestripe.Charge]["refunded"] = true },
		"after 25 hours": func(t *testing.T, s thanks) { s.now = s.now.Add(24 * time.Hour) },
		"not complete":   func(t *testing.T, s thanks) { s.account[fakestripe.Checkout]["status"] = "open" },
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := begin(t)
			change(t, s)
			page := s.show()
			l, err := s.rules.Get(t.Context(), s.license.ID)
			is.NoErr(err)
			require.NotContains(t, page, s.license.Key, l.Key)
			for _, id := range []string{"cs_test_foreign", "", "../../v1/customers", "cs_" + strings.Repeat("a", 999)} {
				is.Equal(page, unknown(t, s, id))
			}
		})
	}
	t.Run("rekeyed", func(t *testing.T) {
		is := is.New(t)
		s := begin(t)
		l, err := s.rules.Rekey(t.Context(), api.RekeyLicenseParams{ID: s.license.ID})
		is.NoErr(err)
		page := s.show()
		require.Contains(t, page, l.Key)
		require.NotContains(t, page, s.license.Key)
	})
}

// TestThanksWaits: while a payment is processed, the page asks again for two minutes; a network
// is answered ten times a minute.
func TestThanksWaits(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	h := stripeOf(a).Thanks(s.sales)
	get := func(query, from string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/thanks?session_id="+fakestripe.Checkout+query, nil)
		r.RemoteAddr = from
		h.ServeHTTP(w, r)
		return w
	}
	page := get("", "[2001:db8::1]:1").Body.String()
	require.Contains(t, page, `<meta http-equiv="refresh" content="10;url=?session_id=`+fakestripe.Checkout+`&amp;asked=1">`)
	require.Contains(t, get("&asked=11", "[2001:db8::1]:1").Body.String(), "asked=12")
	for _, asked := range []string{"12", "99"} {
		require.NotContains(t, get("&asked="+asked, "[2001:db8::1]:1").Body.String(), "refresh")
	}
	require.Contains(t, get("&asked=-9", "[2001:db8::2]:1").Body.String(), "asked=1")
	for range 5 {
		is.Equal(get("", "[2001:db8::3]:1").Code, 200)
	}
	w := get("", "[2001:db8::9]:1") // of the same network
	is.Equal([]any{w.Code, w.Header().Get("Retry-After")}, []any{429, "6"})
	is.Equal(get("", "192.0.2.1:1").Code, 200)
}
