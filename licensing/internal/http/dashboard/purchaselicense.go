package dashboard

import (
	"cmp"
	"errors"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/dates"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// createForPurchaseForm creates the license of a purchase that waited for something that is
// there now, such as its plan, or for something that the operator names.
func createForPurchaseForm(v *kit.Visit, f api.Purchase) (*forms.FormPage, error) {
	row := purchaseRowOf(v, f)
	name, err := v.PlanName(row.Plan)
	if err != nil {
		return nil, err
	}
	p := purchaseFormPage(f.Reference, "Create license",
		"The license gets the terms of the plan "+cmp.Or(name, row.Plan)+", as if the plan had existed when the purchase was reported.")
	p.Done = "The license has been created."
	params := api.RecordPurchaseParams{Reference: f.Reference, At: f.Fields["state"].At}
	named := map[string]*string{"customer_id": &params.CustomerID, "plan_id": &params.PlanID, "license_id": &params.LicenseID}
	if row.Missing() != "" {
		if err := askMissing(v, p, row); err != nil {
			return nil, err
		}
	}
	p.Do = func(tx *kit.Visit) (string, error) {
		for _, x := range p.Form.Fields {
			if *named[x.Name] = x.Value; x.Value == "" {
				p.Form.AddError(x.Name, "is required")
				return "", nil
			}
		}
		after, err := selling.New(tx.Licenses).RecordPurchase(tx.R.Context(), params)
		switch {
		case errors.Is(err, api.ErrReferenceTaken):
			return "", forms.ConflictError("The license that this purchase is for belongs to another customer.")
		case err != nil:
			return "", err
		case after.License != nil:
			return kit.LicensePath(after.License.ID), nil
		case after.Waiting != "" && after.Waiting != f.Waiting:
			p.Done = "Saved. The purchase is still waiting: " + waitingTexts[after.Waiting] + "."
			return "", nil
		case after.Waiting != "":
			return "", forms.ConflictError("The purchase is still waiting: " + waitingTexts[after.Waiting] + ".")
		}
		return "", forms.ConflictError("The license of this purchase was revoked or deleted.")
	}
	return p, nil
}

// askMissing makes the form of a purchase ask for what no event has named.
func askMissing(v *kit.Visit, p *forms.FormPage, row purchaseRow) error {
	title := "Name the " + row.Missing()
	x := &forms.Field{Name: row.Missing() + "_id", Label: kit.SentenceCase(row.Missing()), Type: "text", Required: true, MaxLength: 255}
	p.Title, p.Heading, p.Action = title+": "+row.Reference, title, "Save"
	p.Text = []string{"No event has named the " + row.Missing() + " of this purchase. Check at your shop which it is: it cannot be changed here later."}
	p.Form = forms.NewForm(x)
	switch row.Missing() {
	case "customer":
		x.Hint = "The ID that your shop has for the customer. Later events must name the same one, or none."
	case "plan":
		x.Hint = "A plan ID."
		p.Prepare = func(v *kit.Visit) error {
			plans, _, err := plansOffered(v, "", x.Value)
			if len(plans) > 0 {
				x.Select = append([]forms.Option{{Label: "Choose a plan"}}, plans...)
			}
			return err
		}
	case "license":
		p.Done, x.Hint = "The purchase is a part of this license now.", "The license of the customer "+row.CustomerID+" that the add-on is for."
		licenses, err := v.Licenses.List(v.R.Context(), api.ListLicensesParams{CustomerID: row.CustomerID, ProductID: row.ProductID, NewestFirst: true, Limit: offeredPlans})
		if err != nil || licenses.HasMore {
			return err
		}
		return offerLicenses(v, x, licenses.Data)
	}
	return nil
}

// offerLicenses makes a field a list of licenses, of which none is chosen. Licenses of one
// customer often have the same name.
func offerLicenses(v *kit.Visit, x *forms.Field, list []api.License) error {
	if len(list) > 0 {
		x.Select = []forms.Option{{Label: "Choose a license"}}
	}
	for _, l := range list {
		plan, err := v.PlanName(l.PlanID)
		if err != nil {
			return err
		}
		text := []string{l.Name, string(l.Status)}
		if plan != "" {
			text = append(text, plan)
		}
		if l.ExpiresAt != nil {
			text = append(text, "until "+dates.Last(*l.ExpiresAt, v.Zone()).Format("2 January 2006"))
		}
		x.Select = append(x.Select, forms.Option{Value: l.ID, Label: strings.Join(text, ", ")})
	}
	return nil
}
