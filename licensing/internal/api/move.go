package api

import (
	"context"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// move is POST /license/{licenseID}/suspend, /reinstate and /revoke: the moves
// that need nothing but a reason.
func (a api) move(move func(*license.Service, context.Context, license.MoveParams) (license.License, error)) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		return a.change(w, r, func(body *web.Object, target target) changeLicense {
			p := license.MoveParams{ID: target.id, IfMatch: target.ifMatch, Reason: value(body.Text("reason"))}
			p.Faults = body.Faults()
			return func(rules *license.Service) (license.License, error) { return move(rules, r.Context(), p) }
		})
	}
}

// renewLicense is POST /license/{licenseID}/renew.
func (a api) renewLicense(w http.ResponseWriter, r *http.Request) error {
	return a.change(w, r, func(body *web.Object, target target) changeLicense {
		p := license.RenewParams{
			ID: target.id, IfMatch: target.ifMatch,
			ExpiresAt: pointer(body.OptionalTime("expires_at")),
			Duration:  body.Duration("duration"),
			From:      license.RenewFrom(body.Filled("from")),
			Reason:    value(body.Text("reason")),
		}
		p.Faults = body.Faults()
		return func(rules *license.Service) (license.License, error) { return rules.Renew(r.Context(), p) }
	})
}

// rekeyLicense is POST /license/{licenseID}/rekey.
func (a api) rekeyLicense(w http.ResponseWriter, r *http.Request) error {
	return a.change(w, r, func(body *web.Object, target target) changeLicense {
		p := license.RekeyParams{
			ID: target.id, IfMatch: target.ifMatch,
			Key:    body.Filled("key"),
			Reason: value(body.Text("reason")),
		}
		p.Faults = body.Faults()
		return func(rules *license.Service) (license.License, error) { return rules.Rekey(r.Context(), p) }
	})
}

// A target is the license that a move is about, and the versions of which one
// must be the present one.
type target struct {
	id      string
	ifMatch []license.Version
}

type changeLicense func(*license.Service) (license.License, error)

// change makes a move, which read takes out of the body. No move needs a body
// to be there: what is missing, the rules say.
func (a api) change(w http.ResponseWriter, r *http.Request, read func(*web.Object, target) changeLicense) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	if err := web.NoneMatchOnRead(r); err != nil {
		return err
	}
	ifMatch, err := web.IfMatch(r)
	if err != nil {
		return err
	}
	body, err := web.ReadOptionalObject(r, web.JSON)
	if err != nil {
		return err
	}
	do := read(body, target{web.Param(r, "licenseID"), ifMatch})
	return web.Once(w, r, a.rules(r), web.Change{
		Body: body,
		Do: func(rules *license.Service) (web.Reply, error) {
			l, err := do(rules)
			if err != nil {
				return web.Reply{}, err
			}
			return licenseReply(http.StatusOK, l)
		},
	})
}
