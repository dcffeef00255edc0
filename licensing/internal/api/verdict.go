package api

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// validate is POST /license/validate: 200 for every license key, also for one
// that no license has.
func (a api) validate(w http.ResponseWriter, r *http.Request) error {
	body, key, err := withKey(r)
	if err != nil {
		return err
	}
	p := license.ValidateParams{
		Key:          key,
		ProductID:    body.Filled("product_id"),
		CustomerID:   body.Filled("customer_id"),
		Fingerprint:  body.Filled("fingerprint"),
		Entitlements: body.List("entitlements"),
	}
	p.Faults = body.Faults()
	v, err := a.holder(r).Validate(r.Context(), p)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, v)
}

// explain is GET /license/{licenseID}/verdict: what validate would say, at any
// instant, and without renewing anything.
func (a api) explain(w http.ResponseWriter, r *http.Request) error {
	query := web.ReadQuery(r, "at", "product_id", "customer_id", "fingerprint", "entitlements...")
	p := license.ExplainParams{
		ID:           web.Param(r, "licenseID"),
		At:           query.Time("at"),
		ProductID:    query.Text("product_id"),
		CustomerID:   query.Text("customer_id"),
		Fingerprint:  query.Text("fingerprint"),
		Entitlements: query.Texts("entitlements"),
	}
	if err := query.Err(); err != nil {
		return err
	}
	v, err := a.rules(r).Explain(r.Context(), p)
	if err != nil {
		return web.QueryError(err)
	}
	return web.WriteJSON(w, http.StatusOK, v)
}
