package payment

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestOrderOfSubscription: the order that begins a subscription makes no second license,
// before or after the subscription, and the refund of a payment does not end what its
// subscription pays for.
func TestOrderOfSubscription(t *testing.T) {
	at := func(seconds int) string {
		return time.Now().Add(time.Duration(seconds)*time.Second - time.Hour).UTC().Format(time.RFC3339Nano)
	}
	end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	order := func(event, status string, seconds int) string {
		return fmt.Sprintf(`{"meta":{"event_name":%q},"data":{"type":"orders","id":"3","attributes":{"customer_id":5,"user_name":"Ada","status":%q,"first_order_item":{"id":8,"variant_id":9,"quantity":1},"updated_at":%q}}}`, event, status, at(seconds))
	}
	subscription := func(variant, seconds int) string {
		return fmt.Sprintf(`{"meta":{"event_name":"subscription_updated"},"data":{"type":"subscriptions","id":"7","attributes":{"customer_id":5,"order_item_id":8,"variant_id":%d,"status":"active","user_name":"Ada","first_subscription_item":{"quantity":2},"renews_at":%q,"ends_at":null,"updated_at":%q}}}`, variant, end, at(seconds))
	}
	polar := func(event, status string, seconds int) string {
		return fmt.Sprintf(`{"type":%q,"timestamp":%q,"data":{"id":"o-1","status":%q,"subscription_id":"s-1","customer_id":"5","product_id":"10","customer":{"name":null,"email":"ada@customer.example"}}}`, event, at(seconds), status)
	}
	polarSubscription := fmt.Sprintf(`{"type":"subscription.active","timestamp":%q,"data":{"id":"s-1","status":"active","customer_id":"5","product_id":"10","seats":2,"current_period_end":%q,"customer":{"name":null,"email":"ada@customer.example"}}}`, at(2), end)
	for name, c := range map[string]struct {
		fulfill func(context.Context, *selling.Service, []byte) error
		bodies  []string
	}{
		"lemonsqueezy": {RecordLemonSqueezy, []string{order("order_created", "paid", 1), subscription(9, 2), subscription(10, 3), order("order_created", "paid", 1), order("order_refunded", "refunded", 4)}},
		"polar":        {RecordPolar, []string{polar("order.paid", "paid", 1), polarSubscription, polar("order.refunded", "refunded", 4)}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			rules := license.New(memory.New(), license.Options{})
			sales := selling.New(rules)
			for _, id := range []string{"9", "10"} {
				_, err := sales.PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: "atlas", Terms: api.Terms{MaxActivations: new(int64(2))}})
				is.NoErr(err)
			}
			for _, body := range c.bodies {
				is.NoErr(c.fulfill(t.Context(), sales, []byte(body)))
			}
			page, err := rules.List(t.Context(), api.ListLicensesParams{})
			is.NoErr(err)
			is.Equal(len(page.Data), 1)
			l := page.Data[0]
			is.Equal([]any{l.Status, l.PlanID, *l.MaxActivations}, []any{api.LicenseActive, "10", int64(4)})
		})
	}
	is := is.New(t)
	sales := selling.New(license.New(memory.New(), license.Options{}))
	is.NoErr(RecordLemonSqueezy(t.Context(), sales, []byte(order("order_created", "pending", 0))))
	_, err := sales.GetPurchase(t.Context(), "lemonsqueezy:8")
	require.ErrorIs(t, err, api.ErrNotFound)
	is.NoErr(Paddle{URL: "http://127.0.0.1:0"}.Record(t.Context(), sales, []byte(`{"event_type":"customer.updated","data":{"id":"ctm_1"}}`)))
	err = Paddle{URL: "http://127.0.0.1:0"}.Record(t.Context(), sales, []byte(`{"event_type":"subscription.updated","data":{"id":"sub_1","customer_id":"ctm_1"}}`))
	is.True(err != nil) // Paddle delivers the event again
	require.Contains(t, err.Error(), "/customers/ctm_1")
}
