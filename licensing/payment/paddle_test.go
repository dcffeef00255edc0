package payment

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A paddleShop has a subscription, which the transaction txn paid for, and the transaction
// once.
type paddleShop struct {
	*shop
	api    *fakeAPI
	paddle Paddle
	sub    object
}

func newPaddleShop(t *testing.T) paddleShop {
	f, url := newAPI(t)
	s := paddleShop{newShop(t, "pri", "pri_pro", "pri_once"), f, Paddle{Key: "key", Secrets: []string{secret}, URL: url}, nil}
	s.sub = object{"id": "sub", "status": "active", "customer_id": "ctm", "scheduled_change": nil,
		"current_billing_period": object{"starts_at": s.now, "ends_at": s.now.AddDate(0, 1, 0)},
		"items":                  []object{{"quantity": 3, "price": object{"id": "pri", "product_id": "pro", "billing_cycle": object{"interval": "month"}}}}}
	f.set("/customers/ctm", `{"data":{"id":"ctm","name":null,"email":"ada@customer.example"}}`)
	s.putSub()
	s.transactions(transaction("txn", "500"))
	s.once()
	return s
}

func (s paddleShop) putSub() { s.api.set("/subscriptions/sub", text(object{"data": s.sub})) }

func transaction(id, total string, adjustments ...object) object {
	return object{"id": id, "status": "completed", "customer_id": "ctm", "subscription_id": "sub", "adjustments": adjustments, "customer": object{"email": "ada@customer.example"},
		"items":   []object{{"price": object{"id": "pri", "billing_cycle": object{}}}},
		"details": object{"totals": object{"grand_total": total}, "line_items": []object{{"id": "txnitm_sub", "price_id": "pri", "quantity": 1}}}}
}

func adjustment(action, status string, more ...object) object {
	return object{"id": "adj", "action": action, "status": status, "type": "full", "items": more}
}

// transactions sets those of the subscription, in pages of one, the newest first.
func (s paddleShop) transactions(all ...object) {
	for i, t := range all {
		path := "/transactions?include" // of the first page; the later ones have longer names
		if i > 0 {
			path = "/transactions?after=" + fmt.Sprint(all[i-1]["id"]) + "&include"
		}
		s.api.set(path, text(object{"data": []object{t}, "meta": object{"pagination": object{"has_more": i < len(all)-1}}}))
		s.api.set("/transactions/"+fmt.Sprint(t["id"]), text(object{"data": t}))
	}
}

// once sets the transaction of what was paid once, beside an item of a subscription.
func (s paddleShop) once(adjustments ...object) {
	s.api.set("/transactions/once", text(object{"data": object{"id": "once", "status": "completed", "customer_id": "ctm", "adjustments": adjustments,
		"customer": object{"name": "Ada", "email": "ada@customer.example"},
		"items":    []object{{"price": object{"id": "pri_once", "billing_cycle": nil}}, {"price": object{"id": "pri", "billing_cycle": object{}}}},
		"details": object{"line_items": []object{{"id": "txnitm_1", "price_id": "pri_once", "quantity": 1}, {"id": "txnitm_2", "price_id": "pri_once", "quantity": 2},
			{"id": "txnitm_3", "price_id": "pri", "quantity": 1}, {"id": "txnitm_4", "price_id": "pri_once", "quantity": -1}}}}}))
}

func (s paddleShop) event(t *testing.T, kind, data string) {
	t.Helper()
	s.tick()
	w := s.send("paddle", s.paddle.Handler(s.sales), fmt.Appendf(nil, `{"event_id":"evt_1","event_type":%q,"occurred_at":"2020-01-01T00:00:00Z","data":%s}`, kind, data))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", kind, w.Code, w.Body)
	}
}

// TestPaddleChargeback: a subscription is paused while its newest payment is charged back,
// whatever event comes then, also transactions of 0; the next payment resumes it. Warnings,
// refunds of a payment and credits change nothing.
func TestPaddleChargeback(t *testing.T) {
	is := is.New(t)
	s := newPaddleShop(t)
	const ref = "paddle:sub:pro"
	s.event(t, "subscription.created", `{"id":"sub"}`)
	is.Equal(s.status(t, ref), api.LicenseActive)
	f, err := s.sales.GetPurchase(t.Context(), ref)
	is.NoErr(err)
	is.Equal([]any{*f.License.MaxActivations, f.License.Name, f.Fields["renews"].Value}, []any{int64(3), "ada@customer.example", true})
	reversed := []object{adjustment("chargeback", "approved"), adjustment("chargeback_reverse", "approved")}
	for _, step := range []struct {
		adjustments []object
		want        api.LicenseStatus
	}{
		{[]object{adjustment("chargeback_warning", "approved")}, api.LicenseActive},
		{[]object{adjustment("refund", "approved")}, api.LicenseActive},
		{[]object{adjustment("credit", "approved")}, api.LicenseActive},
		{[]object{adjustment("chargeback", "pending_approval")}, api.LicenseActive},
		{reversed[:1], api.LicenseSuspended},
		{reversed, api.LicenseActive},
		{append(reversed, adjustment("chargeback", "approved")), api.LicenseSuspended},
	} {
		s.transactions(transaction("txn", "500", step.adjustments...))
		s.event(t, "adjustment.created", `{"id":"adj","transaction_id":"txn","subscription_id":"sub","action":"chargeback"}`)
		is.Equal(s.status(t, ref), step.want)
		s.event(t, "subscription.updated", `{"id":"sub"}`)
		is.Equal(s.status(t, ref), step.want)
	}
	disputed := transaction("txn", "500", adjustment("chargeback", "approved"))
	s.transactions(transaction("zero", "0"), transaction("credit", "-20"), disputed)
	s.event(t, "subscription.updated", `{"id":"sub"}`)
	s.event(t, "transaction.completed", `{"id":"zero"}`)
	is.Equal(s.status(t, ref), api.LicenseSuspended)
	s.transactions(transaction("next", "500"), disputed)
	s.event(t, "transaction.completed", `{"id":"next"}`)
	is.Equal(s.status(t, ref), api.LicenseActive)
	s.sub["scheduled_change"] = object{"action": "cancel"}
	s.putSub()
	s.event(t, "subscription.updated", `{"id":"sub"}`)
	f, err = s.sales.GetPurchase(t.Context(), ref)
	is.NoErr(err)
	is.Equal(f.Fields["renews"].Value, false)
}

// TestPaddleOnce: of what was paid once, a refund of a part changes nothing, a chargeback
// suspends, and the refund of a whole line or of all ends it.
func TestPaddleOnce(t *testing.T) {
	is := is.New(t)
	s := newPaddleShop(t)
	licenses, err := s.paddle.RecordTransaction(t.Context(), s.sales, "once")
	is.NoErr(err)
	is.Equal(len(licenses), 2)
	line := func(id, kind string) object { return object{"item_id": id, "type": kind} }
	for _, step := range []struct {
		adjustments []object
		one, two    api.LicenseStatus
	}{
		{[]object{{"action": "refund", "status": "approved", "type": "partial", "items": []object{line("txnitm_1", "partial")}}}, "active", "active"},
		{[]object{adjustment("refund", "pending_approval")}, "active", "active"},
		{[]object{adjustment("chargeback_warning", "approved")}, "active", "active"},
		{[]object{adjustment("chargeback", "approved")}, "suspended", "suspended"},
		{[]object{adjustment("chargeback", "approved"), adjustment("chargeback_reverse", "approved")}, "active", "active"},
		{[]object{{"action": "refund", "status": "approved", "type": "partial", "items": []object{line("txnitm_1", "full")}}}, "expired", "active"},
		{[]object{adjustment("refund", "approved")}, "expired", "expired"}, // without items
	} {
		s.once(step.adjustments...)
		s.event(t, "adjustment.updated", `{"id":"adj","transaction_id":"once"}`)
		is.Equal([]api.LicenseStatus{s.status(t, "paddle:txnitm_1"), s.status(t, "paddle:txnitm_2")}, []api.LicenseStatus{step.one, step.two})
	}
	_, err = s.sales.GetPurchase(t.Context(), "paddle:txnitm_4")
	require.ErrorIs(t, err, api.ErrNotFound)
	s.api.set("/transactions/draft", `{"data":{"id":"draft","status":"draft"}}`)
	licenses, err = s.paddle.RecordTransaction(t.Context(), s.sales, "draft")
	is.NoErr(err)
	is.Equal(len(licenses), 0)
	s.event(t, "customer.updated", `{"id":"ctm"}`)
}

// TestPaddleUnknownStates: a state that is in no map is an error with its name.
func TestPaddleUnknownStates(t *testing.T) {
	for name, change := range map[string]func(s paddleShop){
		"subscription": func(s paddleShop) { s.sub["status"] = "frozen"; s.putSub() },
		"adjustment":   func(s paddleShop) { s.transactions(transaction("txn", "500", adjustment("frozen", "approved"))) },
		"approval":     func(s paddleShop) { s.transactions(transaction("txn", "500", adjustment("refund", "frozen"))) },
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newPaddleShop(t)
			change(s)
			w := s.send("paddle", s.paddle.Handler(s.sales), []byte(`{"event_type":"subscription.updated","data":{"id":"sub"}}`))
			is.Equal(w.Code, http.StatusInternalServerError)
			require.Contains(t, s.failing(t, "paddle"), `paddle: the state "frozen" of`)
			s.paddle.States = map[string]api.PurchaseState{"frozen": ""}
			s.event(t, "subscription.updated", `{"id":"sub"}`)
			is.Equal(s.failing(t, "paddle"), "")
		})
	}
}

// TestPaddleSync: what no event has said is read, page by page.
func TestPaddleSync(t *testing.T) {
	is := is.New(t)
	s := newPaddleShop(t)
	list := func(more bool, ids ...string) string {
		all := []object{}
		for _, id := range ids {
			all = append(all, object{"id": id})
		}
		return text(object{"data": all, "meta": object{"pagination": object{"has_more": more}}})
	}
	since := s.now.AddDate(0, 0, -7).UTC().Format("2006-01-02")
	s.api.set("/subscriptions", list(true, "gone"))
	s.api.set("/subscriptions?after=gone", list(false, "sub"))
	s.api.set("/transactions?billed_at%5BGTE%5D="+since, list(false, "once"))
	err := s.paddle.Sync(t.Context(), s.sales)
	require.Contains(t, err.Error(), "/subscriptions/gone: 404")
	is.Equal([]api.LicenseStatus{s.status(t, "paddle:sub:pro"), s.status(t, "paddle:txnitm_1")}, []api.LicenseStatus{"active", "active"})
	s.api.set("/subscriptions", list(true, "sub"))
	s.api.set("/subscriptions?after=sub", list(true, "sub")) // and again
	err = s.paddle.Sync(t.Context(), s.sales)
	require.Contains(t, err.Error(), "the page after sub is the same")
	is.True(time.Until(s.now) < time.Minute)
}
