package dashboard

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

const mailLinkHeading = "Mail a link"

func mailLinkForm(v *kit.Visit, l api.License) (*forms.FormPage, error) {
	return mailLink(v, l, licenseFormPage(l, mailLinkHeading))
}

func mailCustomerLinkForm(v *kit.Visit, l api.License) (*forms.FormPage, error) {
	return mailLink(v, l, customerFormPage(l.CustomerID, mailLinkHeading))
}

// readMailable returns the newest license that has the address of a customer.
func readMailable(v *kit.Visit) (api.License, error) {
	id, err := readCustomer(v)
	if err != nil {
		return api.License{}, err
	}
	newest, err := v.Licenses.List(v.R.Context(), api.ListLicensesParams{CustomerID: id, NewestFirst: true, Limit: licensesRead})
	if err != nil && !errors.Is(err, api.ErrInvalid) {
		return api.License{}, err
	}
	for _, l := range newest.Data {
		if v.Email(l) != "" {
			return l, nil
		}
	}
	return api.License{}, kit.NotFound("No license of this customer has an email address.")
}

// mailLink completes the form that mails a link to the address of a license. A form of
// another address than the present one mails nothing.
func mailLink(v *kit.Visit, l api.License, p *forms.FormPage) (*forms.FormPage, error) {
	if v.Opts.Mailer == nil {
		return nil, kit.NotFound("This service mails no links.")
	}
	address := v.Email(l)
	p.Text = []string{
		"A link to the customer pages is mailed to " + address + ". There the customer sees all licenses with this address, and their keys. You do not see the link.",
	}
	p.Form.Hidden["address"], p.Done = address, "A link was mailed to "+address+"."
	p.Do = func(tx *kit.Visit) (string, error) {
		if tx.Sent("address") != address {
			return "", forms.ErrEdited
		}
		return "", inner.Of(tx.Licenses).Licenses().MailLink(tx.R.Context(), l, func(ctx context.Context, to string) error {
			return mailed(tx, "The link was not mailed.", func() error { return tx.Opts.Mailer.MailLink(ctx, to) })
		})
	}
	return p, nil
}

// mailed sends a mail for an operator, unless the operator has sent many in a minute. Not says
// what has not happened then.
func mailed(v *kit.Visit, not string, send func() error) error {
	if v.Opts.Mailed.Take(v.Op.ID, v.Opts.Now()) > 0 {
		return forms.ConflictError("You have sent 20 mails in a minute. Wait a minute.")
	}
	err := send()
	if err == nil {
		return nil
	}
	v.Opts.Logger.LogAttrs(v.R.Context(), slog.LevelError, "licensing: no mail sent", slog.String("request_id", v.Id), slog.Any("error", err))
	return forms.ConflictError(not + " The log of the service says why.")
}

// keyMailed says to which address the key of a license is mailed; "" if none are mailed.
func keyMailed(v *kit.Visit, metadata map[string]string) string {
	if !v.Opts.MailsKeys {
		return ""
	}
	if address := inner.Of(v.Licenses).Licenses().Address(metadata); address != "" {
		return " The key is mailed to " + address + "."
	}
	return " The license has no valid email address, so the key is not mailed."
}
