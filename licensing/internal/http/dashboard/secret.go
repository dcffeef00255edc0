package dashboard

import (
	"net/http"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// A secretPage is the body of the page that shows a new secret once, and of
// the page that answers when the same form is sent again.
type secretPage struct {
	Name   string
	Values []secretValue
	Hint   string
	Quick  *quickStart // nil: none
	Next   string      // the page after this one, as a reference from dashboard/
}

// A secretValue is a value to copy. ID is that of its element.
type secretValue struct{ ID, Label, Code string }

// renderCredentialSecret shows a new secret. The secret appears only in this
// response: not in a redirect, a session or a log.
func (v *visit) renderCredentialSecret(c auth.Client, secret, title string) error {
	return v.render(http.StatusOK, "secret", page{Title: title, Section: "credentials", Body: secretPage{
		Name: c.Name, Next: credentialPath(c.ID),
		Values: []secretValue{{"client-id", "Client ID", c.ID}, {"client-secret", "Client secret", secret}},
		Quick:  v.quickStart(c, secret),
	}})
}

// renderRepeated answers a form for a new secret that was already submitted.
func (v *visit) renderRepeated(p *formPage, next string) error {
	return v.render(http.StatusConflict, "repeated", page{Title: "Already submitted", Section: p.Section, Up: place{p.Subject, p.Back}, Body: secretPage{Next: next}})
}

// overlaps are the options for the expiry of the old secret.
var overlaps = []option{
	{Value: "24h0m0s", Label: "After 24 hours", Hint: "Time to deploy the new secret."},
	{Value: "168h0m0s", Label: "After 7 days"},
	{Value: "1h0m0s", Label: "After 1 hour"},
	{Value: "0s", Label: "Immediately", Hint: "For a leaked secret. Its access tokens are revoked too."},
}

// rotateCredentialForm asks when the current secret expires. A client with two secrets can only
// revoke both.
func rotateCredentialForm(v *visit, c auth.Client) (*formPage, error) {
	p := credentialFormPage(c, "Rotate secret", "This creates a new client secret, which is shown once on the next page. The client ID does not change.")
	expiry := overlapField(overlaps)
	p.Form, p.Action, p.Once = newForm(expiry), "Create new secret", true
	switch n := len(c.Secrets); {
	case n == 0:
		p.Form, p.Text = newForm(), []string{"The credential has no active secret. This creates one, which is shown once on the next page."}
	case n > 1:
		expiry.Label, expiry.Options = "Current secrets", []option{{Value: "0s", Label: "Revoke both immediately", Hint: "Their access tokens are revoked too.", Chosen: true}}
		p.Text = append(p.Text, "The credential has two active secrets, which is the maximum. To keep one of them, go back and revoke the other first.")
	}
	secret := ""
	p.do = func(tx *visit) (_ string, err error) {
		overlap := time.Duration(0)
		if len(p.Form.Fields) > 0 {
			overlap = p.Form.readOverlap()
		}
		if p.Form.HasErrors() {
			return "", nil
		}
		c, secret, err = tx.auth.RotateSecret(v.r.Context(), auth.RotateSecretParams{ClientID: v.r.PathValue("id"), Overlap: overlap})
		return credentialPath(c.ID), err
	}
	p.then = func(v *visit) error { return v.renderCredentialSecret(c, secret, "New secret") }
	return p, nil
}

func revokeSecretForm(v *visit, c auth.Client) (*formPage, error) {
	p := credentialFormPage(c, "Revoke secret", "The secret stops working immediately, and the access tokens issued for it within one second. This cannot be undone.")
	i := slices.IndexFunc(c.Secrets, func(s auth.Secret) bool { return s.ID == v.r.PathValue("secret") })
	if i < 0 {
		return nil, notFound("This secret is no longer active.")
	}
	p.Heading, p.Danger, p.done = "Revoke secret …"+c.Secrets[i].Hint, true, "The secret and the access tokens issued for it have been revoked."
	p.do = func(tx *visit) (string, error) {
		_, err := tx.auth.RevokeSecret(v.r.Context(), c.ID, v.r.PathValue("secret"))
		return "", err
	}
	return p, nil
}
