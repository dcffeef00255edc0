package dashboard

import (
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// customerFormPage returns the page of a form about a customer.
func customerFormPage(id, heading string, text ...string) *formPage {
	return newFormPage("customers", place{id, customers.namePath(id)}, heading, text...)
}

// customerIDForm gives a customer another ID. If that is the ID of another customer, it
// first says that it merges the two. If it is interrupted, the same form finishes.
func customerIDForm(_ *visit, id string) (*formPage, error) {
	p := customerFormPage(id, "Change customer ID",
		"All licenses and purchases of this customer get the new ID. Keys, activations, names and email addresses stay. Programs notice nothing, unless they send the customer ID.",
		"Tell your shop the new ID. A new purchase under the ID before would create a license of that ID. If this is interrupted, repeat it.")
	p.Form = newForm(
		&field{Name: "to", Label: "New customer ID", Type: "text", Required: true, MaxLength: 255},
		reasonField("Optional. Recorded in the history."))
	p.done = "The customer has the new ID."
	p.do = func(tx *visit) (string, error) {
		change := api.ChangeCustomerIDParams{CustomerID: id, To: p.Form.Field("to").Value, Reason: p.Form.Field("reason").Value}
		if merged := tx.sent("merge"); change.To != id && merged != change.To {
			merges, err := inner.Of(tx.licenses).Leave().Merges(tx.r.Context(), change)
			if err != nil {
				return "", err
			}
			if merges {
				there, err := tx.licenses.Count(tx.r.Context(), api.ListLicensesParams{CustomerID: change.To})
				if err != nil {
					return "", err
				}
				p.Form.Hidden["merge"] = change.To
				p.Action, p.Danger = "Merge customers", true
				return "", conflictError(fmt.Sprintf("There is a customer %s with %s. This merges the two customers and cannot be undone. Submit the form again to merge them.", change.To, count(int(there.Total), "license")))
			}
		}
		_, err := tx.licenses.ChangeCustomerID(tx.r.Context(), change)
		return customers.namePath(change.To), err
	}
	return p, nil
}

// exportCustomer downloads what is stored about a customer.
func exportCustomer(v *visit, id string) error {
	d := &csvDownload{v: v, name: "customer", json: true}
	return d.ended(v.licenses.ExportCustomer(v.r.Context(), d, id))
}
