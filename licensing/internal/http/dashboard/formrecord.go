package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

func readLicense(v *kit.Visit) (api.License, error) {
	return v.Licenses.Get(v.R.Context(), v.R.PathValue("id"))
}

func planAt(v *kit.Visit) (api.Plan, error) {
	return selling.New(v.Licenses).GetPlan(v.R.Context(), v.R.PathValue("id"))
}

func readPurchase(v *kit.Visit) (api.Purchase, error) {
	return selling.New(v.Licenses).GetPurchase(v.R.Context(), v.R.PathValue("reference"))
}

// readCustomer returns the customer ID in the query.
func readCustomer(v *kit.Visit) (string, error) {
	id := v.R.URL.Query().Get("id")
	if id == "" {
		return "", kit.NotFound("This page does not exist.")
	}
	return id, nil
}
