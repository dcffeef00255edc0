package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// fillTransfer gives a license to another customer.
func fillTransfer(v *kit.Visit, l api.License, p *forms.FormPage) {
	p.Form = forms.NewForm(
		&forms.Field{Name: "customer_id", Label: "New customer", Hint: "Your ID for the customer. It is now " + l.CustomerID + ".", Type: "text", Required: true, MaxLength: 255},
		&forms.Field{Name: "name", Label: "Name", Hint: "The name that you and the new customer use. Leave blank for the customer ID.", Type: "text", MaxLength: 255},
		&forms.Field{Name: "email", Label: "Email", Hint: "Optional. The address of the new customer.", Type: "email", MaxLength: 320},
		&forms.Field{Name: "keep_key", Label: "License key", Type: "checkbox", Options: []forms.Option{
			{Value: "yes", Label: "Keep the key", Hint: "The former customer knows the key, and can continue to use the license with it."},
		}},
		forms.ReasonField("Optional. Recorded in the history."),
	)
	p.Form.Hidden["version"] = l.Version().String()
	// Not in one Update, because a license may have many activations.
	p.Do = func(tx *kit.Visit) (string, error) {
		seen, _ := api.ParseVersion(tx.Sent("version"))
		metadata := map[string]string{}
		if email := p.Form.Field("email").Value; email != "" {
			metadata[inner.Of(tx.Licenses).Call().Opts.EmailKey] = email
		}
		p.Done += keyMailed(v, metadata)
		_, err := tx.Licenses.Transfer(tx.R.Context(), api.TransferLicenseParams{
			ID: l.ID, CustomerID: p.Form.Field("customer_id").Value, Name: p.Form.Field("name").Value, Metadata: metadata,
			KeepKey: p.Form.Field("keep_key").Chosen() != "", Reason: p.Form.Field("reason").Value, IfMatch: []api.Version{seen},
		})
		return "", err
	}
}
