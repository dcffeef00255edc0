package payment

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestPolarAcceptsWhatItShows: an event that is answered 200 and was not applied is in Health the
// first time, because Polar does not repeat it.
func TestPolarAcceptsWhatItShows(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "prod")
	is.Equal(s.polar(t, Polar{Secrets: []string{secret}, Key: "key"}, "subscription.updated", object{"id": "s", "status": "active"}), http.StatusOK)
	require.Contains(t, s.failing(t, "polar"), "neither modified_at nor created_at")
}

// TestRefusedForGoodByPolar: what the rules refuse, such as an ID that is too long, is answered
// with 200 without a Key, too.
func TestRefusedForGoodByPolar(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "prod")
	is.Equal(s.polar(t, Polar{Secrets: []string{secret}}, "order.paid", s.polarSub("o", "paid", 1, object{"customer_id": strings.Repeat("c", 999)})), http.StatusOK)
	require.Contains(t, s.failing(t, "polar"), "customer_id")
}

// TestPolarSyncEndsOneProblem: an object that passes in a Sync is no problem any more, also if
// another one fails.
func TestPolarSyncEndsOneProblem(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "prod")
	f, url := newAPI(t)
	p := Polar{Secrets: []string{secret}, Key: "key", URL: url}
	is.Equal(s.polar(t, p, "subscription.updated", s.polarSub("s", "hibernating", 1, nil)), http.StatusOK)
	f.set("/v1/subscriptions/s", text(s.polarSub("s", "active", 2, nil)))
	s.tick()
	is.True(p.Sync(t.Context(), s.sales) != nil) // the lists are missing
	is.Equal(s.failing(t, "polar"), "")
}

// TestSyncContinues: an object of a list that cannot be recorded does not keep the next one from
// being recorded.
func TestSyncContinues(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "prod", "7")
	f, url := newAPI(t)
	f.set("/v1/subscriptions/", text(object{"items": []object{s.polarSub("bad", "hibernating", 1, nil), s.polarSub("s", "active", 1, nil)}, "pagination": object{"max_page": 1}}))
	f.set("/v1/subscriptions", text(object{"data": []object{lemonSub(9, "hibernating", "2026-01-01T00:00:00Z", nil), lemonSub(8, "active", "2026-01-01T00:00:00Z", nil)}}))
	require.Contains(t, Polar{Key: "key", URL: url}.Sync(t.Context(), s.sales).Error(), `"hibernating"`, "/v1/orders/: 404")
	require.Contains(t, LemonSqueezy{Key: "key", URL: url}.Sync(t.Context(), s.sales).Error(), `"hibernating"`, "/v1/orders: 404")
	is.Equal([]api.LicenseStatus{s.status(t, "polar:s"), s.status(t, "lemonsqueezy:8")}, []api.LicenseStatus{"active", "active"})
}

// TestUnreadable: an event that cannot be read is in Health when it has come three times.
func TestUnreadable(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	h := LemonSqueezy{Secrets: []string{secret}}.Handler(s.sales)
	for n := range 3 {
		is.Equal(s.send("lemonsqueezy", h, []byte(`{`)).Code, http.StatusInternalServerError)
		is.Equal(s.send("lemonsqueezy", h, []byte(strings.Repeat(`[`, n+1))).Code, http.StatusInternalServerError) // others
		is.Equal(s.failing(t, "lemonsqueezy") != "", n == 2)
	}
}
