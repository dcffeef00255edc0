package dashboard

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// fillTransfer gives a license to another customer.
func fillTransfer(_ *visit, l api.License, p *formPage) {
	p.Form = newForm(
		&field{Name: "customer_id", Label: "New customer", Hint: "Your ID for the customer. It is now " + l.CustomerID + ".", Type: "text", Required: true, MaxLength: 255},
		&field{Name: "name", Label: "Name", Hint: "The name that you and the new customer use. Leave blank for the customer ID.", Type: "text", MaxLength: 255},
		&field{Name: "keep_key", Label: "License key", Type: "checkbox", Options: []option{
			{Value: "yes", Label: "Keep the key", Hint: "The former customer knows the key, and can continue to use the license with it."},
		}},
		reasonField("Optional. Recorded in the history."),
	)
	p.Form.Hidden["version"] = l.Version().String()
	// Not in one Update, because a license may have many activations.
	p.do = func(tx *visit) (string, error) {
		seen, _ := api.ParseVersion(tx.sent("version"))
		_, err := tx.licenses.Transfer(tx.r.Context(), api.TransferLicenseParams{
			ID: l.ID, CustomerID: p.Form.Field("customer_id").Value, Name: p.Form.Field("name").Value,
			KeepKey: p.Form.Field("keep_key").chosen() != "", Reason: p.Form.Field("reason").Value, IfMatch: []api.Version{seen},
		})
		return "", err
	}
}
