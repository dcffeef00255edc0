package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A stateChange is a change of a license that a form confirms.
type stateChange struct {
	Name, Label string // in the path, and of the button that opens the form
	Danger      bool
	access      kit.Access
	heading     string
	action      string // the label of the button that makes the change; empty: the heading
	text        []string
	from        []api.LicenseStatus // the statuses for which it is offered; nil: all but revoked. The license service decides
	done        string
	do          func(*license.Service, context.Context, api.ChangeStateParams) (api.License, error)
	fill        func(*kit.Visit, api.License, *forms.FormPage) // sets do of the page and, instead of a reason, its fields; nil: do of the change is enough
}

// stateChanges are the changes in the menu of a license, in this order.
var stateChanges = []stateChange{
	{
		Name: "plan", Label: "Apply plan", access: kit.Admins, heading: "Apply plan", done: "The license has the terms of the plan.",
		text: []string{
			"This replaces the grace period, maximum activations, time without contact, offline time and entitlements with those of the plan. " +
				"A license that was bought gets as many activations as its quantity buys.",
			"The key, dates, updates, customer and metadata stay. So does the plan of a purchase: its next change of plan replaces the terms again.",
			"If it is the plan of the purchase that governs the license, the purchase gets the terms that the plan has now, its duration included, and what you have set stays unless the plan has changed it.",
		},
		fill: fillApplyPlan,
	},
	{
		Name: "transfer", Label: "Transfer", access: kit.Admins, heading: "Transfer license", done: "The license has been transferred to the customer.",
		text: []string{
			"The license goes to another customer. Unless you keep its key, it gets a new one, and the current key stops working immediately. " +
				"Its license files are canceled, and its activations and metadata are deleted.",
			"The dates, terms and entitlements stay. Its purchases become those of the new customer, without name and metadata, and continue to change the license.",
			"To correct the ID of the same customer, edit the license instead.",
		},
		fill: fillTransfer,
	},
	{
		Name: "suspend", Label: "Suspend", access: kit.Supporters, heading: "Suspend license", done: "The license has been suspended.",
		text: []string{"Validation fails as suspended until you reinstate the license. Activations are kept."},
		from: []api.LicenseStatus{api.LicenseActive, api.LicenseScheduled, api.LicenseExpired},
		do:   (*license.Service).Suspend,
	},
	{
		Name: "reinstate", Label: "Reinstate", access: kit.Supporters, heading: "Reinstate license", done: "The license has been reinstated.",
		text: []string{"The license becomes valid again if its dates allow it."},
		from: []api.LicenseStatus{api.LicenseSuspended},
		do:   (*license.Service).Reinstate,
	},
	{
		Name: "rekey", Label: "Replace key", access: kit.Admins, heading: "Replace key", done: "The license key has been replaced. The old key no longer works.",
		text: []string{"For a leaked key. The license gets a new key, and the current key stops working immediately. The customer needs the new key."},
		do: func(s *license.Service, ctx context.Context, p api.ChangeStateParams) (api.License, error) {
			return s.Rekey(ctx, api.RekeyLicenseParams{ID: p.ID, Reason: p.Reason, IfMatch: p.IfMatch})
		},
	},
	{
		Name: "void-files", Label: "Cancel license files", access: kit.Admins, heading: "Cancel license files", action: "Cancel license files", done: "The license files have been canceled.",
		text: []string{"Programs refuse all license files that were issued for this license once they see the next revocation list. Programs that reach the service get new files. Programs without a network continue until their files expire."},
		do:   (*license.Service).VoidFiles,
	},
	{
		Name: "revoke", Label: "Revoke", Danger: true, access: kit.Admins, heading: "Revoke license", done: "The license has been revoked.",
		text: []string{"This is final: a revoked license cannot be reinstated. The license is kept, and validation fails as revoked."},
		do:   (*license.Service).Revoke,
	},
	{
		Name: "delete", Label: "Delete", Danger: true, access: kit.Admins, heading: "Delete license", done: "The license has been deleted.",
		text: []string{
			"This permanently deletes the license, its key and its activations. Validation fails because the key is unknown. The events of the license are kept.",
			"This cannot be undone. To end the license but keep its record, revoke it instead.",
		},
		from: []api.LicenseStatus{api.LicenseActive, api.LicenseScheduled, api.LicenseExpired, api.LicenseSuspended, api.LicenseRevoked},
		fill: fillDelete,
	},
}

// refused returns why the change is not possible for a license with status s.
func (m stateChange) refused(s api.LicenseStatus) string {
	return "Cannot " + strings.ToLower(m.heading[:1]) + m.heading[1:] + ": the license is " + string(s) + "."
}

// fits reports whether the change is offered for a license. Paused are the licenses that
// only a purchase suspends: the operator can suspend them, too.
func (m stateChange) fits(l api.License, paused []string) bool {
	return m.from == nil && l.Status != api.LicenseRevoked || slices.Contains(m.from, l.Status) || m.Name == "suspend" && slices.Contains(paused, l.ID)
}

func (m stateChange) fields() *forms.Form {
	return forms.NewForm(forms.ReasonField("Optional. Recorded in the history and shown to the license key holder."))
}

// form is the page that confirms the change of a license.
func (m stateChange) form(v *kit.Visit, l api.License) (*forms.FormPage, error) {
	paused, err := inner.Of(v.Licenses).Licenses().Paused(v.R.Context(), l)
	if err != nil {
		return nil, err
	}
	if !m.fits(l, paused) {
		return nil, stateForbidden(m.refused(l.Status))
	}
	text, mailed := m.text, ""
	if m.Name == "rekey" {
		if mailed = keyMailed(v, l.Metadata); mailed != "" {
			text = append(slices.Clip(text), mailed[1:])
		}
	}
	p := licenseFormPage(l, m.heading, text...)
	p.Form, p.Action, p.Danger, p.Done = m.fields(), cmp.Or(m.action, m.heading), m.Danger, m.done+mailed
	p.Do = func(tx *kit.Visit) (string, error) {
		_, err := m.do(tx.Licenses, tx.R.Context(), api.ChangeStateParams{ID: l.ID, Reason: p.Form.Field("reason").Value})
		return "", err
	}
	if m.fill != nil {
		m.fill(v, l, p)
	}
	if m.Danger {
		p.Form.Add(forms.TypedField("key", "Last group of the license key", keyEnd(l.Key), "This is not the last group of the key."))
	}
	return p, nil
}

// stateForbidden returns the error for a change that a license does not allow.
func stateForbidden(detail string) error {
	return web.NewProblem(http.StatusConflict, "state_forbidden", detail)
}

// licenseFormPage returns a page with a form about a license.
func licenseFormPage(l api.License, heading string, text ...string) *forms.FormPage {
	return forms.NewFormPage("licenses", kit.Place{Title: l.Name, Path: kit.LicensePath(l.ID)}, heading, text...)
}

func fillDelete(_ *kit.Visit, l api.License, p *forms.FormPage) {
	p.Form = forms.NewForm()
	p.Do = func(tx *kit.Visit) (string, error) {
		return "licenses", kit.UnlessGone(tx.Licenses.Delete(tx.R.Context(), api.DeleteLicenseParams{ID: l.ID}))
	}
}
