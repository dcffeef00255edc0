package dashboard

import (
	"errors"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// transferForm gives a license to another customer.
func transferForm(v *visit, l api.License) (*formPage, error) {
	if l.Status == api.LicenseRevoked {
		return nil, moveForbidden("A revoked license cannot be transferred.")
	}
	p := v.licenseFormPage(l, "Transfer", "Transfer license",
		"The license of "+l.CustomerID+" goes to another customer. Unless you keep its key, it gets a new one, and the current key stops working immediately. "+
			"Its license files are void, and its activations and metadata are deleted.",
		"The dates, terms and entitlements stay. Its purchases become those of the new customer, without name and metadata, and continue to change the license.",
		"To correct the ID of the same customer, edit the license instead.")
	p.Form, p.Action, p.done = newForm(
		&field{Name: "customer_id", Label: "New customer", Hint: "Your ID for the customer.", Type: "text", Required: true, MaxLength: 255},
		&field{Name: "name", Label: "Name", Hint: "The name that you and the new customer use. Leave blank for the customer ID.", Type: "text", MaxLength: 255},
		&field{Name: "keep_key", Label: "License key", Type: "checkbox", Options: []option{
			{Value: "yes", Label: "Keep the key", Hint: "The former customer knows the key, and can continue to use the license with it."},
		}},
		reasonField("Optional. Recorded in the history."),
	), "Transfer license", "The license has been transferred to the customer."
	p.Form.hide("version", l.Version().String())
	p.prepare = func(v *visit) error { return v.offerNames(p.Form) }
	// Not in one Update, because a license may have many activations.
	p.do = func(tx *visit) (string, error) {
		seen, _ := api.ParseVersion(tx.sent("version"))
		_, err := tx.licenses.Transfer(tx.r.Context(), api.TransferLicenseParams{
			ID: l.ID, CustomerID: p.Form.Field("customer_id").Value, Name: p.Form.Field("name").Value,
			KeepKey: p.Form.Field("keep_key").chosen() != "", Reason: p.Form.Field("reason").Value, IfMatch: []api.Version{seen},
		})
		if _, forbidden := errors.AsType[*api.MoveError](err); forbidden {
			err = moveForbidden("A revoked license cannot be transferred.")
		}
		return "", err
	}
	return p, nil
}
