package dashboard

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func suspendCustomerForm(_ *visit, id string) (*formPage, error) {
	p := customerFormPage(id, "Suspend customer",
		"All licenses of this customer become invalid, and so do those that the customer gets before you reinstate the customer. Activations keep their seats.",
		"If this is interrupted, repeat it.")
	p.done = "The customer has been suspended."
	return p.moveCustomer(id, (*license.Service).SuspendCustomer), nil
}

func reinstateCustomerForm(_ *visit, id string) (*formPage, error) {
	p := customerFormPage(id, "Reinstate customer",
		"The licenses of this customer become valid again, except those that are suspended for another reason.",
		"If this is interrupted, repeat it.")
	p.done = "The customer has been reinstated."
	return p.moveCustomer(id, (*license.Service).ReinstateCustomer), nil
}

// moveCustomer makes the form ask for the reason of a move of a customer.
func (p *formPage) moveCustomer(id string, move func(*license.Service, context.Context, api.MoveCustomerParams) (api.CustomerSuspension, error)) *formPage {
	p.Form = newForm(reasonField("Optional. Recorded in the history and shown to the license key holders."))
	p.do = func(tx *visit) (string, error) {
		_, err := move(tx.licenses, tx.r.Context(), api.MoveCustomerParams{CustomerID: id, Reason: p.Form.Field("reason").Value})
		return "", err
	}
	return p
}
