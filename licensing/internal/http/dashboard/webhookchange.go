package dashboard

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// webhookFormPage returns a page with a form about a webhook.
func webhookFormPage(w webhookRow, heading string, text ...string) *formPage {
	return newFormPage("webhooks", place{w.Host(), webhookPath(w.ID)}, heading, text...)
}

func editWebhookForm(v *visit, w webhookRow) (*formPage, error) {
	p := webhookFormPage(w, "Edit webhook")
	p.Form, p.Action, p.done = webhookFields(w.Webhook), saveChanges, noticeSaved
	p.Version = p.Form.digest()
	p.do = func(tx *visit) (string, error) {
		address, description, types := p.Form.readWebhook()
		_, err := tx.webhooks.Update(v.r.Context(), api.UpdateWebhookParams{ID: w.ID, URL: &address, Description: &description, Types: &types})
		return "", err
	}
	return p, nil
}

func pauseWebhook(v *visit) error {
	return v.setWebhook(api.WebhookPaused, "", "The webhook has been paused. Its events wait until you resume it.")
}

func resumeWebhook(v *visit) error {
	from := api.ResumeFromStop
	if v.r.PostFormValue("from") == string(api.ResumeFromNow) {
		from = api.ResumeFromNow
	}
	return v.setWebhook(api.WebhookActive, from, "The webhook is active. Waiting events will be delivered.")
}

func (v *visit) setWebhook(status api.WebhookStatus, from api.ResumeFrom, done string) error {
	w, err := v.webhooks.Update(v.r.Context(), api.UpdateWebhookParams{ID: v.r.PathValue("id"), Status: &status, ResumeFrom: from})
	if err != nil {
		return err
	}
	return v.redirectDone(webhookPath(w.ID), done)
}

func testWebhook(v *visit) error {
	d, err := v.webhooks.Test(v.r.Context(), v.r.PathValue("id"))
	return v.showQueued(d, err, "A test event has been queued.", "A test event has been sent.")
}

func resend(v *visit) error {
	d, err := v.webhooks.Resend(v.r.Context(), v.r.PathValue("id"), v.r.PathValue("delivery"))
	return v.showQueued(d, err, "The event has been queued for delivery again.", "The event has been sent again.")
}

// showQueued redirects to a delivery that was just queued.
func (v *visit) showQueued(d api.Delivery, err error, queued, sent string) error {
	if err != nil {
		return err
	}
	if v.awaitAttempt(d) {
		queued = sent
	}
	return v.redirectDone(deliveryPath(d.WebhookID, d.ID), queued)
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
func (v *visit) awaitAttempt(queued api.Delivery) bool {
	ctx, cancel := context.WithTimeout(v.r.Context(), resultWait)
	defer cancel()
	w, err := v.webhooks.Get(ctx, queued.WebhookID)
	if err != nil || w.Status != api.WebhookActive {
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
var webhookOverlaps = []option{
	{Value: "24h0m0s", Label: "After 24 hours", Hint: "Deliveries carry both signatures during this time."},
	{Value: "168h0m0s", Label: "After 7 days"},
	{Value: "0s", Label: "Immediately", Hint: "For a leaked secret. Receivers reject deliveries until they have the new secret."},
}

func rotateWebhookForm(v *visit, w webhookRow) (*formPage, error) {
	p := webhookFormPage(w, "Rotate secret", "This creates a new secret, which is shown once on the next page.")
	p.Action, p.Once = "Create new secret", true
	p.Form.add(overlapField(webhookOverlaps))
	var after api.Webhook
	var secret string
	p.do = func(tx *visit) (_ string, err error) {
		overlap := p.Form.readOverlap()
		if p.Form.HasErrors() {
			return "", nil
		}
		after, secret, err = tx.webhooks.RotateSecret(v.r.Context(), webhook.RotateParams{ID: w.ID, Overlap: overlap})
		return webhookPath(after.ID), err
	}
	p.then = func(v *visit) error { return v.renderWebhookSecret(after, secret, "New webhook secret") }
	return p, nil
}

func deleteWebhookForm(v *visit, w webhookRow) (*formPage, error) {
	p := webhookFormPage(w, "Delete webhook", w.URL,
		"Deliveries to this URL stop, and pending deliveries are dropped. This cannot be undone. To stop deliveries temporarily, pause the webhook instead.")
	p.Danger, p.done = true, "The webhook has been deleted."
	p.do = func(tx *visit) (string, error) { return "settings/webhooks", tx.webhooks.Delete(v.r.Context(), w.ID) }
	return p, nil
}
