package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// A secretPage is the body of the page that shows a new secret once, and of
// the page that answers when the same form is sent again.
type secretPage struct {
	ListTitle, ListPath string // the list of credentials or webhooks
	Name                string
	Values              []fact
	Hint                string
	Quick               *quickStart // nil: none
	Next                string      // the page after this one, as a reference from dashboard/
}

// renderCredentialSecret shows a new secret. The secret appears only in this
// response: not in a redirect, a session or a log.
func (v *visit) renderCredentialSecret(c auth.Client, secret, title string) error {
	return v.render(http.StatusOK, "secret", page{Title: title, Section: "credentials", Body: secretPage{
		ListTitle: "API credentials", ListPath: "settings/credentials", Name: c.Name, Next: credentialPath(c.ID),
		Values: []fact{{Label: "Client ID", Code: c.ID, ID: "client-id"}, {Label: "Client secret", Code: secret, ID: "client-secret"}},
		Quick:  v.quickStart(c, secret),
	}})
}

// renderRepeated answers a form for a new secret that was already submitted. The
// title is that of the list in the section of the settings.
func (v *visit) renderRepeated(section, title, next string) error {
	return v.render(http.StatusConflict, "repeated", page{Title: "Already submitted", Section: section, Body: secretPage{
		ListTitle: title, ListPath: "settings/" + section, Next: next,
	}})
}

// overlaps are the options for the expiry of the old secret.
var overlaps = []overlap{
	{"24h", 24 * time.Hour, "After 24 hours", "Time to deploy the new secret."},
	{"7d", 7 * 24 * time.Hour, "After 7 days", ""},
	{"1h", time.Hour, "After 1 hour", ""},
	{"now", 0, "Immediately", "For a leaked secret. Its access tokens are revoked too."},
}

// rotateForm asks when the current secret expires. A client without a secret
// has no choice, and a client with two secrets can only revoke both.
func rotateForm(c auth.Client, chosen string) *form {
	x := &field{Name: "overlap", Label: "When the current secret expires", Type: "radios", Options: overlapOptions(overlaps, chosen)}
	switch len(c.Secrets) {
	case 0:
		return &form{Hidden: map[string]string{"overlap": "now"}}
	case 1:
	default:
		x.Label, x.Options = "Current secrets", []option{{Value: "now", Label: "Revoke both immediately", Hint: "Their access tokens are revoked too.", Chosen: true}}
	}
	return &form{Groups: []group{{Fields: []*field{x}}}}
}

func showRotate(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	f := rotateForm(c, "24h")
	f.Once = newMark()
	return v.renderRotate(http.StatusOK, c, f)
}

func (v *visit) renderRotate(status int, c auth.Client, f *form) error {
	text := []string{"This creates a new client secret, which is shown once on the next page. The client ID does not change."}
	if len(c.Secrets) == 0 {
		text = []string{"The credential has no active secret. This creates one, which is shown once on the next page."}
	}
	if len(c.Secrets) > 1 {
		text = append(text, "The credential has two active secrets, which is the maximum. To keep one of them, go back and revoke the other first.")
	}
	return v.render(status, "confirm", page{Title: "Rotate the secret of " + c.Name, Section: "credentials", Body: confirmation{
		Heading: "Rotate secret", Form: f, Text: text, Action: "Create new secret", Back: credentialPath(c.ID), Subject: c.Name,
	}})
}

func rotate(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	f := rotateForm(c, "")
	f.fill(v)
	overlap, ok := v.readOverlap(overlaps, f)
	if !ok {
		return v.renderRotate(http.StatusUnprocessableEntity, c, f)
	}
	var secret string
	id, repeated, err := v.once(f, func(tx *visit) (_ string, err error) {
		c, secret, err = tx.auth.RotateSecret(v.r.Context(), auth.RotateSecretParams{ClientID: v.params["id"], Overlap: overlap})
		return c.ID, err
	})
	switch {
	case errors.Is(err, auth.ErrTooManySecrets):
		if c, err = v.credential(); err != nil {
			return err
		}
		f.Problem = "The credential already has two active secrets. Revoke one of them first, or revoke both immediately."
		return v.renderRotate(http.StatusConflict, c, f)
	case err != nil:
		return err
	case repeated:
		return v.renderRepeated("credentials", "API credentials", credentialPath(id))
	}
	return v.renderCredentialSecret(c, secret, "New secret")
}

func showRevokeSecret(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.Secrets, func(s auth.Secret) bool { return s.ID == v.params["secret"] })
	if i < 0 {
		return notFound("This secret is no longer active.")
	}
	return v.render(http.StatusOK, "confirm", page{Title: "Revoke a secret of " + c.Name, Section: "credentials", Body: confirmation{
		Heading: "Revoke secret …" + c.Secrets[i].Hint, Form: &form{}, Action: "Revoke secret", Danger: true, Back: credentialPath(c.ID), Subject: c.Name,
		Text: []string{"The secret stops working immediately, and the access tokens issued for it within one second. This cannot be undone."},
	}})
}

func revokeSecret(v *visit) error {
	c, err := v.auth.RevokeSecret(v.r.Context(), v.params["id"], v.params["secret"])
	if err != nil {
		return err
	}
	v.redirectDone(credentialPath(c.ID), "revoked")
	return nil
}
