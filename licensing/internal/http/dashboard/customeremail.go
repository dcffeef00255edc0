package dashboard

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// changeEmailForm gives the licenses of a customer another email address in place of a
// chosen one. Support can only replace an address, because that one gets a mail.
func changeEmailForm(v *kit.Visit, id string) (*forms.FormPage, error) {
	ctx, rules := v.R.Context(), inner.Of(v.Licenses).Licenses()
	list, err := v.Licenses.List(ctx, api.ListLicensesParams{CustomerID: id, NewestFirst: true, Limit: licensesRead})
	if err != nil {
		return nil, err
	}
	var former []forms.Option
	for _, l := range list.Data {
		o := forms.Option{Value: rules.Address(l.Metadata), Label: rules.Address(l.Metadata)}
		if o.Value == "" {
			o.Label = "Licenses without an address"
		}
		if !slices.Contains(former, o) && (o.Value != "" || v.Admin()) {
			former = append(former, o)
		}
	}
	if len(former) == 0 || !v.Admin() && v.Opts.Mailer == nil {
		return nil, kit.NotFound("Only an admin can set an email address here: no license of this customer has a valid one, or this service sends no mail to it.")
	}
	p := customerFormPage(id, "Change email", "All licenses of this customer with the former address get the new one. Keys and links are mailed there from now on.",
		"If this is interrupted, repeat it.")
	p.Form = forms.NewForm(
		&forms.Field{Name: "from", Label: "Former email", Type: "text", Value: former[0].Value, Select: former},
		&forms.Field{Name: "email", Label: "New email", Type: "email", Required: true, MaxLength: 320},
		forms.ReasonField("Optional. Recorded in the history."))
	var warn func(context.Context, string, string) error
	if !v.Admin() {
		p.Text = append(p.Text, "The former address gets a mail that names the new one. For 24 hours, no operator can mail a link to the new address. The customer can ask for one on the customer pages immediately.")
		warn = func(ctx context.Context, former, address string) error {
			return mailed(v, "The former address got no mail, so nothing was changed. Ask an admin.", func() error { return v.Opts.Mailer.MailChange(ctx, former, address) })
		}
	}
	p.Do = func(tx *kit.Visit) (string, error) {
		n, err := inner.Of(tx.Licenses).Licenses().ChangeEmail(ctx, id, p.Form.Field("from").Value, p.Form.Field("email").Value, p.Form.Field("reason").Value, warn)
		if errors.Is(err, api.ErrNotFound) {
			err = forms.ErrEdited
		}
		p.Done = "The email address of " + kit.Count(n, "license") + " has been changed."
		return "", err
	}
	return p, nil
}
