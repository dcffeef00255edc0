package dashboard

import (
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// customerFormPage returns the page of a form about a customer.
func customerFormPage(id, heading string, text ...string) *forms.FormPage {
	return forms.NewFormPage("customers", kit.Place{Title: id, Path: customers.namePath(id)}, heading, text...)
}

// customerIDForm gives a customer another ID. If that is the ID of another customer, it
// first says that it merges the two. If it is interrupted, the same form finishes.
func customerIDForm(_ *kit.Visit, id string) (*forms.FormPage, error) {
	p := customerFormPage(id, "Change customer ID",
		"All licenses and purchases of this customer get the new ID. Keys, activations, names and email addresses stay. Programs notice nothing, unless they send the customer ID.",
		"Tell your shop the new ID. A new purchase under the old ID would create a license of that ID. If this is interrupted, repeat it.")
	p.Form = forms.NewForm(
		&forms.Field{Name: "to", Label: "New customer ID", Type: "text", Required: true, MaxLength: 255},
		forms.ReasonField("Optional. Recorded in the history."))
	p.Done = "The customer has the new ID."
	p.Do = func(tx *kit.Visit) (string, error) {
		change := api.ChangeCustomerIDParams{CustomerID: id, To: p.Form.Field("to").Value, Reason: p.Form.Field("reason").Value}
		if merged := tx.Sent("merge"); change.To != id && merged != change.To {
			merges, err := inner.Of(tx.Licenses).Leave().Merges(tx.R.Context(), change)
			if err != nil {
				return "", err
			}
			if merges {
				there, err := tx.Licenses.Count(tx.R.Context(), api.ListLicensesParams{CustomerID: change.To})
				if err != nil {
					return "", err
				}
				p.Form.Hidden["merge"] = change.To
				p.Action, p.Danger = "Merge customers", true
				return "", forms.ConflictError(fmt.Sprintf("There is a customer %s with %s. This merges the two customers and cannot be undone. Submit the form again to merge them.", change.To, kit.Count(int(there.Total), "license")))
			}
		}
		_, err := tx.Licenses.ChangeCustomerID(tx.R.Context(), change)
		return customers.namePath(change.To), err
	}
	return p, nil
}

// exportCustomer downloads what is stored about a customer.
func exportCustomer(v *kit.Visit, id string) error {
	d := &kit.CsvDownload{V: v, Name: "customer", Json: true}
	return d.Ended(v.Licenses.ExportCustomer(v.R.Context(), d, id))
}
