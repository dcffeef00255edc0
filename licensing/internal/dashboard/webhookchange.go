package dashboard

import (
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func (v *visit) webhook() (webhookRow, error) {
	w, err := v.licenses.Webhook(v.r.Context(), v.params["id"])
	return v.webhookRow(w), err
}

func showEditWebhook(v *visit) error {
	w, err := v.webhook()
	if err != nil {
		return err
	}
	return v.renderEditWebhook(http.StatusOK, w, webhookForm(w.Webhook))
}

func (v *visit) renderEditWebhook(status int, w webhookRow, f *form) error {
	return v.render(status, "confirm", page{Title: "Edit the webhook " + w.Host(), Section: "webhooks", Body: confirmation{
		Heading: "Edit webhook", Form: f, Action: "Save changes", Back: webhookPath(w.ID), Subject: w.Host(),
	}})
}

func updateWebhook(v *visit) error {
	w, err := v.webhook()
	if err != nil {
		return err
	}
	f := webhookForm(w.Webhook)
	f.fill(v)
	address, description, types := strings.TrimSpace(f.Field("url").Value), strings.TrimSpace(f.Field("description").Value), f.lines("types")
	_, err = v.licenses.UpdateWebhook(v.r.Context(), license.UpdateWebhookParams{ID: w.ID, URL: &address, Description: &description, Types: &types})
	if f.take(err) {
		return v.renderEditWebhook(http.StatusUnprocessableEntity, w, f)
	}
	if err != nil {
		return err
	}
	v.redirectDone(webhookPath(w.ID), "updated")
	return nil
}

func pauseWebhook(v *visit) error  { return v.setWebhook(license.WebhookPaused, "paused") }
func resumeWebhook(v *visit) error { return v.setWebhook(license.WebhookActive, "resumed") }

func (v *visit) setWebhook(status license.WebhookStatus, done string) error {
	w, err := v.licenses.UpdateWebhook(v.r.Context(), license.UpdateWebhookParams{ID: v.params["id"], Status: &status})
	if err != nil {
		return err
	}
	v.redirectDone(webhookPath(w.ID), done)
	return nil
}

func testWebhook(v *visit) error {
	if _, err := v.licenses.TestWebhook(v.r.Context(), v.params["id"]); err != nil {
		return err
	}
	v.redirectDone(webhookPath(v.params["id"]), "tested")
	return nil
}

func resend(v *visit) error {
	if _, err := v.licenses.Resend(v.r.Context(), v.params["id"], v.params["delivery"]); err != nil {
		return err
	}
	v.redirectDone(webhookPath(v.params["id"]), "resent")
	return nil
}

// webhookOverlaps are the choices for how long deliveries are signed with the
// old secret as well.
var webhookOverlaps = []overlap{
	{"24h", 24 * time.Hour, "24 hours", "Deliveries carry both signatures, so that receivers can change over."},
	{"7d", 7 * 24 * time.Hour, "7 days", ""},
	{"now", 0, "End it now", "For a secret that has leaked. Receivers refuse deliveries until they have the new one."},
}

func rotateWebhookForm(chosen string) *form {
	x := &field{Name: "overlap", Label: "The present secret goes on for", Type: "radios", Options: overlapOptions(webhookOverlaps, chosen)}
	return &form{Groups: []group{{Fields: []*field{x}}}}
}

func showRotateWebhook(v *visit) error {
	w, err := v.webhook()
	if err != nil {
		return err
	}
	f := rotateWebhookForm("24h")
	f.Once = forms.NewMark()
	return v.renderRotateWebhook(http.StatusOK, w, f)
}

func (v *visit) renderRotateWebhook(status int, w webhookRow, f *form) error {
	return v.render(status, "confirm", page{Title: "Rotate the secret of the webhook " + w.Host(), Section: "webhooks", Body: confirmation{
		Heading: "Rotate secret", Form: f, Action: "Make a new secret", Back: webhookPath(w.ID), Subject: w.Host(),
		Text: []string{"The webhook gets a new secret, which is shown once on the next page."},
	}})
}

func rotateWebhook(v *visit) error {
	w, err := v.webhook()
	if err != nil {
		return err
	}
	f := rotateWebhookForm("")
	f.fill(v)
	overlap, ok := v.sentOverlap(webhookOverlaps, f)
	if !ok {
		return v.renderRotateWebhook(http.StatusUnprocessableEntity, w, f)
	}
	var after license.Webhook
	var secret string
	id, repeated, err := v.once(v.r.Context(), f.Once, func() (_ string, err error) {
		after, secret, err = v.licenses.RotateWebhookSecret(v.r.Context(), license.RotateWebhookParams{ID: w.ID, Overlap: overlap})
		return after.ID, err
	})
	switch {
	case err != nil && secret == "":
		return err
	case repeated:
		return v.renderSecretGone(id)
	}
	return v.renderWebhookSecret(after, secret, "New webhook secret")
}

func showDeleteWebhook(v *visit) error {
	w, err := v.webhook()
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "confirm", page{Title: "Delete the webhook " + w.Host(), Section: "webhooks", Body: confirmation{
		Heading: "Delete webhook", Form: &form{}, Action: "Delete webhook", Danger: true, Back: webhookPath(w.ID), Subject: w.Host(),
		Text: []string{
			w.URL,
			"Nothing is sent there any more, and what was still to be sent is dropped. To stop it for a while, pause it instead.",
		},
	}})
}

func deleteWebhook(v *visit) error {
	if err := v.licenses.DeleteWebhook(v.r.Context(), v.params["id"]); err != nil {
		return err
	}
	v.redirectDone("settings/webhooks", "webhook-deleted")
	return nil
}
