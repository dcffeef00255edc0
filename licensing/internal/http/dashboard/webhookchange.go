package dashboard

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

func (v *visit) webhook() (webhookRow, error) {
	w, err := v.webhooks.Get(v.r.Context(), v.params["id"])
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
	return v.render(status, "confirm", page{Title: "Edit webhook " + w.Host(), Section: "webhooks", Body: confirmation{
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
	address, description, types := strings.TrimSpace(f.Field("url").Value), strings.TrimSpace(f.Field("description").Value), f.selectedTypes()
	_, err = v.webhooks.Update(v.r.Context(), webhook.UpdateParams{ID: w.ID, URL: &address, Description: &description, Types: &types})
	if f.takeErrors(err) {
		return v.renderEditWebhook(http.StatusUnprocessableEntity, w, f)
	}
	if err != nil {
		return err
	}
	v.redirectDone(webhookPath(w.ID), "updated")
	return nil
}

func pauseWebhook(v *visit) error { return v.setWebhook(webhook.StatusPaused, "", "paused") }

func resumeWebhook(v *visit) error {
	from := webhook.ResumeFromStop
	if v.r.PostFormValue("from") == string(webhook.ResumeFromNow) {
		from = webhook.ResumeFromNow
	}
	return v.setWebhook(webhook.StatusActive, from, "resumed")
}

func (v *visit) setWebhook(status webhook.Status, from webhook.ResumeFrom, done string) error {
	w, err := v.webhooks.Update(v.r.Context(), webhook.UpdateParams{ID: v.params["id"], Status: &status, ResumeFrom: from})
	if err != nil {
		return err
	}
	v.redirectDone(webhookPath(w.ID), done)
	return nil
}

func testWebhook(v *visit) error {
	d, err := v.webhooks.Test(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	done := "test-queued"
	if v.awaitAttempt(d) {
		done = "test-sent"
	}
	v.redirectDone(deliveryPath(d.WebhookID, d.ID), done)
	return nil
}

func resend(v *visit) error {
	d, err := v.webhooks.Resend(v.r.Context(), v.params["id"], v.params["delivery"])
	if err != nil {
		return err
	}
	done := "resend-queued"
	if v.awaitAttempt(d) {
		done = "resent"
	}
	v.redirectDone(deliveryPath(d.WebhookID, d.ID), done)
	return nil
}

// resultWait is how long the sender of an event waits for the first attempt, and
// resultPoll is the time between two reads of the delivery.
const (
	resultWait = 2 * time.Second
	resultPoll = 50 * time.Millisecond
)

// awaitAttempt waits for an attempt of a delivery that was just queued, so that its
// page shows the result. It does not wait if no attempt can be expected, and gives
// up after resultWait. It reports whether there was an attempt.
func (v *visit) awaitAttempt(queued webhook.Delivery) bool {
	ctx, cancel := context.WithTimeout(v.r.Context(), resultWait)
	defer cancel()
	w, err := v.webhooks.Get(ctx, queued.WebhookID)
	if err != nil || w.Status != webhook.StatusActive {
		return false
	}
	if backlog, err := v.h.opts.Backlog(ctx); err != nil || !backlog.Running {
		return false
	}
	for {
		d, _, err := v.webhooks.Delivery(ctx, queued.WebhookID, queued.ID)
		if err != nil {
			return false
		}
		if d.Status != queued.Status || len(d.Attempts) != len(queued.Attempts) || !d.UpdatedAt.Equal(queued.UpdatedAt) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(resultPoll):
		}
	}
}

// webhookOverlaps are the options for how long deliveries are also signed with
// the old secret.
var webhookOverlaps = []overlap{
	{"24h", 24 * time.Hour, "After 24 hours", "Deliveries carry both signatures during this time."},
	{"7d", 7 * 24 * time.Hour, "After 7 days", ""},
	{"now", 0, "Immediately", "For a leaked secret. Receivers reject deliveries until they have the new secret."},
}

func rotateWebhookForm(chosen string) *form {
	x := &field{Name: "overlap", Label: "When the current secret expires", Type: "radios", Options: overlapOptions(webhookOverlaps, chosen)}
	return &form{Groups: []group{{Fields: []*field{x}}}}
}

func showRotateWebhook(v *visit) error {
	w, err := v.webhook()
	if err != nil {
		return err
	}
	f := rotateWebhookForm("24h")
	f.Once = newMark()
	return v.renderRotateWebhook(http.StatusOK, w, f)
}

func (v *visit) renderRotateWebhook(status int, w webhookRow, f *form) error {
	return v.render(status, "confirm", page{Title: "Rotate the secret of webhook " + w.Host(), Section: "webhooks", Body: confirmation{
		Heading: "Rotate secret", Form: f, Action: "Create new secret", Back: webhookPath(w.ID), Subject: w.Host(),
		Text: []string{"This creates a new secret, which is shown once on the next page."},
	}})
}

func rotateWebhook(v *visit) error {
	w, err := v.webhook()
	if err != nil {
		return err
	}
	f := rotateWebhookForm("")
	f.fill(v)
	overlap, ok := v.readOverlap(webhookOverlaps, f)
	if !ok {
		return v.renderRotateWebhook(http.StatusUnprocessableEntity, w, f)
	}
	var after webhook.Webhook
	var secret string
	id, repeated, err := v.once(f, func(tx *visit) (_ string, err error) {
		after, secret, err = tx.webhooks.RotateSecret(v.r.Context(), webhook.RotateParams{ID: w.ID, Overlap: overlap})
		return after.ID, err
	})
	switch {
	case err != nil:
		return err
	case repeated:
		return v.renderRepeated("webhooks", "Webhooks", webhookPath(id))
	}
	return v.renderWebhookSecret(after, secret, "New webhook secret")
}

func showDeleteWebhook(v *visit) error {
	w, err := v.webhook()
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "confirm", page{Title: "Delete webhook " + w.Host(), Section: "webhooks", Body: confirmation{
		Heading: "Delete webhook", Form: &form{}, Action: "Delete webhook", Danger: true, Back: webhookPath(w.ID), Subject: w.Host(),
		Text: []string{
			w.URL,
			"Deliveries to this URL stop, and pending deliveries are dropped. To stop deliveries temporarily, pause the webhook instead.",
		},
	}})
}

func deleteWebhook(v *visit) error {
	if err := v.webhooks.Delete(v.r.Context(), v.params["id"]); err != nil {
		return err
	}
	v.redirectDone("settings/webhooks", "webhook-deleted")
	return nil
}
