package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/matryer/is"
	stripe "github.com/stripe/stripe-go/v85"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// TestStripeUsage: the value is what was used in the period, under the ID of the event, and
// an event that comes after the end of a period has a time in it.
func TestStripeUsage(t *testing.T) {
	is := is.New(t)
	var sent []url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		sent = append(sent, form)
		_, _ = io.WriteString(w, `{"object":"billing.meter_event"}`)
	}))
	defer server.Close()
	sc := stripe.NewClient("sk_test_1", stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL: &server.URL, MaxNetworkRetries: stripe.Int64(0), HTTPClient: server.Client(),
	})))
	kit := licensingtest.New(t, licensing.Options{})
	l, err := kit.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "cus_1", Terms: api.Terms{
		Meters: map[string]api.Meter{"exports": {Per: api.PerDay}},
	}})
	is.NoErr(err)
	yesterday := kit.Clock.Now().Add(-24 * time.Hour)
	_, err = kit.Handler.Metering().CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{{Meter: "exports", ID: "a", Total: 7, At: &yesterday}}})
	is.NoErr(err)
	is.NoErr(kit.Handler.Service().Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID})) // tells it
	page, err := kit.Handler.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventUsageCounted}})
	is.NoErr(err)
	is.NoErr(stripeUsage(sc).Handle(t.Context(), page.Data[0]))
	is.Equal(len(sent), 1)
	end := yesterday.UTC().Truncate(24 * time.Hour).Add(24*time.Hour - time.Second)
	is.Equal([]string{sent[0].Get("event_name"), sent[0].Get("identifier"), sent[0].Get("payload[stripe_customer_id]"), sent[0].Get("payload[value]"), sent[0].Get("timestamp")},
		[]string{"exports", page.Data[0].ID, "cus_1", "7", strconv.FormatInt(end.Unix(), 10)})
}
