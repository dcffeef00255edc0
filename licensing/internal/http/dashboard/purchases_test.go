package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// An operator finds out why a purchase ended, and reopens it.
func TestPurchase(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "price_1", Name: "Atlas yearly", Duration: api.Duration{Years: 1}})
	tell := func(p api.RecordPurchaseParams) api.Purchase {
		t.Helper()
		p.At = s.clock()
		f, err := s.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
		return f
	}
	order := "2026-7"
	bought := tell(api.RecordPurchaseParams{Reference: "shop:1", CustomerID: "cus_ada", PlanID: "price_1", State: api.PurchaseActive, Renews: new(false), Metadata: map[string]*string{"order": &order}})
	waiting := tell(api.RecordPurchaseParams{Reference: "shop:2", CustomerID: "cus_bob", PlanID: "price_2", State: api.PurchaseActive})
	is.Equal(waiting.Waiting, api.WaitingUnknownPlan)
	s.advance(time.Hour)
	tell(api.RecordPurchaseParams{Reference: "shop:1", State: api.PurchaseEnded})
	s.advance(time.Hour)

	page := v.get("licenses/" + bought.License.ID).body
	for _, text := range []string{`plan/price_1">Atlas yearly</a>`, `purchase/shop:1">shop:1</a> <span class="pill expired">ended</span>`} {
		require.Contains(t, page, text)
	}
	list := v.get("purchases").body
	require.Contains(t, list, "shop:2")
	require.Contains(t, list, "There is no plan with its plan ID")
	require.NotContains(t, list, "shop:1")
	require.Contains(t, v.get("").body, `purchase/shop:2">cus_bob</a> <span class="muted">paid and has no key: no plan price_2</span>`, `href="./plans/new?id=price_2">Create it</a>`)
	require.Contains(t, v.get("purchases?reference=shop:3").body, "No purchase has this reference.")
	is.Equal(v.get("purchases?reference=shop:1").to(), "./purchase/shop:1")

	page = v.get("purchase/shop:1").body
	require.Contains(t, page, `<span class="any">ended</span>`) // the state, among the stored fields
	require.NotContains(t, page, `<span class="any">active</span>`)
	require.Contains(t, page, `Renews`, `<span class="any">no</span>`)
	for _, text := range []string{"Metadata order", "2026-7", "1 Mar 2026, 12:00<", "<dt>Ended</dt>", "1 Mar 2026, 13:00<", licenseLink(bought.License.ID)} {
		require.Contains(t, page, text)
	}
	s.operator("sue@example.com", operator.RoleSupport)
	require.NotContains(t, s.signedIn("sue@example.com").get("purchase/shop:1").body, "/reopen")

	require.Contains(t, v.post("purchase/shop:1/reopen", "at", "soon").body, `id="f-at-error"`)
	require.Contains(t, v.post("purchase/shop:1/reopen", "at", "2026-03-01T12:00:00").body, `id="f-at-error"`) // before the end
	is.Equal(v.follow(v.post("purchase/shop:1/reopen", "reason", "Paid by wire")).notice(), "The purchase has been reopened.")
	is.Equal(v.post("purchase/shop:1/reopen").StatusCode, http.StatusUnprocessableEntity) // it has not ended
	l, err := s.Service().Get(t.Context(), bought.License.ID)
	is.NoErr(err)
	is.Equal(l.Status, api.LicenseActive)
	is.Equal(*l.ExpiresAt, s.clock().Add(-2*time.Hour).AddDate(1, 0, 0))
	is.Equal(v.get("purchase/shop:1/allow-trial").StatusCode, http.StatusNotFound)
}

func licenseLink(id string) string { return `licenses/` + id + `"` }

// TestPurchasesHaveNames: pages name a purchase and its plan as a seller does, not by the IDs of
// a payment provider and of the service.
func TestPurchasesHaveNames(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "price_1Qx", Name: "Atlas, a year", Duration: api.Duration{Years: 1}})
	trial, err := s.Selling().StartTrial(t.Context(), api.StartTrialParams{PlanID: "price_1Qx", CustomerID: "ada"})
	is.NoErr(err)
	for _, page := range []string{"licenses/" + trial.License.ID, "customer?id=ada"} {
		body := v.get(page).body
		require.Contains(t, body, `>trial</a> <span class="pill active">active</span>`, `<span class="sub">Atlas, a year`, `for purchase</span> <a class="any"`)
		require.NotContains(t, body, ">trial:", "price_1Qx<", "price_1Qx ·")
	}
	require.Contains(t, v.get("purchase/trial:"+trial.License.ID).body, `<dt>Plan</dt><dd><a href="../plan/price_1Qx">Atlas, a year</a>`)

	p := api.RecordPurchaseParams{Reference: "shop:1", CustomerID: "bob", PlanID: "price_2Qx", State: api.PurchaseActive, At: s.clock()}
	_, err = s.Selling().RecordPurchase(t.Context(), p)
	is.NoErr(err)
	page := v.get("purchase/shop:1").body
	require.NotContains(t, page, "<dt>Plan</dt>") // there is none
	s.plan(api.PutPlanParams{ID: "price_2Qx", Name: "Atlas, a month", Duration: api.Duration{Months: 1}})
	require.Contains(t, v.get("purchase/shop:1/license").body, "the terms of the plan Atlas, a month, as if")
}

func TestAllowAnotherTrial(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "try", Duration: api.Duration{Days: 14}})
	start := api.StartTrialParams{PlanID: "try", CustomerID: "cus_ada", Subjects: []string{"device:1"}}
	trial, err := s.Selling().StartTrial(t.Context(), start)
	is.NoErr(err)
	path := "purchase/trial:" + trial.License.ID
	require.Contains(t, v.get("licenses/"+trial.License.ID).body, path)
	require.NotContains(t, v.get(path).body, "Refund")
	s.operator("sue@example.com", operator.RoleSupport)
	s.operator("vic@example.com", operator.RoleViewer)
	support := s.signedIn("sue@example.com")
	require.NotContains(t, s.signedIn("vic@example.com").get(path).body, "Allow another trial")
	require.Contains(t, support.get(path).body, path+"/allow-trial")
	is.Equal(support.follow(support.post(path+"/allow-trial", "reason", "New laptop")).notice(), "Another trial is allowed.")
	is.Equal(v.post(path+"/allow-trial").StatusCode, http.StatusConflict)
	require.Contains(t, v.get("audit").body, "New laptop")
	trial, err = s.Selling().StartTrial(t.Context(), start)
	is.NoErr(err)
	is.True(trial.Started)
}

// TestRefund: the page of a purchase says where it is refunded, until it is.
func TestRefund(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for reference, says := range map[string]string{
		"stripe:si_1":     `<a href="https://dashboard.stripe.com/" rel="noreferrer">Stripe</a>. Its event ends`,
		"paddle:sub_1:p":  `<a href="https://vendors.paddle.com/" rel="noreferrer">Paddle</a>`,
		"polar:1":         `<a href="https://polar.sh/dashboard" rel="noreferrer">Polar</a>`,
		"lemonsqueezy:12": `<a href="https://app.lemonsqueezy.com/" rel="noreferrer">Lemon Squeezy</a>`,
		"shop:1":          "At your payment provider. Its event ends",
		"stripeish":       "At your payment provider. Its event ends",
	} {
		p := api.RecordPurchaseParams{Reference: reference, At: s.clock(), CustomerID: "ines", PlanID: "pro", State: api.PurchaseActive}
		_, err := s.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
		require.Contains(t, v.get("purchase/"+reference).body, "<dt>Refund</dt>", says)
		p.At, p.State = s.clock().Add(time.Minute), api.PurchaseRefunded
		_, err = s.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
		require.NotContains(t, v.get("purchase/"+reference).body, "<dt>Refund</dt>")
	}
}

// waitingSite is a site with purchases that are paid for and name a plan that does not
// exist, and one that is not paid.
func waitingSite(t *testing.T, n int, opts licensing.Options) (*site, *visitor) {
	t.Helper()
	s := newSiteOn(t, memory.New(), opts)
	tell := func(p api.RecordPurchaseParams) {
		p.At = s.clock()
		_, err := s.Selling().RecordPurchase(t.Context(), p)
		is.New(t).NoErr(err)
	}
	for i := range n {
		mail := fmt.Sprintf("bob%d@shop.example", i)
		tell(api.RecordPurchaseParams{Reference: fmt.Sprintf("shop:%d", i), CustomerID: fmt.Sprintf("cus_%d", i), PlanID: "price_1", State: api.PurchaseActive, Metadata: map[string]*string{"email": &mail}})
	}
	tell(api.RecordPurchaseParams{Reference: "cart:1", CustomerID: "cus_0", PlanID: "price_1"})
	return s, s.admin()
}

// TestPurchasesThatWaitWithALicense: an upgrade to an unknown price and an add-on of another
// product are listed with their license, however many carts were abandoned.
func TestPurchasesThatWaitWithALicense(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "pro", ProductID: "app"})
	s.plan(api.PutPlanParams{ID: "extra", ProductID: "other", Kind: api.PlanAddOn})
	tell := func(p api.RecordPurchaseParams) api.Purchase {
		p.At, p.CustomerID = s.clock(), "cus_ada"
		f, err := s.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
		return f
	}
	id := tell(api.RecordPurchaseParams{Reference: "shop:1", Name: "A <b>", PlanID: "pro", State: api.PurchaseActive}).LicenseID
	require.NotContains(t, v.get("").body, "purchases#kept")
	require.NotContains(t, v.get("purchases").body, "With a license")
	s.advance(time.Hour)
	tell(api.RecordPurchaseParams{Reference: "shop:1", PlanID: "price_2"})
	tell(api.RecordPurchaseParams{Reference: "shop:2", PlanID: "extra", State: api.PurchaseActive, LicenseID: id})
	for i := range 1000 {
		tell(api.RecordPurchaseParams{Reference: fmt.Sprint("cart:", i), PlanID: "pro"})
	}
	require.Contains(t, v.get("").body, `purchases#kept">2 purchases</a> <span class="muted">wait although they have a license`)
	_, kept, _ := strings.Cut(v.get("purchases").body, "With a license")
	require.Contains(t, kept, `purchase/shop:1">shop:1</a>`, "There is no plan with its plan ID", "shop:2", "Its plan is one of another product than the license",
		licenseLink(id)+`>License A &lt;b&gt;</a>`)
	require.NotContains(t, kept, "90 days", "<b>", "cart:")
	health := s.Health(t.Context())
	is.Equal(health.WaitingPurchases, 2)
	is.Equal(health.Waiting, []licensing.WaitingPurchase{{Reference: "shop:1", Waiting: api.WaitingUnknownPlan, LicenseID: id}, {Reference: "shop:2", Waiting: api.WaitingOtherProduct, LicenseID: id}})
}

// An operator finds a purchase that waits, and creates its plan; with the plan, the
// waiting purchases get their licenses.
func TestWaitingPurchase(t *testing.T) {
	is := is.New(t)
	s, v := waitingSite(t, 3, licensing.Options{})
	for _, text := range []string{"shop:2", "cus_2", "bob2@shop.example"} {
		require.Contains(t, v.get("search?q="+text).body, `purchase/shop:2">shop:2</a>`)
	}
	require.Contains(t, v.get("").body, `purchase/shop:0">cus_0</a> <span class="muted">paid and has no key: no plan price_1</span>`, `href="./plans/new?id=price_1">Create it</a>`, `purchases#unpaid">1 purchase</a> <span class="muted">not paid yet`)
	list := v.get("purchases").body
	paid, unpaid, _ := strings.Cut(list, "Not paid yet")
	require.Contains(t, paid, "Paid, no key", "shop:0", "shop:1", "shop:2")
	require.Contains(t, unpaid, "cart:1")
	require.NotContains(t, paid, "cart:1")

	page := v.get("purchase/shop:2")
	require.Contains(t, page.body, "There is no plan with its plan ID", `plans/new?id=price_1">Create plan</a>`)
	require.NotContains(t, page.body, "shop:2/license")
	form := v.get("plans/new?id=price_1")
	require.Contains(t, form.body, `value="price_1"`)
	created := v.post("plans/new?id=price_1", "once", form.hidden("once"), "id", "price_1", "product_id", "atlas", "until_ends", "license")
	is.Equal(created.StatusCode, http.StatusSeeOther)
	is.Equal(v.follow(created).notice(), "The plan has been created. 3 waiting purchases have their licenses now.")
	f, err := s.Selling().GetPurchase(t.Context(), "shop:2")
	is.NoErr(err)
	is.True(f.License != nil)
	require.NotContains(t, v.get("").body, "paid, no key")

	history := v.get("licenses/" + f.License.ID).body
	require.Contains(t, history, `for purchase</span> <a class="any" href="../purchase/shop:2">shop:2</a>`)
	require.Contains(t, v.get("audit").body, `for purchase</span> <a class="any" href="./purchase/shop:2">shop:2</a>`)
}

// A plan that was created with the API takes up no purchase. Then an operator creates the
// license of a purchase, or those of all that wait for the plan.
func TestCreateLicenseOfPurchase(t *testing.T) {
	is := is.New(t)
	s, v := waitingSite(t, 3, licensing.Options{})
	is.Equal(v.post("purchase/shop:0/license").StatusCode, http.StatusConflict) // there is no plan
	s.plan(api.PutPlanParams{ID: "price_1", Duration: api.Duration{Years: 1}})
	paidAt := s.clock()
	s.advance(time.Hour)
	require.Contains(t, v.get("purchase/shop:0").body, `purchase/shop:0/license">Create license</a>`)
	a := v.post("purchase/shop:0/license")
	f, err := s.Selling().GetPurchase(t.Context(), "shop:0")
	is.NoErr(err)
	is.Equal(*f.License.ExpiresAt, paidAt.AddDate(1, 0, 0))
	require.Contains(t, a.to(), "licenses/"+f.License.ID)
	is.Equal(v.follow(a).notice(), "The license has been created.")
	require.NotContains(t, v.get("purchase/shop:0").body, "shop:0/license")

	require.Contains(t, v.get("plan/price_1").body, `plan/price_1/waiting">Create waiting licenses</a>`)
	is.Equal(v.follow(v.post("plan/price_1/waiting")).notice(), "2 waiting purchases have their licenses now.")
	is.Equal(v.follow(v.post("plan/price_1/waiting")).notice(), "0 waiting purchases have their licenses now.")
	s.operator("sue@example.com", operator.RoleSupport)
	is.Equal(s.signedIn("sue@example.com").post("plan/price_1/waiting").StatusCode, http.StatusForbidden)
}

// After two seconds of a slow hook, the operator decides whether to continue.
func TestContinueWaitingPurchases(t *testing.T) {
	is := is.New(t)
	var s *site
	s, v := waitingSite(t, 55, licensing.Options{BeforeCreate: func(context.Context, *api.CreateLicenseParams) error {
		s.advance(time.Second)
		return nil
	}})
	form := v.get("plans/new?id=price_1")
	a := v.follow(v.post("plans/new?id=price_1", "once", form.hidden("once"), "id", "price_1", "product_id", "atlas", "until_ends", "license"))
	is.Equal(a.notice(), "The plan has been created. 50 waiting purchases have their licenses now.")
	require.Contains(t, a.body, ">Continue</button>")
	a = v.follow(v.post(strings.TrimPrefix(a.Request.URL.RequestURI(), mount+"/dashboard/")))
	is.Equal(a.notice(), "5 waiting purchases have their licenses now.")
	require.Contains(t, a.Request.URL.Path, "plan/price_1")
}
