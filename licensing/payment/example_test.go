package payment_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/payment"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// putPlan says what customers get for a price: five activations and the export.
func putPlan(ctx context.Context, sales *selling.Service) error {
	_, err := sales.PutPlan(ctx, api.PutPlanParams{ID: "price_team_year", ProductID: "atlas", Name: "Atlas Team", Terms: api.Terms{
		MaxActivations: new(int64(5)), Entitlements: map[string]any{"export": true},
	}})
	return err
}

// mountPayments mounts the webhook of Stripe and the page after the payment, and reads every
// night what events have missed, until ctx is done.
func mountPayments(ctx context.Context, mux *http.ServeMux, h *licensing.Handler, account payment.Stripe) {
	mux.Handle("/payments/stripe", account.Handler(h.Selling()))
	mux.Handle("GET /thanks", account.Thanks(h.Selling()))
	for ctx.Err() == nil {
		if err := account.Sync(ctx, h.Selling()); err != nil {
			slog.Error("read what was sold", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(24 * time.Hour):
		}
	}
}

// joinAccount gives the licenses that were bought with an address to an account, after the
// customer has opened a link that was mailed there. A license of another account stays.
func joinAccount(ctx context.Context, rules *license.Service, address, account string) error {
	for l, err := range rules.All(ctx, api.ListLicensesParams{Search: address}) {
		isOurs := strings.HasPrefix(l.CustomerID, "account-")
		if err == nil && !isOurs && strings.EqualFold(l.Metadata["email"], address) {
			_, err = rules.Update(ctx, api.UpdateLicenseParams{ID: l.ID, CustomerID: &account})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// An order is what the events of a provider of your own say.
type order struct {
	ID, Status, Customer, Name, Email string
	Changed, PaidUntil                time.Time
	Items                             []struct {
		ID, Price string
		Quantity  int64
		KeyEach   bool // each unit is to have a key of its own
	}
}

// handleOrders serves the webhook of a provider that signs the body in a header.
func handleOrders(sales *selling.Service, secret string) http.HandlerFunc {
	states := map[string]api.PurchaseState{"paid": api.PurchaseActive, "disputed": api.PurchasePaused, "refunded": api.PurchaseRefunded, "canceled": api.PurchaseEnded}
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)) // a part of one has no signature
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if sent, _ := hex.DecodeString(r.Header.Get("X-Signature")); !hmac.Equal(sent, mac.Sum(nil)) {
			http.Error(w, "wrong signature", http.StatusBadRequest)
			return
		}
		var o order
		err := json.Unmarshal(body, &o)
		state, known := states[o.Status]
		if err == nil && !known {
			http.Error(w, "unknown status "+o.Status, http.StatusInternalServerError) // so that the event comes again
			return
		}
		var items []api.RecordPurchaseParams
		for _, item := range o.Items {
			p := api.RecordPurchaseParams{
				Reference: "shop:" + o.ID + ":" + item.ID, At: o.Changed, CustomerID: o.Customer, Name: o.Name, Metadata: map[string]*string{"email": &o.Email},
				PlanID: item.Price, Quantity: &item.Quantity, Until: api.To(o.PaidUntil), State: state,
			}
			if !item.KeyEach {
				items = append(items, p)
			} else if err == nil {
				err = payment.RecordKeys(r.Context(), sales, p)
			}
		}
		if err == nil {
			_, err = payment.RecordItems(r.Context(), sales, items...)
		}
		if err != nil {
			slog.Error("record an order", "error", err)
			http.Error(w, "try again", http.StatusInternalServerError)
		}
	}
}

// TestExamples runs the code of the guide.
func TestExamples(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	is.NoErr(putPlan(t.Context(), h.Selling()))
	send := func(body, secret string) int {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		r, w := httptest.NewRequest("POST", "/", strings.NewReader(body)), httptest.NewRecorder()
		r.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
		handleOrders(h.Selling(), "secret")(w, r)
		return w.Code
	}
	event := `{"ID":"7","Status":"paid","Customer":"c-1","Name":"Ada","Email":"ada@customer.example","Changed":"2026-01-01T00:00:00Z","PaidUntil":"2099-01-01T00:00:00Z",
		"Items":[{"ID":"1","Price":"price_team_year","Quantity":2},{"ID":"2","Price":"price_team_year","Quantity":3,"KeyEach":true}]}`
	is.Equal([]int{send(event, "secret"), send(event, "other"), send(strings.Replace(event, "paid", "frozen", 1), "secret")}, []int{200, 400, 500})
	page, err := h.Service().List(t.Context(), api.ListLicensesParams{CustomerID: "c-1"})
	is.NoErr(err)
	is.Equal(len(page.Data), 1+3)
	is.NoErr(joinAccount(t.Context(), h.Service(), "ada@customer.example", "account-42"))
	is.Equal(send(strings.Replace(event, "2026-01-01", "2026-01-02", 1), "secret"), 200) // a later event
	page, err = h.Service().List(t.Context(), api.ListLicensesParams{CustomerID: "account-42"})
	is.NoErr(err)
	is.Equal(len(page.Data), 1+3)
	is.NoErr(joinAccount(t.Context(), h.Service(), "ada@customer.example", "account-43"))
	page, err = h.Service().List(t.Context(), api.ListLicensesParams{CustomerID: "account-43"})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mux := http.NewServeMux()
	mountPayments(ctx, mux, h, payment.Stripe{Key: "rk_test", Secrets: []string{"whsec_test"}})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("POST", "/payments/stripe", nil))
	is.Equal(w.Code, http.StatusBadRequest)
}
