package payment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestSelling sends each handler of the guide what its provider reports about a
// purchase that is paid, canceled and over.
func TestSelling(t *testing.T) {
	is := is.New(t)
	rules := license.New(memory.New(), license.Options{})
	sales := selling.New(rules)
	for _, id := range []string{"price_1", "pri_1", "9", "prod-1", "trial"} {
		_, err := sales.PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: "atlas", Terms: api.Terms{MaxActivations: new(int64(2))}, Duration: api.Duration{Days: 14}})
		is.NoErr(err)
	}
	customers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		is.Equal([]string{r.URL.Path, r.Header.Get("Authorization")}, []string{"/customers/ctm_1", "Bearer pdl_1"})
		io.WriteString(w, `{"data":{"id":"ctm_1","name":null,"email":"ada@customer.example"}}`)
	}))
	defer customers.Close()
	paddle := Paddle{URL: customers.URL, Key: "pdl_1"}
	until := time.Now().Add(20 * 24 * time.Hour).Truncate(time.Second).UTC()
	at := func(hours int) string {
		return time.Now().Add(time.Duration(hours-4) * time.Hour).UTC().Format(time.RFC3339Nano)
	}
	end := until.Format(time.RFC3339)
	names := map[string]string{"paddle:sub_1:pro_1": "ada@customer.example", "lemonsqueezy:8": "Ada", "polar:7b0c": "Ada Lovelace"}
	for reference, send := range map[string]func(hour int, status string) error{
		"paddle:sub_1:pro_1": func(hour int, status string) error {
			return paddle.Record(t.Context(), sales, fmt.Appendf(nil, `{"event_type":"subscription.updated","occurred_at":%q,"data":{"id":"sub_1","status":%q,"customer_id":"ctm_1","current_billing_period":{"starts_at":%q,"ends_at":%q},"items":[{"quantity":3,"price":{"id":"pri_1","product_id":"pro_1"}}]}}`, at(hour), status, at(0), end))
		},
		"lemonsqueezy:8": func(hour int, status string) error {
			status = strings.NewReplacer("trialing", "on_trial", "canceled", "expired").Replace(status)
			return RecordLemonSqueezy(t.Context(), sales, fmt.Appendf(nil, `{"meta":{"event_name":"subscription_updated"},"data":{"type":"subscriptions","id":"7","attributes":{"customer_id":5,"order_item_id":8,"user_email":"ada@customer.example","variant_id":9,"status":%q,"user_name":"Ada","renews_at":%q,"ends_at":null,"updated_at":%q}}}`, status, end, at(hour)))
		},
		"polar:7b0c": func(hour int, status string) error {
			return RecordPolar(t.Context(), sales, fmt.Appendf(nil, `{"type":"subscription.updated","timestamp":%q,"data":{"id":"7b0c","status":%q,"customer_id":"c-1","customer":{"name":" Ada\tLovelace ","email":"ada@customer.example"},"product_id":"prod-1","units":3,"current_period_end":%q}}`, at(hour), status, end))
		},
	} {
		t.Run(reference, func(t *testing.T) {
			is := is.New(t)
			is.NoErr(send(1, "trialing"))
			f, err := sales.GetPurchase(t.Context(), reference)
			is.NoErr(err)
			is.Equal([]any{f.License.Status, *f.License.ExpiresAt}, []any{api.LicenseActive, until})
			is.Equal(f.License.Metadata, map[string]string{"email": "ada@customer.example"})
			is.Equal(f.License.Name, names[reference])
			if reference != "lemonsqueezy:8" { // which sells one unit
				is.Equal(*f.License.MaxActivations, int64(6))
			}
			is.NoErr(send(2, "past_due"))
			is.NoErr(send(2, "past_due"))
			is.NoErr(send(3, "paused"))
			f, err = sales.GetPurchase(t.Context(), reference)
			is.NoErr(err)
			is.Equal(f.License.Status, api.LicenseSuspended)
			err = send(5, "hibernating") // a status that the provider has added since
			is.True(err != nil)
			require.Contains(t, err.Error(), "hibernating")
			is.NoErr(send(4, "canceled"))
			is.NoErr(send(2, "active")) // late
			f, err = sales.GetPurchase(t.Context(), reference)
			is.NoErr(err)
			is.True(f.EndedAt != nil)
			is.True(f.License.ExpiresAt.Before(until))
		})
	}
	trial, err := StartTrial(t.Context(), sales, "cus_9", "Ada+2@Example.com", "pc-1")
	is.NoErr(err)
	is.True(trial.Started)
	_, err = StartTrial(t.Context(), sales, "cus_8", "ada@example.com", "pc-2")
	require.ErrorIs(t, err, api.ErrTrialTaken)

	for status, refused := range map[string]bool{"pending": false, "hibernating": true} {
		err := RecordLemonSqueezy(t.Context(), sales, fmt.Appendf(nil, `{"meta":{"event_name":"order_created"},"data":{"type":"orders","id":"1","attributes":{"customer_id":5,"status":%q,"updated_at":%q,"first_order_item":{"id":77,"variant_id":9}}}}`, status, at(1)))
		is.Equal(err != nil, refused)
		_, err = sales.GetPurchase(t.Context(), "lemonsqueezy:77")
		require.ErrorIs(t, err, api.ErrNotFound)
	}

	for want, failure := range map[int][2]error{200: {}, 400: {io.EOF, nil}, 500: {nil, io.EOF}} {
		w := httptest.NewRecorder()
		ServeWebhook(func(*http.Request) ([]byte, error) { return nil, failure[0] }, func(context.Context, []byte) error {
			return errors.Join(failure[1])
		})(w, httptest.NewRequest("POST", "/", nil))
		is.Equal(w.Code, want)
		is.Equal(want == 400, strings.Contains(w.Body.String(), io.EOF.Error())) // the provider shows why
	}
}

// TestEnsureLicense signs a user in twice, and once while the plan is missing.
func TestEnsureLicense(t *testing.T) {
	is := is.New(t)
	rules := license.New(memory.New(), license.Options{})
	sales := selling.New(rules)
	joined := time.Now().Add(-400 * 24 * time.Hour)
	none, err := EnsureLicense(t.Context(), sales, "42", joined)
	is.NoErr(err)
	is.Equal(none, nil) // waits for the plan
	_, err = sales.PutPlan(t.Context(), api.PutPlanParams{ID: "free", ProductID: "atlas"})
	is.NoErr(err)
	first, err := EnsureLicense(t.Context(), sales, "42", joined)
	is.NoErr(err)
	is.Equal(first.Status, api.LicenseActive)
	again, err := EnsureLicense(t.Context(), sales, "42", joined)
	is.NoErr(err)
	is.Equal(again, first) // unchanged, with its revision
	page, err := rules.List(t.Context(), api.ListLicensesParams{CustomerID: "42"})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
	is.NoErr(rules.Delete(t.Context(), api.DeleteLicenseParams{ID: first.ID}))
	none, err = EnsureLicense(t.Context(), sales, "42", joined)
	is.NoErr(err)
	is.Equal(none, nil) // deleted, and not created again
}

// TestAnUnknownStatusIsAnError, and no silence: a provider adds one.
func TestAnUnknownStatusIsAnError(t *testing.T) {
	is := is.New(t)
	for status, want := range map[string]api.PurchaseState{"active": "active", "paused": "paused", "incomplete": ""} {
		state, err := StateOf(polarStates, status)
		is.NoErr(err)
		is.Equal(state, want)
	}
	_, err := StateOf(polarStates, "hibernating")
	is.True(err != nil)
}
