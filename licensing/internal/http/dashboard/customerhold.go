package dashboard

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func suspendCustomerForm(_ *kit.Visit, id string) (*forms.FormPage, error) {
	return changeCustomerState(id, "Suspend customer", "The customer has been suspended.", (*license.Service).SuspendCustomer,
		"All licenses of this customer become invalid, and so do those that the customer gets before you reinstate the customer. Activations keep their seats.",
		"If this is interrupted, repeat it."), nil
}

func reinstateCustomerForm(_ *kit.Visit, id string) (*forms.FormPage, error) {
	return changeCustomerState(id, "Reinstate customer", "The customer has been reinstated.", (*license.Service).ReinstateCustomer,
		"The licenses of this customer become valid again, except those that are suspended for another reason.",
		"If this is interrupted, repeat it."), nil
}

// A customerChange is a change of all licenses of a customer.
type customerChange = func(*license.Service, context.Context, api.ChangeCustomerStateParams) (api.CustomerSuspension, error)

// changeCustomerState returns the page that asks for the reason of a change.
func changeCustomerState(id, heading, done string, change customerChange, text ...string) *forms.FormPage {
	p := customerFormPage(id, heading, text...)
	p.Done, p.Form = done, forms.NewForm(forms.ReasonField("Optional. Recorded in the history and shown to the license key holders."))
	p.Do = func(tx *kit.Visit) (string, error) {
		_, err := change(tx.Licenses, tx.R.Context(), api.ChangeCustomerStateParams{CustomerID: id, Reason: p.Form.Field("reason").Value})
		return "", err
	}
	return p
}
