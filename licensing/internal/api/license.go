package api

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// createLicense is POST /license.
func (a api) createLicense(w http.ResponseWriter, r *http.Request) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	if err := web.Unconditional(r); err != nil {
		return err
	}
	body, err := web.ReadObject(r, web.JSON)
	if err != nil {
		return err
	}
	p := createParams(body)
	rules := a.rules(r)
	return web.Once(w, r, rules, web.Change{
		Body:    body,
		Prepare: func() error { return rules.PrepareCreate(r.Context(), &p) },
		Do: func(rules *license.Service) (web.Reply, error) {
			l, err := rules.Create(r.Context(), p)
			if err != nil {
				return web.Reply{}, err
			}
			reply, err := licenseReply(http.StatusCreated, l)
			reply.Location = web.Link(r, "license", l.ID)
			return reply, err
		},
	})
}

// getLicense is GET /license/{licenseID}.
func (a api) getLicense(w http.ResponseWriter, r *http.Request, id string) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	l, err := a.rules(r).Get(r.Context(), id)
	if err != nil {
		return err
	}
	known, err := web.NotModified(r, l.Version())
	if err != nil {
		return err
	}
	w.Header().Set("ETag", web.ETag(l.Version()))
	if known {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return web.WriteJSON(w, http.StatusOK, l)
}

// updateLicenseAt is PATCH /license/{licenseID}.
func (a api) updateLicenseAt(w http.ResponseWriter, r *http.Request) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	return a.update(w, r, web.Param(r, "licenseID"))
}

// updateLicense is PATCH /license, where the license is named in the query, in
// the body, or by its product and its customer.
func (a api) updateLicense(w http.ResponseWriter, r *http.Request) error {
	query := web.ReadQuery(r, "id")
	if err := query.Err(); err != nil {
		return err
	}
	return a.update(w, r, query.Text("id"))
}

// update changes a license; id is the one that the address names, if any.
func (a api) update(w http.ResponseWriter, r *http.Request, id string) error {
	if err := web.NoneMatchOnRead(r); err != nil {
		return err
	}
	ifMatch, err := web.IfMatch(r)
	if err != nil {
		return err
	}
	body, err := web.ReadObject(r, web.JSON, web.MergePatch)
	if err != nil {
		return err
	}
	p, err := updateParams(body, id)
	if err != nil {
		return err
	}
	p.IfMatch = ifMatch
	return web.Once(w, r, a.rules(r), web.Change{
		Body: body,
		Do: func(rules *license.Service) (web.Reply, error) {
			l, err := rules.Update(r.Context(), p)
			if err != nil {
				return web.Reply{}, err
			}
			return licenseReply(http.StatusOK, l)
		},
	})
}

// licenseReply is the answer to a change that leaves l.
func licenseReply(status int, l license.License) (web.Reply, error) {
	body, err := web.Marshal(l)
	return web.Reply{Status: status, ETag: web.ETag(l.Version()), Body: body}, err
}

// deleteLicense is DELETE /license/{licenseID}.
func (a api) deleteLicense(w http.ResponseWriter, r *http.Request) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	if err := web.NoBody(r); err != nil {
		return err
	}
	if err := web.NoneMatchOnRead(r); err != nil {
		return err
	}
	ifMatch, err := web.IfMatch(r)
	if err != nil {
		return err
	}
	p := license.DeleteParams{ID: web.Param(r, "licenseID"), IfMatch: ifMatch}
	if err := a.rules(r).Delete(r.Context(), p); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		Object  string `json:"object"`
		ID      string `json:"id"`
		Deleted bool   `json:"deleted"`
	}{"license", p.ID, true})
}
