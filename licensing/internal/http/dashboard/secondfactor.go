package dashboard

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/qr"
)

// issuer is the name that authenticator apps show.
const issuer = "Licensing"

// secondFactorPage is the body of the page that enables or removes the second
// factor of the operator who is signed in.
type secondFactorPage struct {
	Form     *form
	Secret   string       // in groups of four characters; empty: a second factor is enabled
	URI      template.URL // what authenticator apps open
	QR       *qrCode      // of URI; nil if it is too long
	Codes    []string     // recovery codes, shown once
	CodeList string       // the same as text to copy
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
	f.hide("secret", secret)
	return f
}

func showSecondFactor(v *visit) error {
	if v.op.SecondFactor {
		return v.renderDisableFactor(http.StatusOK, newForm(currentPassword()))
	}
	secret := operator.NewTOTPSecret()
	return v.renderEnableFactor(http.StatusOK, secret, enableForm(secret))
}

func (v *visit) renderDisableFactor(status int, f *form) error {
	return v.renderFactor(status, secondFactorPage{Form: f, Left: v.op.RecoveryCodes})
}

func (v *visit) renderEnableFactor(status int, secret string, f *form) error {
	grouped := ""
	for i, c := range secret {
		if i > 0 && i%4 == 0 {
			grouped += " "
		}
		grouped += string(c)
	}
	uri := operator.TOTPURI(issuer, v.op.Email, secret)
	return v.renderFactor(status, secondFactorPage{Form: f, Required: v.h.opts.RequireSecondFactor, Secret: grouped, URI: template.URL(uri), QR: newQRCode(uri)})
}

// A qrCode is a QR code as an SVG path, with its light border.
type qrCode struct {
	Size int // of the sides
	Path string
}

// newQRCode returns the code of a text, or nil if the text is too long.
func newQRCode(text string) *qrCode {
	const border = 4
	modules := qr.Encode(text)
	if modules == nil {
		return nil
	}
	var path strings.Builder
	for y, row := range modules {
		for x, dark := range row {
			if dark {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+border, y+border)
			}
		}
	}
	return &qrCode{len(modules) + 2*border, path.String()}
}

func (v *visit) renderFactor(status int, body secondFactorPage) error {
	return v.render(status, "secondfactor", page{Title: "Second factor", Section: "account", Body: body})
}

func changeSecondFactor(v *visit) error {
	if v.sent("change") == "remove" {
		return v.disableFactor()
	}
	secret := v.sent("secret")
	f := enableForm(secret)
	f.fill(v)
	codes, err := v.operators.EnableSecondFactor(v.w, v.r, operator.EnableSecondFactorParams{
		Secret: secret, Code: v.sent("otp"), Password: v.r.PostForm.Get("current"),
	})
	if err == nil {
		body := secondFactorPage{Form: &form{}, Codes: codes}
		for _, c := range codes {
			body.CodeList += c + "\n"
		}
		return v.renderFactor(http.StatusOK, body)
	}
	if f.takeErrors(renamed(err, map[string]string{"code": "otp"})) {
		if f.Problem != "" { // about the secret
			if v.op.SecondFactor {
				v.redirect("second-factor")
				return nil
			}
			secret = operator.NewTOTPSecret()
			f.Problem, f.Hidden = "The secret of the form was incomplete. Add the new one to the app.", map[string]string{"secret": secret}
		}
		return v.renderEnableFactor(http.StatusUnprocessableEntity, secret, f)
	}
	status, err := v.rejectCurrent(f, err)
	if status == 0 {
		return err
	}
	return v.renderEnableFactor(status, secret, f)
}

func (v *visit) disableFactor() error {
	f := newForm(currentPassword())
	err := v.operators.DisableSecondFactor(v.w, v.r, v.r.PostForm.Get("current"))
	if err == nil {
		v.redirectDone("password", "The second factor has been removed. Your other sessions have ended.")
		return nil
	}
	status, err := v.rejectCurrent(f, err)
	if status == 0 {
		return err
	}
	return v.renderDisableFactor(status, f)
}

// rejectCurrent is rejectPassword for forms with the current password. It returns
// status 0 if it has redirected to the sign-in or if err is another error.
func (v *visit) rejectCurrent(f *form, err error) (status int, _ error) {
	if errors.Is(err, operator.ErrNoSession) {
		v.redirect("sign-in")
		return 0, nil
	}
	if status, err = v.rejectPassword(f, err, ""); err != nil {
		return 0, err
	}
	if status == http.StatusUnprocessableEntity {
		f.Problem = ""
		f.addError("current", "The current password is incorrect.")
	}
	return status, nil
}
