package payment

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A thanksShop has a checkout that is paid, and the page after it.
type thanksShop struct {
	*shop
	stripe  fakestripe.Account
	account Stripe
	asked   int
}

func newThanks(t *testing.T) *thanksShop {
	s, a := subscribed(t)
	delete(a, "inpay_in_1")
	a[fakestripe.Checkout]["payment_status"] = "paid"
	thanks := &thanksShop{shop: s, stripe: a, account: stripeOf(a)}
	thanks.account.Client = &http.Client{Transport: hooked{a, func(*http.Request) { thanks.asked++ }}}
	return thanks
}

func (s *thanksShop) page(id string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.account.Thanks(s.sales).ServeHTTP(w, httptest.NewRequest("GET", "/thanks?session_id="+id, nil))
	return w
}

// TestThanksFromPayment: the 24 hours begin when the session was paid for, as far as its invoice
// says, and not when it was created.
func TestThanksFromPayment(t *testing.T) {
	s := newThanks(t)
	s.stripe[fakestripe.Checkout]["created"], s.stripe[fakestripe.Checkout]["invoice"] = s.now.Add(-25*time.Hour).Unix(), "in_1" // which was paid an hour ago
	require.Contains(t, s.page(fakestripe.Checkout).Body.String(), "<code>")
	s.now = s.now.Add(24 * time.Hour)
	require.NotContains(t, s.page(fakestripe.Checkout).Body.String(), "<code>")
}

// TestThanksScheduled: the key of a license that begins later is shown, too.
func TestThanksScheduled(t *testing.T) {
	is := is.New(t)
	s := newThanks(t)
	s.page(fakestripe.Checkout)
	f, err := s.sales.GetPurchase(t.Context(), stripeOnceRef)
	is.NoErr(err)
	_, err = s.rules.Update(t.Context(), api.UpdateLicenseParams{ID: f.LicenseID, StartsAt: api.To(s.now.Add(time.Hour))})
	is.NoErr(err)
	require.Contains(t, s.page(fakestripe.Checkout).Body.String(), f.License.Key)
}

// TestThanksAsksForSessionsOnly: an ID that is malformed is not sent to Stripe. A session that
// was not completed does not make the page wait; an error of Stripe does, without its reason.
func TestThanksAsksForSessionsOnly(t *testing.T) {
	is := is.New(t)
	s := newThanks(t)
	for _, id := range []string{"", "sub_1", "cs_%2e%2e", "cs_" + strings.Repeat("a", 999)} {
		require.NotContains(t, s.page(id).Body.String(), "refresh")
	}
	is.Equal(s.asked, 0)
	s.stripe[fakestripe.Checkout]["status"], s.stripe[fakestripe.Checkout]["payment_status"] = "open", "unpaid"
	require.NotContains(t, s.page(fakestripe.Checkout).Body.String(), "refresh")
	s.account.Client = echo{}.client()
	page := s.page(fakestripe.Checkout).Body.String()
	require.Contains(t, page, "refresh")
	require.NotContains(t, page, "your key is")
}

// TestThanksHeaders: the page may load and run nothing, and no other page may frame it.
func TestThanksHeaders(t *testing.T) {
	require.Contains(t, newThanks(t).page("").Header().Get("Content-Security-Policy"), "default-src 'none'", "frame-ancestors 'none'")
}

// TestThanksClientIP: behind a proxy, the limit is that of the client.
func TestThanksClientIP(t *testing.T) {
	is := is.New(t)
	s := newThanks(t)
	client := netip.MustParseAddr("192.0.2.1")
	s.account.ClientIP = func(*http.Request) netip.Addr { return client }
	h := s.account.Thanks(s.sales)
	code := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/thanks", nil))
		return w.Code
	}
	for range 10 {
		is.Equal(code(), 200)
	}
	is.Equal(code(), 429)
	client = netip.MustParseAddr("198.51.100.1")
	is.Equal(code(), 200)
}
