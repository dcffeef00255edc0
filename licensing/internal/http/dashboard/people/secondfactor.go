package people

import (
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/qr"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// issuer is the name that authenticator apps show.
const issuer = "Licensing"

// secondFactor is what the page that enables or removes the second factor of the
// operator shows in addition to the form.
type secondFactor struct {
	Secret   string       // in groups of four characters; empty: a second factor is enabled
	URI      template.URL // what authenticator apps open
	QR       *qr.Drawing  // of URI
	Codes    string       // recovery codes, one a line, shown once
	Required bool         // the host requires one, and there is none
	Left     int          // how many recovery codes are left
}

// currentPassword is the field with which an operator confirms a change.
func currentPassword() *forms.Field {
	return &forms.Field{Name: "current", Label: "Current password", Type: "password", Autocomplete: "current-password", Required: true}
}

func enableForm(secret string) *forms.Form {
	f := forms.NewForm(
		&forms.Field{Name: "otp", Label: "Code", Hint: "The six digits that the app shows now.", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true, MaxLength: 20},
		currentPassword(),
	)
	f.Hidden["secret"] = secret
	return f
}

// newSecondFactor returns the secret as the page shows it.
func newSecondFactor(v *kit.Visit, secret string) secondFactor {
	grouped := ""
	for i, c := range secret {
		if i > 0 && i%4 == 0 {
			grouped += " "
		}
		grouped += string(c)
	}
	uri := signin.TOTPURI(issuer, v.Op.Email, secret)
	return secondFactor{Required: v.Opts.RequireSecondFactor, Secret: grouped, URI: template.URL(uri), QR: qr.Draw(uri)}
}

func SecondFactorForm(v *kit.Visit) (*forms.FormPage, error) {
	p := &forms.FormPage{Title: "Second factor", Section: "account", Back: "password", Template: "secondfactor"}
	if v.Op.SecondFactor {
		p.Form, p.Extra = forms.NewForm(currentPassword()), secondFactor{Left: v.Op.RecoveryCodes}
		p.Do = func(v *kit.Visit) (string, error) {
			if v.Sent("change") != "remove" { // a form from before it was enabled
				return "second-factor", nil
			}
			p.Done = "The second factor has been removed. Your other sessions have ended."
			return goNext(p, inner.Of(v.Operators).DisableSecondFactor(v.W, v.R, v.R.PostForm.Get("current")))
		}
		return p, nil
	}
	secret := v.Sent("secret")
	if v.IsRead() {
		secret = signin.NewTOTPSecret()
	}
	p.Form, p.Extra, p.Names = enableForm(secret), newSecondFactor(v, secret), map[string]string{"code": "otp"}
	p.Do = func(v *kit.Visit) (string, error) {
		if v.Sent("change") == "remove" {
			return "second-factor", nil
		}
		codes, err := inner.Of(v.Operators).EnableSecondFactor(v.W, v.R, signin.EnableSecondFactorParams{
			Secret: secret, Code: v.Sent("otp"), Password: v.R.PostForm.Get("current"),
		})
		if invalid, ok := errors.AsType[*api.InvalidError](err); ok && slices.ContainsFunc(invalid.Fields, func(x api.FieldError) bool { return x.Field == "secret" }) {
			fresh := signin.NewTOTPSecret()
			p.Form, p.Extra = enableForm(fresh), newSecondFactor(v, fresh)
			p.Form.Problem = "The secret of the form was incomplete. Add the new one to the app."
			return "", nil
		}
		p.Then = func(v *kit.Visit) error {
			p.Form, p.Extra = forms.NewForm(), secondFactor{Codes: strings.Join(codes, "\n") + "\n"}
			return forms.RenderForm(v, http.StatusOK, p)
		}
		return goNext(p, err)
	}
	return p, nil
}
