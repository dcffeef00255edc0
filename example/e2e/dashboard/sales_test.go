package dashboard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// seedSales creates a plan, a purchase that has ended, one that waits, and a trial, and
// returns the page of the trial.
func (h *host) seedSales(t *testing.T) (trialPath string) {
	t.Helper()
	is := is.New(t)
	ctx, seats := t.Context(), int64(3)
	_, err := h.Selling().PutPlan(ctx, api.PutPlanParams{
		ID: "price_atlas_1", Name: "Atlas, a year", ProductID: "atlas", Duration: api.Duration{Years: 1},
		Terms: api.Terms{GraceSeconds: 14 * 86400, MaxActivations: &seats, Entitlements: map[string]any{"export": true}},
	})
	is.NoErr(err)
	order := "2026-00417"
	for _, p := range []api.RecordPurchaseParams{
		{Reference: "shop:sub_1", CustomerID: "harbour-pilots", PlanID: "price_atlas_1", State: api.PurchaseActive, Metadata: map[string]*string{"order": &order}, At: time.Now().Add(-time.Hour)},
		{Reference: "shop:sub_1", State: api.PurchaseEnded, At: time.Now()},
		{Reference: "shop:sub_2", CustomerID: "the.royal.observatory.of.the.northern.isles@procurement.example.org", PlanID: "price_of_another_shop", State: api.PurchaseActive},
	} {
		_, err := h.Selling().RecordPurchase(ctx, p)
		is.NoErr(err)
	}
	trial, err := h.Selling().StartTrial(ctx, api.StartTrialParams{PlanID: "price_atlas_1", CustomerID: "cus_ada"})
	is.NoErr(err)
	return "purchase/trial:" + trial.License.ID
}

// TestSales creates a plan and a license from it, finds out why a purchase has ended,
// and reopens it.
func TestSales(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.admin(t)
			b := newSignedIn(t, h, script)
			b.open("plans")
			b.press("New plan")
			b.fill("Plan ID", "price_2")
			b.fill("Product", "compass")
			b.fill("Duration", "14d")
			b.fill("Maximum activations", "2")
			b.press("Create plan")
			b.see("The plan has been created.")
			b.press("New license")
			b.fill("Name", "Compass for Ada")
			b.fill("Customer", "cus_ada")
			b.press("Create license")
			b.see("The license has been created.")
			b.see("in 14 days")

			for _, page := range []string{"plans", "plan/price_2"} {
				b.open(page)
				b.count(script, "main")
			}
			b.unfold("More")
			b.ask(script, "Delete")
			b.count(script, "dialog")

			h.seedSales(t)
			b.open("purchases")
			b.see("There is no plan with its plan ID")
			b.fill("Reference", "shop:sub_1")
			b.follow()
			b.see("Metadata order")
			b.ask(script, "Reopen")
			b.press("Reopen purchase")
			b.see("The purchase has been reopened.")
			is.New(t).Equal(b.policyErrors(), nil)
		})
	}
}

// count checks that an element, or the page without JavaScript, shows that the plan
// price_2 has one license. Without JavaScript, a link counts it.
func (b *browser) count(script bool, within string) {
	b.t.Helper()
	if !script {
		b.press("Count the licenses with price_2")
		within = "main"
	}
	b.wait(`document.querySelector('` + within + ` span[data-later="price_2"]')?.textContent === "1"`)
}

// TestSalePages checks the pages about plans and purchases as TestEveryPage does.
func TestSalePages(t *testing.T) {
	inspect := newInspection(t)
	h := newHost(t)
	h.admin(t)
	views := func(paths map[string]string) (list []view) {
		for name, path := range paths {
			list = append(list, view{name, func(b *browser) { b.open(path) }})
		}
		return list
	}
	cookie := h.cookie(t, adminEmail, adminPassword)
	inspect.views(t, h, cookie, views(map[string]string{"plans-empty": "plans", "purchases-empty": "purchases?reference=shop:7"}))
	trial := h.seedSales(t)
	bought, err := h.Selling().GetPurchase(t.Context(), "shop:sub_1")
	is.New(t).NoErr(err)
	h.counted(t)
	inspect.views(t, h, cookie, views(map[string]string{
		"sales": "?period=month", "sales-none": "?period=last-month", "audit-plan": "audit?type=sales.new&plan=price_atlas_1",
		"plans": "plans", "plan": "plan/price_atlas_1", "plan-edit": "plan/price_atlas_1/edit", "plan-delete": "plan/price_atlas_1/delete",
		"license-from-plan": "licenses/new?plan=price_atlas_1", "license-bought": "licenses/" + bought.LicenseID, "purchases": "purchases",
		"purchase": "purchase/shop:sub_1", "purchase-reopen": "purchase/shop:sub_1/reopen", "trial-again": trial + "/allow-trial",
		"license-transfer": "licenses/" + bought.LicenseID + "/transfer", "license-plan": "licenses/" + bought.LicenseID + "/plan",
	}))
}

// counted adds sales of two weeks ahead of a customer who is near the limit, and counts
// all.
func (h *host) counted(t *testing.T) {
	t.Helper()
	is := is.New(t)
	for i := range 7 {
		mail := "office@lighthouse.example"
		p := api.RecordPurchaseParams{
			Reference: fmt.Sprint("shop:lighthouse_", i), CustomerID: "lighthouse-trust", Name: "Lighthouse Trust", PlanID: "price_atlas_1", State: api.PurchaseActive,
			Until: api.To(time.Now().AddDate(0, 0, 2+i)), Metadata: map[string]*string{"email": &mail}, At: time.Now(),
		}
		f, err := h.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
		_, err = h.Service().Update(t.Context(), api.UpdateLicenseParams{ID: f.License.ID, MaxActivations: api.To[int64](5)})
		is.NoErr(err)
		for n := range 4 {
			_, err = h.Service().Activate(t.Context(), api.ActivateKeyParams{Key: f.License.Key, Fingerprint: fmt.Sprint("pc-", n)})
			is.NoErr(err)
		}
	}
	h.runUntil(t, `document.body.textContent.includes("7 licenses") && document.body.textContent.includes("4/5")`)
}

// runUntil runs the service until an expression is true on the overview with the month's
// sales.
func (h *host) runUntil(t *testing.T, js string) {
	t.Helper()
	is := is.New(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	b := newSignedIn(t, h, false)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		b.open("?period=month")
		if eval[bool](b, js) {
			break
		}
		is.True(time.Now().Before(deadline)) // counted
	}
	stop()
	is.NoErr(<-done)
}
