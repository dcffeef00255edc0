package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"
	"github.com/stripe/stripe-go/v85"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/internal/testing/smtpsink"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/mail"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A shop is a licensing service that mails keys.
type shop struct {
	h     *licensing.Handler
	url   string
	inbox *smtpsink.Sink
}

func newShop(t *testing.T) shop {
	t.Helper()
	is := is.New(t)
	s := shop{inbox: smtpsink.New(t)}
	mails := mail.Keys{Licenses: func() *license.Service { return s.h.Service() }, Send: mail.Server{Addr: s.inbox.Addr, From: "keys@vendor.example"}.Send}.Subscriber()
	mails.FromStart = true
	s.h = licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler), Subscribers: []licensing.Subscriber{mails}})
	is.NoErr(putPlans(t.Context(), s.h.Selling()))
	server := httptest.NewServer(s.h)
	t.Cleanup(server.Close)
	s.url = server.URL
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { s.h.Run(ctx) })
	t.Cleanup(work.Wait)
	t.Cleanup(cancel)
	return s
}

// key returns the key of the next mail, and whom the mail is for.
func (s shop) key(t *testing.T) (to, key string) {
	t.Helper()
	m, body := s.inbox.Next(t)
	return m.Header.Get("To"), regexp.MustCompile(`[0-9A-Z]{5}(-[0-9A-Z]{5}){4}`).FindString(body)
}

// program starts the program of a customer who has typed in a key.
func (s shop) program(t *testing.T, key string) *program.License {
	t.Helper()
	is := is.New(t)
	resp, err := http.Get(s.url + "/file/keys")
	is.NoErr(err)
	defer resp.Body.Close()
	keys, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	lic, err := program.Open(program.Options{URL: s.url, Keys: keys, ProductID: "atlas", Key: key, Dir: t.TempDir()})
	is.NoErr(err)
	t.Cleanup(func() { lic.Close() })
	return lic
}

// What a step of a sale leads to.
const (
	nothing = "no license"
	valid   = "valid"
	denied  = "denied"
)

// A step is an event of a provider about something that is paid once.
type step struct {
	deliver func(sales *selling.Service) *httptest.ResponseRecorder
	want    string
}

// recordedSteps are the recorded events of an order.
func recordedSteps(t *testing.T, name string, want ...string) (steps []step) {
	t.Helper()
	is := is.New(t)
	file, err := recorded.ReadFile("testdata/" + name + "order.json")
	is.NoErr(err)
	var payloads []json.RawMessage
	is.NoErr(json.Unmarshal(file, &payloads))
	is.Equal(len(payloads), len(want))
	a := accounts{fakestripe.New(), paddleAccount{}}
	for i, payload := range payloads {
		steps = append(steps, step{func(sales *selling.Service) *httptest.ResponseRecorder {
			is.NoErr(a.happen(name, payload))
			return a.deliver(t.Context(), sales, name, payload)
		}, want[i]})
	}
	return steps
}

const checkout, paymentIntent, charge, dispute = fakestripe.Checkout, fakestripe.Intent, fakestripe.Charge, fakestripe.Dispute

// stripeSteps are the events of a checkout by bank debit, a dispute that is won, and refunds.
func stripeSteps(t *testing.T) []step {
	t.Helper()
	all := accounts{fakestripe.New(), nil}
	a := all.stripe
	on := func(kind, id string, change func(), want string) step {
		return step{func(sales *selling.Service) *httptest.ResponseRecorder {
			change()
			return all.deliver(t.Context(), sales, "stripe", a.Event(kind, id, stripe.APIVersion))
		}, want}
	}
	open := func(status string) func() {
		return func() {
			a[dispute]["payment_intent"], a[dispute]["status"], a[charge]["disputed"] = paymentIntent, status, true
		}
	}
	return []step{
		on("checkout.session.completed", checkout, func() {}, nothing),
		on("checkout.session.async_payment_succeeded", checkout, func() { a[checkout]["payment_status"] = "paid" }, valid),
		on("charge.refunded", charge, func() { a[charge]["amount_refunded"] = 100 }, valid),
		on("charge.dispute.created", dispute, open("warning_needs_response"), valid),
		on("charge.dispute.created", dispute, open("needs_response"), denied),
		on("charge.dispute.closed", dispute, open("won"), valid),
		on("checkout.session.completed", checkout, func() {}, valid), // repeated
		on("charge.dispute.closed", dispute, open("lost"), denied),
		on("charge.refunded", charge, func() { a[charge]["refunded"] = true }, denied),
	}
}

// TestSale: the key of what was paid once comes by mail, a part of a refund changes
// nothing, a dispute denies the program for a while, and a refund forever.
func TestSale(t *testing.T) {
	for name, steps := range map[string][]step{
		"stripe":       stripeSteps(t),
		"paddle":       recordedSteps(t, "paddle", valid, valid, denied, valid, valid, denied),
		"lemonsqueezy": recordedSteps(t, "lemonsqueezy", valid, valid, denied),
		"polar":        recordedSteps(t, "polar", valid, valid, denied),
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newShop(t)
			var lic *program.License
			for i, step := range steps {
				w := step.deliver(s.h.Selling())
				is.Equal(w.Code, http.StatusOK)
				if step.want == valid && lic == nil {
					to, key := s.key(t)
					require.Contains(t, to, "@customer.example")
					lic = s.program(t, key)
				}
				got := nothing
				page, err := s.h.Service().List(t.Context(), api.ListLicensesParams{})
				is.NoErr(err)
				if lic == nil && len(page.Data) > 0 {
					got = "a license"
				}
				if lic != nil {
					lic.Refresh(t.Context())
					got = map[bool]string{true: valid, false: denied}[lic.Status().Valid]
				}
				if got != step.want {
					t.Fatalf("step %d: %s, want %s", i, got, step.want)
				}
			}
			page, err := s.h.Service().List(t.Context(), api.ListLicensesParams{})
			is.NoErr(err)
			is.Equal(len(page.Data), 1)
			is.Equal(*page.Data[0].MaxActivations, int64(2)) // two units
			is.Equal(page.Data[0].Name, map[string]string{"stripe": "Grace Hopper", "paddle": "ada@customer.example"}[name]+
				map[string]string{"lemonsqueezy": "Ada Lovelace", "polar": "Ada Lovelace"}[name])
			is.Equal(s.inbox.Waiting(), 0)
			_, err = s.h.Selling().GetPurchase(t.Context(), "paddle:txnitm_01hv8xbtv1bxmsvwhq2w0sk2tq") // a payment of a subscription
			require.ErrorIs(t, err, api.ErrNotFound)
		})
	}
}

// TestOrdersInAnyOrder: the events of an order that is refunded in the end leave one
// expired license, in any order and with repetitions.
func TestOrdersInAnyOrder(t *testing.T) {
	for _, name := range []string{"paddle", "lemonsqueezy", "polar"} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			file, err := recorded.ReadFile("testdata/" + name + "order.json")
			is.NoErr(err)
			p := provider{Name: name}
			is.NoErr(json.Unmarshal(file, &p.payloads))
			for range 50 {
				order := p.shuffled()
				rules := license.New(memory.New(), license.Options{})
				is.NoErr(putPlans(t.Context(), selling.New(rules)))
				is.NoErr(p.deliver(t.Context(), selling.New(rules), order))
				page, err := rules.List(t.Context(), api.ListLicensesParams{})
				is.NoErr(err)
				if len(page.Data) != 1 || page.Data[0].Status != api.LicenseExpired {
					t.Fatalf("%v: %+v", order, page.Data)
				}
			}
		})
	}
}

// TestSubscriptionIsMailed: the key of a subscription comes by mail.
func TestSubscriptionIsMailed(t *testing.T) {
	is := is.New(t)
	all, err := providers()
	is.NoErr(err)
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			is := is.New(t)
			s := newShop(t)
			inOrder := make([]int, len(p.payloads))
			for i := range inOrder {
				inOrder[i] = i
			}
			is.NoErr(p.deliver(t.Context(), s.h.Selling(), inOrder))
			to, key := s.key(t)
			f, err := s.h.Selling().GetPurchase(t.Context(), p.reference)
			is.NoErr(err)
			is.Equal([]string{to, key}, []string{"<ada@customer.example>", f.License.Key})
			is.Equal(s.inbox.Waiting(), 0)
		})
	}
}

// TestCheckout: a checkout that is not complete gives nothing, a free one a license, and
// one of a subscription that of the subscription, to the page after the payment, too.
func TestCheckout(t *testing.T) {
	is := is.New(t)
	all, err := providers()
	is.NoErr(err)
	accounts, err := all[0].accounts()
	is.NoErr(err)
	a := accounts.stripe
	s := newShop(t)
	fulfill := func(id string) []*api.License {
		got, err := accounts.ofStripe().RecordCheckout(t.Context(), s.h.Selling(), id)
		is.NoErr(err)
		return got
	}
	session := a[checkout]
	session["status"], session["payment_status"], session["payment_intent"], session["amount_total"] = "open", "no_payment_required", nil, 0
	is.Equal(len(fulfill(checkout)), 0)
	session["status"] = "complete"
	guest := fulfill(checkout)
	is.Equal(len(guest), 1)
	is.Equal([]any{guest[0].Status, guest[0].CustomerID}, []any{api.LicenseActive, "mail:grace@customer.example"})
	is.Equal(fulfill(checkout)[0].Key, guest[0].Key)

	a[checkout+"/line_items"]["data"].([]any)[0].(map[string]any)["price"].(map[string]any)["type"] = "recurring"
	session["mode"], session["subscription"], session["customer"], session["payment_status"] = "subscription", "sub_1MowQVLkdIwHu7ixeRlqHVzs", "cus_Na6dX7aXxi11N4", "paid"
	is.Equal(fulfill(checkout)[0].CustomerID, "cus_Na6dX7aXxi11N4")
	_, err = accounts.ofStripe().RecordCheckout(t.Context(), s.h.Selling(), "cs_test_none")
	is.True(err != nil)
}

// TestItems: an add-on of a subscription, which comes before the base, adds to its license.
func TestItems(t *testing.T) {
	is := is.New(t)
	all, err := providers()
	is.NoErr(err)
	accounts, err := all[0].accounts()
	is.NoErr(err)
	a := accounts.stripe
	s := newShop(t)
	_, err = s.h.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "price_seats", ProductID: "atlas", Kind: api.PlanAddOn, Terms: api.Terms{MaxActivations: new(int64(10))}})
	is.NoErr(err)
	const id = "sub_1MowQVLkdIwHu7ixeRlqHVzs"
	items := a[id]["items"].(map[string]any)
	base := items["data"].([]any)[0].(map[string]any)
	base["current_period_end"] = time.Now().Add(time.Hour).Unix()
	addOn, price := maps.Clone(base), maps.Clone(base["price"].(map[string]any))
	addOn["id"], addOn["quantity"], addOn["price"], price["id"] = "si_seats", 2, price, "price_seats"
	items["data"] = []any{addOn, base}
	for _, kind := range []string{"customer.subscription.created", "customer.subscription.updated"} {
		is.Equal(accounts.deliver(t.Context(), s.h.Selling(), "stripe", a.Event(kind, id, stripe.APIVersion)).Code, http.StatusOK)
		f, err := s.h.Selling().GetPurchase(t.Context(), all[0].reference)
		is.NoErr(err)
		is.Equal(*f.License.MaxActivations, int64(15+20))
	}
}

// TestStripeFields: the fake account has every field that Stripe's library knows to be
// there always.
func TestStripeFields(t *testing.T) {
	is := is.New(t)
	all, err := providers()
	is.NoErr(err)
	accounts, err := all[0].accounts()
	is.NoErr(err)
	a := accounts.stripe
	items := a[checkout+"/line_items"]["data"].([]any)
	a["item"] = items[0].(map[string]any)
	a["price"] = a["item"]["price"].(map[string]any)
	kinds := map[string]any{
		"checkout.session": stripe.CheckoutSession{}, "payment_intent": stripe.PaymentIntent{}, "charge": stripe.Charge{}, "dispute": stripe.Dispute{},
		"customer": stripe.Customer{}, "subscription": stripe.Subscription{}, "item": stripe.LineItem{}, "price": stripe.Price{},
	}
	checked := map[string]bool{}
	for id, object := range a {
		kind, _ := object["object"].(string)
		known, ok := kinds[kind]
		if !ok {
			continue
		}
		checked[kind] = true
		for field := range reflect.TypeOf(known).Fields() {
			tag := field.Tag.Get("json")
			if _, has := object[tag]; !has && tag != "" && tag != "-" && tag != "deleted" && !strings.Contains(tag, "omitempty") {
				t.Errorf("%s has no %s", id, tag)
			}
		}
	}
	is.Equal(len(checked), len(kinds))
}
