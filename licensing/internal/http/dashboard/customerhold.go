package dashboard

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func suspendCustomerForm(v *visit) (*formPage, error) {
	return v.moveCustomerForm((*license.Service).SuspendCustomer, formPage{
		Title: "Suspend ", Heading: "Suspend customer", Action: "Suspend customer", done: "The customer has been suspended.",
		Text: []string{
			"All licenses of this customer become invalid, and so do those that the customer gets before you reinstate the customer. Activations keep their seats.",
			"If this is interrupted, repeat it.",
		},
	})
}

func reinstateCustomerForm(v *visit) (*formPage, error) {
	return v.moveCustomerForm((*license.Service).ReinstateCustomer, formPage{
		Title: "Reinstate ", Heading: "Reinstate customer", Action: "Reinstate customer", done: "The customer has been reinstated.",
		Text: []string{
			"The licenses of this customer become valid again, except those that are suspended for another reason.",
			"If this is interrupted, repeat it.",
		},
	})
}

// moveCustomerForm returns the form of a move of the customer in the query.
func (v *visit) moveCustomerForm(move func(*license.Service, context.Context, api.MoveCustomerParams) (api.CustomerSuspension, error), p formPage) (*formPage, error) {
	id := v.r.URL.Query().Get("id")
	if id == "" {
		return nil, notFound("This page does not exist.")
	}
	p.Title, p.Section, p.Back, p.Subject = p.Title+id, "customers", customers.namePath(id), id
	p.Form = newForm(reasonField("Optional. Recorded in the history and shown to the license key holders."))
	p.do = func(tx *visit) (string, error) {
		_, err := move(tx.licenses, tx.r.Context(), api.MoveCustomerParams{CustomerID: id, Reason: p.Form.Field("reason").Value})
		return "", err
	}
	return &p, nil
}
