package api

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// listActivations is GET /license/{licenseID}/activation.
func (a api) listActivations(w http.ResponseWriter, r *http.Request) error {
	query := web.ReadQuery(r, "ended", "limit", "cursor")
	p := license.ListActivationsParams{
		LicenseID: web.Param(r, "licenseID"),
		Ended:     query.Bool("ended"),
		Limit:     query.Number("limit", 1, maxLimit),
		Cursor:    query.Text("cursor"),
	}
	if err := query.Err(); err != nil {
		return err
	}
	page, err := a.rules(r).ListActivations(r.Context(), p)
	if err != nil {
		return web.QueryError(err)
	}
	return writeList(w, r, page.Activations, page.NextCursor)
}

// releaseActivation is DELETE /license/{licenseID}/activation/{activationID}.
func (a api) releaseActivation(w http.ResponseWriter, r *http.Request) error {
	query := web.ReadQuery(r, "reason")
	if err := query.Err(); err != nil {
		return err
	}
	if err := web.NoBody(r); err != nil {
		return err
	}
	if err := web.Unconditional(r); err != nil {
		return err
	}
	released, err := a.rules(r).ReleaseActivation(r.Context(), license.ReleaseParams{
		LicenseID:    web.Param(r, "licenseID"),
		ActivationID: web.Param(r, "activationID"),
		Reason:       query.Text("reason"),
	})
	if err != nil {
		return web.QueryError(err)
	}
	return web.WriteJSON(w, http.StatusOK, released)
}

// activate is POST /license/activate.
func (a api) activate(w http.ResponseWriter, r *http.Request) error {
	body, key, err := withKey(r)
	if err != nil {
		return err
	}
	p := license.ActivateParams{
		Key:         key,
		Fingerprint: value(body.Text("fingerprint")),
		ProductID:   body.Filled("product_id"),
		CustomerID:  body.Filled("customer_id"),
		Name:        value(body.Text("name")),
		Metadata:    body.Texts("metadata"),
		TakeOver:    body.Filled("take_over"),
	}
	p.Faults = body.Faults()
	v, err := a.holder(r).Activate(r.Context(), p)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, v)
}

// deactivate is POST /license/deactivate. With an activation_id instead of a
// fingerprint, whoever has the key releases the seat of another, where the
// options allow it.
func (a api) deactivate(w http.ResponseWriter, r *http.Request) error {
	body, key, err := withKey(r)
	if err != nil {
		return err
	}
	if body.Has("activation_id") {
		return a.releaseByKey(w, r, body, key)
	}
	p := license.DeactivateParams{Key: key, Fingerprint: value(body.Text("fingerprint"))}
	p.Faults = body.Faults()
	released, err := a.holder(r).Deactivate(r.Context(), p)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, released)
}

func (a api) releaseByKey(w http.ResponseWriter, r *http.Request, body *web.Object, key string) error {
	p := license.ReleaseParams{Key: key, ActivationID: value(body.Text("activation_id")), Reason: value(body.Text("reason"))}
	body.Refuse("names a seat a second time; leave it or activation_id out", "fingerprint")
	p.Faults = body.Faults()
	released, err := a.holder(r).ReleaseActivation(r.Context(), p)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, released)
}

// listActivationsByKey is POST /license/activation: a key has no place in an
// address, and so what would be a query is the body.
func (a api) listActivationsByKey(w http.ResponseWriter, r *http.Request) error {
	body, key, err := withKey(r)
	if err != nil {
		return err
	}
	p := license.ListActivationsParams{
		Key:    key,
		Ended:  body.Bool("ended"),
		Limit:  int(value(body.Int("limit"))),
		Cursor: value(body.Text("cursor")),
	}
	p.Faults = body.Faults()
	page, err := a.holder(r).ListActivations(r.Context(), p)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, listOf(page.Activations, page.NextCursor))
}

// withKey reads a request of somebody who has a license key, and nothing else
// to show. The key stands in the body, and its budget is charged.
func withKey(r *http.Request) (body *web.Object, key string, err error) {
	if err := web.ReadQuery(r).Err(); err != nil {
		return nil, "", err
	}
	if body, err = web.ReadObject(r, web.JSON); err != nil {
		return nil, "", err
	}
	body.Require("key")
	key = value(body.Text("key"))
	return body, key, web.LimitKey(r, key)
}

// holder returns the rules, acting for whoever has a license key.
func (a api) holder(r *http.Request) *license.Service {
	return a.Licenses.As(license.Caller{RequestID: web.RequestID(r.Context())})
}
