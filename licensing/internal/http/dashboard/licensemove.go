package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A move changes the status or the key of a license.
type move struct {
	name    string // in the path
	label   string // the label of the button that opens the confirmation
	heading string
	action  string // the label of the button that performs it
	verb    string // with an object, as in "Cannot …"
	text    string
	danger  bool
	from    []api.LicenseStatus // the statuses for which it is offered; the license service decides
	done    string
	do      func(*license.Service, context.Context, api.MoveLicenseParams) (api.License, error)
}

var moves = []move{
	{
		name: "suspend", label: "Suspend", heading: "Suspend license", action: "Suspend license", done: "The license has been suspended.",
		verb: "suspend this license",
		text: "Validation fails as suspended until you reinstate the license. Activations are kept.",
		from: []api.LicenseStatus{api.LicenseActive, api.LicenseScheduled, api.LicenseExpired},
		do:   (*license.Service).Suspend,
	},
	{
		name: "reinstate", label: "Reinstate", heading: "Reinstate license", action: "Reinstate license", done: "The license has been reinstated.",
		verb: "reinstate this license",
		text: "The license becomes valid again if its dates allow it.",
		from: []api.LicenseStatus{api.LicenseSuspended},
		do:   (*license.Service).Reinstate,
	},
	{
		name: "rekey", label: "Replace key", heading: "Replace key", action: "Replace key", done: "The license key has been replaced. The old key no longer works.",
		verb: "replace the key of this license",
		text: "For a leaked key. The license gets a new key, and the current key stops working immediately. The customer needs the new key.",
		from: []api.LicenseStatus{api.LicenseActive, api.LicenseScheduled, api.LicenseExpired, api.LicenseSuspended},
		do: func(s *license.Service, ctx context.Context, p api.MoveLicenseParams) (api.License, error) {
			return s.Rekey(ctx, api.RekeyLicenseParams{ID: p.ID, Reason: p.Reason, IfMatch: p.IfMatch})
		},
	},
	{
		name: "void-files", label: "Void files", heading: "Void license files", action: "Void files", done: "The license files have been voided.",
		verb: "void the files of this license",
		text: "Programs refuse all license files that were issued for this license once they see the next revocation list. Programs that reach the service get new files. Programs without a network continue until their files expire.",
		from: []api.LicenseStatus{api.LicenseActive, api.LicenseScheduled, api.LicenseExpired, api.LicenseSuspended},
		do:   (*license.Service).VoidFiles,
	},
	{
		name: "revoke", label: "Revoke", heading: "Revoke license", action: "Revoke license", danger: true, done: "The license has been revoked.",
		verb: "revoke this license",
		text: "This is final: a revoked license cannot be reinstated. The license is kept, and validation fails as revoked.",
		from: []api.LicenseStatus{api.LicenseActive, api.LicenseScheduled, api.LicenseExpired, api.LicenseSuspended},
		do:   (*license.Service).Revoke,
	},
}

// refused returns why the move is not possible for a license with status s.
func (m move) refused(s api.LicenseStatus) string {
	return "Cannot " + m.verb + ": it is " + string(s) + "."
}

// A moveLink is a button that opens the confirmation of a move.
type moveLink struct {
	Name, Label string
	Danger      bool
}

// movesOf returns the moves that are offered for a license.
func (v *visit) movesOf(l api.License) (list []moveLink, err error) {
	paused, err := inner.Of(v.licenses).Licenses().Paused(v.r.Context(), l)
	for _, m := range moves {
		if m.fits(l, paused) {
			list = append(list, moveLink{m.name, m.label, m.danger})
		}
	}
	return list, err
}

// fits reports whether the move is offered for a license. Paused are the licenses that
// only a purchase suspends: the operator can suspend them, too.
func (m move) fits(l api.License, paused []string) bool {
	return slices.Contains(m.from, l.Status) || m.name == "suspend" && slices.Contains(paused, l.ID)
}

// moveOf returns the move in the path, which is one of a list.
func (v *visit) moveOf(list []move) (move, error) {
	for _, m := range list {
		if m.name == v.r.PathValue("move") {
			return m, nil
		}
	}
	return move{}, notFound("This page does not exist.")
}

func (m move) form() *form {
	return newForm(reasonField("Optional. Recorded in the history and shown to the license key holder."))
}

func moveForm(v *visit, l api.License) (*formPage, error) {
	m, err := v.moveOf(moves)
	if err != nil {
		return nil, err
	}
	paused, err := inner.Of(v.licenses).Licenses().Paused(v.r.Context(), l)
	if err != nil {
		return nil, err
	}
	if !m.fits(l, paused) {
		return nil, moveForbidden(m.refused(l.Status))
	}
	p := v.licenseFormPage(l, m.label, m.heading, m.text)
	p.Form, p.Action, p.Danger, p.done = m.form(), m.action, m.danger, m.done
	if m.danger {
		p.Form.add(keyField(l))
	}
	p.do = func(tx *visit) (string, error) {
		_, err := m.do(tx.licenses, tx.r.Context(), api.MoveLicenseParams{ID: l.ID, Reason: p.Form.Field("reason").Value})
		if forbidden, ok := errors.AsType[*api.MoveError](err); ok {
			if err = moveForbidden(m.refused(forbidden.From)); forbidden.Customer {
				err = moveForbidden("The customer is suspended. Reinstate the customer.")
			}
		}
		return "", err
	}
	return p, nil
}

// moveForbidden returns the error for a change that a license does not allow.
func moveForbidden(detail string) error {
	return web.NewProblem(http.StatusConflict, "move_forbidden", detail)
}

// licenseFormPage returns a page with a form about a license.
func (v *visit) licenseFormPage(l api.License, label, heading string, text ...string) *formPage {
	return &formPage{Title: label + ": " + l.Name, Section: "licenses", Heading: heading, Text: text, Back: licensePath(l.ID), Subject: l.Name}
}

func deleteLicenseForm(v *visit, l api.License) (*formPage, error) {
	p := v.licenseFormPage(l, "Delete", "Delete license",
		"This permanently deletes the license, its key and its activations. Validation fails because the key is unknown. "+
			"The events of the license are kept.",
		"This cannot be undone. To end the license but keep its record, revoke it instead.")
	p.Form, p.Action, p.Danger, p.done = newForm(keyField(l)), "Delete license", true, "The license has been deleted."
	p.do = func(tx *visit) (string, error) {
		err := tx.licenses.Delete(tx.r.Context(), api.DeleteLicenseParams{ID: l.ID})
		if errors.Is(err, api.ErrNotFound) {
			err = nil
		}
		return "licenses", err
	}
	return p, nil
}
