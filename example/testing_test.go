package main

import (
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

func TestSale(t *testing.T) {
	kit := licensingtest.New(t, licensing.Options{}) // in memory; its clock stands still
	sales := kit.Handler.Selling()
	_, err := sales.PutPlan(t.Context(), api.PutPlanParams{ID: "year", ProductID: "atlas", Duration: api.Duration{Years: 1}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := sales.RecordPurchase(t.Context(), api.RecordPurchaseParams{ // in your test: the code that handles a payment
		Reference: "shop:1001", CustomerID: "ada", PlanID: "year", State: api.PurchaseActive,
	})
	if err != nil {
		t.Fatal(err)
	}
	events := kit.Events()
	if last := events[len(events)-1]; last.Type != api.EventLicenseCreated || last.Subject != f.License.ID {
		t.Error("the sale appended", last.Type)
	}
	kit.Clock.Advance(366 * 24 * time.Hour)
	v, err := kit.Handler.Service().Validate(t.Context(), api.ValidateKeyParams{Key: f.License.Key, ProductID: "atlas"})
	if err != nil || v.Code != api.VerdictExpired {
		t.Error("a year later:", v.Code, err)
	}
}
