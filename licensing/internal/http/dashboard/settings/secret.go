package settings

import (
	"net/http"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// A secretPage is the body of the page that shows a new secret once, and of
// the page that answers when the same form is sent again.
type secretPage struct {
	Name   string
	Values []secretValue
	Hint   string
	Quick  *QuickStart // nil: none
	Next   string      // the page after this one, as a reference from dashboard/
}

// A secretValue is a value to copy. ID is that of its element.
type secretValue struct{ ID, Label, Code string }

// renderCredentialSecret shows a new secret. The secret appears only in this
// response: not in a redirect, a session or a log.
func renderCredentialSecret(v *kit.Visit, c auth.Client, secret, title string) error {
	return v.Render(http.StatusOK, "secret", kit.Page{Title: title, Section: "credentials", Body: secretPage{
		Name: c.Name, Next: kit.CredentialPath(c.ID),
		Values: []secretValue{{"client-id", "Client ID", c.ID}, {"client-secret", "Client secret", secret}},
		Quick:  quickStartOf(v, c, secret),
	}})
}

// overlaps are the options for the expiry of the old secret.
var overlaps = []forms.Option{
	{Value: "24h0m0s", Label: "After 24 hours", Hint: "Time to deploy the new secret."},
	{Value: "168h0m0s", Label: "After 7 days"},
	{Value: "1h0m0s", Label: "After 1 hour"},
	{Value: "0s", Label: "Immediately", Hint: "For a leaked secret. Its access tokens are revoked too."},
}

// RotateCredentialForm asks when the current secret expires. A client with two secrets can only
// revoke both.
func RotateCredentialForm(v *kit.Visit, c auth.Client) (*forms.FormPage, error) {
	p := credentialFormPage(c, "Rotate secret", "This creates a new client secret, which is shown once on the next page. The client ID does not change.")
	expiry := forms.OverlapField(overlaps)
	p.Form, p.Action, p.Once = forms.NewForm(expiry), "Create new secret", true
	switch n := len(c.Secrets); {
	case n == 0:
		p.Form, p.Text = forms.NewForm(), []string{"The API client has no active secret. This creates one, which is shown once on the next page."}
	case n > 1:
		expiry.Label, expiry.Options = "Current secrets", []forms.Option{{Value: "0s", Label: "Revoke both immediately", Hint: "Their access tokens are revoked too.", Chosen: true}}
		p.Text = append(p.Text, "The API client has two active secrets, which is the maximum. To keep one of them, go back and revoke the other first.")
	}
	secret := ""
	p.Do = func(tx *kit.Visit) (_ string, err error) {
		overlap := time.Duration(0)
		if len(p.Form.Fields) > 0 {
			overlap = p.Form.ReadOverlap()
		}
		if p.Form.HasErrors() {
			return "", nil
		}
		c, secret, err = tx.Auth.RotateSecret(v.R.Context(), auth.RotateSecretParams{ClientID: v.R.PathValue("id"), Overlap: overlap})
		return kit.CredentialPath(c.ID), err
	}
	p.Then = func(v *kit.Visit) error { return renderCredentialSecret(v, c, secret, "New secret") }
	return p, nil
}

func RevokeSecretForm(v *kit.Visit, c auth.Client) (*forms.FormPage, error) {
	p := credentialFormPage(c, "Revoke secret", "The secret stops working immediately, and the access tokens issued for it within one second. This cannot be undone.")
	i := slices.IndexFunc(c.Secrets, func(s auth.Secret) bool { return s.ID == v.R.PathValue("secret") })
	if i < 0 {
		return nil, kit.NotFound("This secret is no longer active.")
	}
	p.Heading, p.Danger, p.Done = "Revoke secret …"+c.Secrets[i].Hint, true, "The secret and the access tokens issued for it have been revoked."
	p.Do = func(tx *kit.Visit) (string, error) {
		_, err := tx.Auth.RevokeSecret(v.R.Context(), c.ID, v.R.PathValue("secret"))
		return "", err
	}
	return p, nil
}
