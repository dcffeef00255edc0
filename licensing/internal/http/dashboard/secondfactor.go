package dashboard

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
func currentPassword() *field {
	return &field{Name: "current", Label: "Current password", Type: "password", Autocomplete: "current-password", Required: true}
}

func enableForm(secret string) *form {
	f := newForm(
		&field{Name: "otp", Label: "Code", Hint: "The six digits that the app shows now.", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true, MaxLength: 20},
		currentPassword(),
	)
	f.Hidden["secret"] = secret
	return f
}

// newSecondFactor returns the secret as the page shows it.
func (v *visit) newSecondFactor(secret string) secondFactor {
	grouped := ""
	for i, c := range secret {
		if i > 0 && i%4 == 0 {
			grouped += " "
		}
		grouped += string(c)
	}
	uri := signin.TOTPURI(issuer, v.op.Email, secret)
	return secondFactor{Required: v.h.opts.RequireSecondFactor, Secret: grouped, URI: template.URL(uri), QR: qr.Draw(uri)}
}

func secondFactorForm(v *visit) (*formPage, error) {
	p := &formPage{Title: "Second factor", Section: "account", Back: "password", template: "secondfactor"}
	if v.op.SecondFactor {
		p.Form, p.Extra = newForm(currentPassword()), secondFactor{Left: v.op.RecoveryCodes}
		p.do = func(v *visit) (string, error) {
			if v.sent("change") != "remove" { // a form from before it was enabled
				return "second-factor", nil
			}
			p.done = "The second factor has been removed. Your other sessions have ended."
			return p.next(inner.Of(v.operators).DisableSecondFactor(v.w, v.r, v.r.PostForm.Get("current")))
		}
		return p, nil
	}
	secret := v.sent("secret")
	if v.isRead() {
		secret = signin.NewTOTPSecret()
	}
	p.Form, p.Extra, p.names = enableForm(secret), v.newSecondFactor(secret), map[string]string{"code": "otp"}
	p.do = func(v *visit) (string, error) {
		if v.sent("change") == "remove" {
			return "second-factor", nil
		}
		codes, err := inner.Of(v.operators).EnableSecondFactor(v.w, v.r, signin.EnableSecondFactorParams{
			Secret: secret, Code: v.sent("otp"), Password: v.r.PostForm.Get("current"),
		})
		if invalid, ok := errors.AsType[*api.InvalidError](err); ok && slices.ContainsFunc(invalid.Fields, func(x api.FieldError) bool { return x.Field == "secret" }) {
			fresh := signin.NewTOTPSecret()
			p.Form, p.Extra = enableForm(fresh), v.newSecondFactor(fresh)
			p.Form.Problem = "The secret of the form was incomplete. Add the new one to the app."
			return "", nil
		}
		p.then = func(v *visit) error {
			p.Form, p.Extra = newForm(), secondFactor{Codes: strings.Join(codes, "\n") + "\n"}
			return v.renderForm(http.StatusOK, p)
		}
		return p.next(err)
	}
	return p, nil
}
