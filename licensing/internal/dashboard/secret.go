package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/forms"
)

// renderSecret shows a new secret. This answer is the only place it is ever
// in: not a redirect, not a session, not a log.
func (v *visit) renderSecret(c auth.Client, secret string, rotated bool) error {
	title := "Credential created"
	if rotated {
		title = "New secret"
	}
	return v.render(http.StatusOK, "secret", page{Title: title, Section: "credentials", Body: credentialBody{
		credentialRow: v.credentialRow(c), Secret: secret, Rotated: rotated, Commands: v.credentialCommands(c, secret),
	}})
}

// renderAlreadyShown answers a form that was sent before.
func (v *visit) renderAlreadyShown(id string) error {
	return v.render(http.StatusConflict, "repeated", page{Title: "Already created", Section: "credentials", Body: id})
}

// overlaps are the choices for how long an old secret goes on.
var overlaps = []overlap{
	{"24h", 24 * time.Hour, "24 hours", "Time to roll the new secret out."},
	{"7d", 7 * 24 * time.Hour, "7 days", ""},
	{"1h", time.Hour, "1 hour", ""},
	{"now", 0, "End it now", "For a secret that has leaked. Its access tokens end as well."},
}

// rotateForm asks how long the present secret goes on, as far as there is a
// choice.
func rotateForm(c auth.Client, chosen string) *form {
	x := &field{Name: "overlap", Label: "The present secret goes on for", Type: "radios", Options: overlapOptions(overlaps, chosen)}
	switch len(c.Secrets) {
	case 0:
		return &form{Hidden: map[string]string{"overlap": "now"}}
	case 1:
	default:
		x.Label, x.Options = "The two present secrets", []option{{Value: "now", Label: "End both now", Hint: "Their access tokens end as well.", Chosen: true}}
	}
	return &form{Groups: []group{{Fields: []*field{x}}}}
}

func showRotate(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	f := rotateForm(c, "24h")
	f.Once = forms.NewMark()
	return v.renderRotate(http.StatusOK, c, f)
}

func (v *visit) renderRotate(status int, c auth.Client, f *form) error {
	text := []string{"The credential gets a new secret, which is shown once on the next page. The client id stays."}
	if len(c.Secrets) == 0 {
		text = []string{"The credential has no live secret. It gets a new one, which is shown once on the next page."}
	}
	if len(c.Secrets) > 1 {
		text = append(text, "Two secrets are live, and there can be no third. To keep one of them, go back and revoke the other first.")
	}
	return v.render(status, "confirm", page{Title: "Rotate the secret of " + c.Name, Section: "credentials", Body: confirmation{
		Heading: "Rotate secret", Form: f, Text: text, Action: "Make a new secret", Back: credentialPath(c.ID), Subject: c.Name,
	}})
}

func rotate(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	f := rotateForm(c, "")
	f.fill(v)
	overlap, ok := v.sentOverlap(overlaps, f)
	if !ok {
		return v.renderRotate(http.StatusUnprocessableEntity, c, f)
	}
	var secret string
	id, repeated, err := v.once(v.r.Context(), f.Once, func() (_ string, err error) {
		c, secret, err = v.auth.RotateSecret(v.r.Context(), auth.RotateSecretParams{ClientID: v.params["id"], Overlap: overlap})
		return c.ID, err
	})
	switch {
	case errors.Is(err, auth.ErrTooManySecrets):
		if c, err = v.credential(); err != nil {
			return err
		}
		f.Problem = "Two secrets are live already. Revoke one of them first, or end both now."
		return v.renderRotate(http.StatusConflict, c, f)
	case err != nil && secret == "":
		return err
	case repeated:
		return v.renderAlreadyShown(id)
	}
	return v.renderSecret(c, secret, true)
}

func showRevokeSecret(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.Secrets, func(s auth.Secret) bool { return s.ID == v.params["secret"] })
	if i < 0 {
		return notFound("This secret is not live any more.")
	}
	return v.render(http.StatusOK, "confirm", page{Title: "Revoke a secret of " + c.Name, Section: "credentials", Body: confirmation{
		Heading: "Revoke the secret …" + c.Secrets[i].Hint, Form: &form{}, Action: "Revoke secret", Danger: true, Back: credentialPath(c.ID), Subject: c.Name,
		Text: []string{"The secret stops working at once, and so do the access tokens it was used for. This cannot be undone."},
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
