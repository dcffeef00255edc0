package payment

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestFailingBetweenPassing: an event that keeps failing between others that pass is in
// Health from the third time on, and until it passes.
func TestFailingBetweenPassing(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	h := stripeOf(a).Handler(s.sales)
	a["sub_bad"] = map[string]any{"id": "sub_bad", "object": "subscription"}
	bad := []byte(strings.ReplaceAll(string(a.Event("customer.subscription.updated", "sub_bad", "")), "sub_bad", "sub_gone"))
	for n := range 3 {
		is.Equal(s.failing(t, "stripe"), "")
		is.Equal(s.send("stripe", h, bad).Code, http.StatusInternalServerError)
		s.stripe(t, a, "customer.subscription.updated", fakestripe.Subscription)
		is.Equal(s.failing(t, "stripe") != "", n == 2)
	}
	require.Contains(t, s.failing(t, "stripe"), "/v1/subscriptions/sub_gone: 404")
	a["sub_gone"] = a[fakestripe.Subscription]
	s.tick()
	is.Equal(s.send("stripe", h, bad).Code, http.StatusOK)
	is.Equal(s.failing(t, "stripe"), "")
}

// TestSyncEndsTheProblem: a whole Sync without an error ends the problem, one with an error
// does not.
func TestSyncEndsTheProblem(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	a[fakestripe.Subscription]["status"] = "hibernating"
	s.tick()
	is.Equal(s.send("stripe", stripeOf(a).Handler(s.sales), a.Event("customer.subscription.updated", fakestripe.Subscription, "")).Code, http.StatusInternalServerError)
	s.tick()
	is.True(stripeOf(a).Sync(t.Context(), s.sales) != nil)
	require.Contains(t, s.failing(t, "stripe"), `"hibernating"`)
	a[fakestripe.Subscription]["status"] = "active"
	is.NoErr(stripeOf(a).Sync(t.Context(), s.sales))
	is.Equal(s.failing(t, "stripe"), "")
}

// TestRefusedForGood: what the rules refuse is an error that Health has, and the log.
func TestRefusedForGood(t *testing.T) {
	is := is.New(t)
	s, a := subscribed(t)
	account := stripeOf(a)
	account.CustomerKey = "account"
	s.stripe(t, a, "customer.subscription.updated", fakestripe.Subscription)
	a[fakestripe.Subscription]["metadata"] = map[string]any{"account": "42"} // after the first event
	w := s.send("stripe", account.Handler(s.sales), a.Event("customer.subscription.updated", fakestripe.Subscription, ""))
	is.Equal(w.Code, http.StatusInternalServerError)
	require.Contains(t, s.failing(t, "stripe"), "reference")
	require.Contains(t, s.log.String(), "event of a payment provider failed")
}

// TestForged: what is not signed by the provider is logged once a minute, and is no problem
// of the provider.
func TestForged(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	h := Polar{Secrets: []string{secret}}.Handler(s.sales)
	forge := func() {
		w := httptest.NewRecorder()
		r := s.signed("polar", []byte(`{"type":"subscription.updated","data":{"id":"s","status":"hibernating"}}`))
		r.Header.Set("Webhook-Signature", "v1,AAAA")
		h.ServeHTTP(w, r)
		is.Equal(w.Code, http.StatusBadRequest)
	}
	for range 500 {
		forge()
	}
	is.Equal(strings.Count(s.log.String(), "refused"), 1)
	s.now = s.now.Add(time.Minute)
	forge()
	is.Equal(strings.Count(s.log.String(), "refused"), 2)
	is.Equal(s.failing(t, "polar"), "")
}

// TestAccountsOfCustomers: a license that the host has joined to an account stays there,
// whatever the provider reports later.
func TestAccountsOfCustomers(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "prod", "7", "pri", "pri_once")
	at := func(seconds int) string {
		return s.now.Add(time.Duration(seconds-3600) * time.Second).UTC().Format(time.RFC3339)
	}
	l := LemonSqueezy{Secrets: []string{secret}}
	paddle := newPaddleShop(t)
	paddle.shop = s
	for reference, event := range map[string]func(n int){
		"polar:s": func(n int) {
			s.polar(t, Polar{Secrets: []string{secret}}, "subscription.updated", s.polarSub("s", "active", n, nil))
		},
		"lemonsqueezy:8": func(n int) { s.lemon(t, l, lemonSub(8, "active", at(n), nil)) },
		"paddle:sub:pro": func(n int) { paddle.event(t, "subscription.updated", `{"id":"sub"}`) },
	} {
		event(1)
		f, err := s.sales.GetPurchase(t.Context(), reference)
		is.NoErr(err)
		_, err = s.rules.Update(t.Context(), api.UpdateLicenseParams{ID: f.LicenseID, CustomerID: new("account-42")})
		is.NoErr(err)
		event(2)
		f, err = s.sales.GetPurchase(t.Context(), reference)
		is.NoErr(err)
		is.Equal([]any{f.License.CustomerID, f.License.Status, s.failing(t, "polar")}, []any{"account-42", api.LicenseActive, ""})
	}
}
