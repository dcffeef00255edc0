package payment

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// polarSub returns a subscription that was last changed a number of seconds after the shop
// began.
func (s *shop) polarSub(id, status string, seconds int, more object) object {
	o := object{"id": id, "status": status, "customer_id": "c-1", "product_id": "prod", "created_at": s.now.Add(-time.Hour), "modified_at": s.now.Add(time.Duration(seconds-1800) * time.Second),
		"current_period_end": s.now.AddDate(0, 1, 0), "cancel_at_period_end": false, "seats": nil, "units": nil, "customer": object{"name": nil, "email": "ada@customer.example"}}
	for name, v := range more {
		o[name] = v
	}
	return o
}

func (s *shop) polar(t *testing.T, p Polar, kind string, data object) int {
	t.Helper()
	return s.send("polar", p.Handler(s.sales), []byte(text(object{"type": kind, "timestamp": "2020-01-01T00:00:00Z", "data": data}))).Code
}

// TestPolarSubscription: units and seats are the quantity, a pause suspends, the instant is
// that of the object in any order of events, and what it says of its renewal is stored.
func TestPolarSubscription(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "prod")
	p := Polar{Secrets: []string{secret}}
	for _, c := range []struct {
		status  string
		seconds int
		more    object
		seats   int64
		want    api.LicenseStatus
		renews  bool
	}{
		{"active", 1, object{"seats": 3}, 3, api.LicenseActive, true},
		{"active", 2, object{"units": 5}, 5, api.LicenseActive, true},
		{"paused", 4, object{"units": 5}, 5, api.LicenseSuspended, true},
		{"active", 3, object{"units": 9}, 5, api.LicenseSuspended, true}, // late
		{"active", 5, object{"units": 5, "cancel_at_period_end": true}, 5, api.LicenseActive, false},
		{"canceled", 6, object{"units": 5}, 5, api.LicenseExpired, false},
	} {
		is.Equal(s.polar(t, p, "subscription.updated", s.polarSub("s", c.status, c.seconds, c.more)), http.StatusOK)
		f, err := s.sales.GetPurchase(t.Context(), "polar:s")
		is.NoErr(err)
		is.Equal([]any{*f.License.MaxActivations, f.License.Status, f.Fields["renews"].Value}, []any{c.seats, c.want, c.renews})
	}
	is.Equal(s.polar(t, p, "subscription.created", s.polarSub("s2", "incomplete", 1, nil)), http.StatusOK)
	_, err := s.sales.GetPurchase(t.Context(), "polar:s2")
	require.ErrorIs(t, err, api.ErrNotFound)
	is.Equal(s.polar(t, p, "subscription.created", object{"id": "s3", "status": "active"}), http.StatusInternalServerError) // of no instant
}

// TestPolarOrders: a part of a refund changes nothing, and orders of a subscription and
// their refunds neither.
func TestPolarOrders(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "prod")
	p := Polar{Secrets: []string{secret}}
	for i, c := range []struct {
		status string
		want   api.LicenseStatus
	}{{"paid", api.LicenseActive}, {"partially_refunded", api.LicenseActive}, {"refunded", api.LicenseExpired}} {
		is.Equal(s.polar(t, p, "order.updated", s.polarSub("o", c.status, i, nil)), http.StatusOK)
		is.Equal(s.status(t, "polar:o"), c.want)
	}
	for i, status := range []string{"paid", "refunded", "hibernating"} {
		is.Equal(s.polar(t, p, "order.refunded", s.polarSub("o2", status, i, object{"subscription_id": "s"})), http.StatusOK)
	}
	_, err := s.sales.GetPurchase(t.Context(), "polar:o2")
	require.ErrorIs(t, err, api.ErrNotFound)
	is.Equal(s.failing(t, "polar"), "")
}

// TestPolarKeepsDelivering: an event that cannot be applied does not hold back the next sale.
// Health has it until Sync can read the object.
func TestPolarKeepsDelivering(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "prod")
	f, url := newAPI(t)
	p := Polar{Secrets: []string{secret}, Key: "key", URL: url}
	odd := s.polarSub("s", "hibernating", 1, nil)
	is.Equal(s.polar(t, p, "subscription.updated", odd), http.StatusOK)
	require.Contains(t, s.failing(t, "polar"), `"hibernating"`)
	is.Equal(s.polar(t, p, "order.paid", s.polarSub("o", "paid", 1, nil)), http.StatusOK)
	is.Equal(s.status(t, "polar:o"), api.LicenseActive)
	require.Contains(t, s.failing(t, "polar"), `"hibernating"`) // the sale is another object

	f.set("/v1/subscriptions/", `{"items":[],"pagination":{"max_page":0}}`)
	f.set("/v1/orders/", `{"items":[],"pagination":{"max_page":0}}`)
	f.set("/v1/subscriptions/s", text(odd))
	s.tick()
	err := p.Sync(t.Context(), s.sales)
	require.Contains(t, err.Error(), `"hibernating"`)
	require.Contains(t, s.failing(t, "polar"), `"hibernating"`)
	f.set("/v1/subscriptions/s", text(s.polarSub("s", "active", 2, nil)))
	is.NoErr(p.Sync(t.Context(), s.sales))
	is.Equal(s.status(t, "polar:s"), api.LicenseActive)
	is.Equal(s.failing(t, "polar"), "")

	p.Key = ""
	is.Equal(s.polar(t, p, "subscription.updated", s.polarSub("s", "hibernating", 3, nil)), http.StatusInternalServerError)
	// What the rules refuse for good is accepted without a Key, too.
	is.Equal(s.polar(t, p, "order.paid", s.polarSub("o", "paid", 2, object{"customer_id": "c-2"})), http.StatusOK)
	require.Contains(t, s.failing(t, "polar"), "reference")
}

// TestSyncPages: Polar and Lemon Squeezy are read page by page, orders up to 7 days old, and
// subscriptions that have ended only if they are known.
func TestSyncPages(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "prod", "7")
	f, url := newAPI(t)
	created := func(days int) string { return s.now.AddDate(0, 0, -days).UTC().Format(time.RFC3339) }
	for n, days := range []int{1, 6, 8} {
		page := n + 1
		f.set(fmt.Sprint("/v1/orders/?page=", page), text(object{"items": []object{s.polarSub(fmt.Sprint("o", page), "paid", 1, object{"created_at": created(days)})}, "pagination": object{"max_page": 9}}))
		f.set(fmt.Sprint("/v1/orders?page%5Bnumber%5D=", page), text(object{"data": []object{lemonOrder(20+page, "paid", created(days), created(0))}, "meta": object{"page": object{"lastPage": 9}}}))
	}
	for page := 1; page <= 2; page++ {
		f.set(fmt.Sprint("/v1/subscriptions/?page=", page), text(object{"items": []object{s.polarSub(fmt.Sprint("s", page), "active", 1, nil), s.polarSub("ended", "canceled", 1, nil)}, "pagination": object{"max_page": 2}}))
		f.set(fmt.Sprint("/v1/subscriptions?page%5Bnumber%5D=", page), text(object{"data": []object{lemonSub(10+page, "active", created(0), nil), lemonSub(99, "expired", created(0), nil)}, "meta": object{"page": object{"lastPage": 2}}}))
	}
	is.NoErr(Polar{URL: url, Key: "key"}.Sync(t.Context(), s.sales))
	is.NoErr(LemonSqueezy{URL: url, Key: "key"}.Sync(t.Context(), s.sales))
	for _, reference := range []string{"polar:s1", "polar:s2", "polar:o1", "polar:o2", "lemonsqueezy:11", "lemonsqueezy:12", "lemonsqueezy:21", "lemonsqueezy:22"} {
		is.Equal(s.status(t, reference), api.LicenseActive)
	}
	for _, reference := range []string{"polar:o3", "polar:ended", "lemonsqueezy:23", "lemonsqueezy:99"} {
		_, err := s.sales.GetPurchase(t.Context(), reference)
		require.ErrorIs(t, err, api.ErrNotFound)
	}
	is.True(!strings.Contains(fmt.Sprint(f.asked), "page=4"))
}
