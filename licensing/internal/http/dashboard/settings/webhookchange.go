package settings

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// webhookFormPage returns a page with a form about a webhook.
func webhookFormPage(w WebhookRow, heading string, text ...string) *forms.FormPage {
	return forms.NewFormPage("webhooks", kit.Place{Title: w.Host(), Path: kit.WebhookPath(w.ID)}, heading, text...)
}

func EditWebhookForm(v *kit.Visit, w WebhookRow) (*forms.FormPage, error) {
	p := webhookFormPage(w, "Edit webhook")
	p.Form, p.Action, p.Done = webhookFields(w.Webhook), kit.SaveChanges, kit.NoticeSaved
	p.Version = p.Form.Digest()
	p.Do = func(tx *kit.Visit) (string, error) {
		address, description, types := readWebhook(p.Form)
		_, err := tx.Webhooks.Update(v.R.Context(), api.UpdateWebhookParams{ID: w.ID, URL: &address, Description: &description, Types: &types})
		return "", err
	}
	return p, nil
}

func PauseWebhook(v *kit.Visit) error {
	return setWebhook(v, api.WebhookPaused, "", "The webhook has been paused. Its events wait until you resume it.")
}

func ResumeWebhook(v *kit.Visit) error {
	from := api.ResumeFromStop
	if v.R.PostFormValue("from") == string(api.ResumeFromNow) {
		from = api.ResumeFromNow
	}
	return setWebhook(v, api.WebhookActive, from, "The webhook is active. Waiting events will be delivered.")
}

func setWebhook(v *kit.Visit, status api.WebhookStatus, from api.ResumeFrom, done string) error {
	w, err := v.Webhooks.Update(v.R.Context(), api.UpdateWebhookParams{ID: v.R.PathValue("id"), Status: &status, ResumeFrom: from})
	if err != nil {
		return err
	}
	return v.RedirectDone(kit.WebhookPath(w.ID), done)
}

func TestWebhook(v *kit.Visit) error {
	d, err := v.Webhooks.Test(v.R.Context(), v.R.PathValue("id"))
	return showQueued(v, d, err, "A test event has been queued.", "A test event has been sent.")
}

func Resend(v *kit.Visit) error {
	d, err := v.Webhooks.Resend(v.R.Context(), v.R.PathValue("id"), v.R.PathValue("delivery"))
	return showQueued(v, d, err, "The event has been queued for delivery again.", "The event has been sent again.")
}

// showQueued redirects to a delivery that was just queued. If its first attempt fails, the
// page of the delivery says so.
func showQueued(v *kit.Visit, d api.Delivery, err error, queued, sent string) error {
	if err != nil {
		return err
	}
	to := deliveryPath(d.WebhookID, d.ID)
	tried := awaitAttempt(v, d)
	switch {
	case tried == nil:
		return v.RedirectDone(to, queued)
	case tried.Error != "":
		return v.Redirect(to)
	}
	return v.RedirectDone(to, sent)
}

// resultWait is how long the sender of an event waits for the first attempt, and
// resultPoll is the time between two reads of the delivery.
const (
	resultWait = 2 * time.Second
	resultPoll = 50 * time.Millisecond
)

// awaitAttempt waits for an attempt of a delivery that was just queued, so that its
// page shows the result. It does not wait if no attempt can be expected, and gives
// up after resultWait. It returns the attempt, or nil if there was none.
func awaitAttempt(v *kit.Visit, queued api.Delivery) *api.Attempt {
	ctx, cancel := context.WithTimeout(v.R.Context(), resultWait)
	defer cancel()
	w, err := v.Webhooks.Get(ctx, queued.WebhookID)
	if err != nil || w.Status != api.WebhookActive {
		return nil
	}
	if backlog, err := v.Opts.Backlog(ctx); err != nil || !backlog.Running {
		return nil
	}
	for {
		d, _, err := v.Webhooks.Delivery(ctx, queued.WebhookID, queued.ID)
		if err != nil {
			return nil
		}
		if d.Status != queued.Status || len(d.Attempts) != len(queued.Attempts) || !d.UpdatedAt.Equal(queued.UpdatedAt) {
			return lastAttempt(d)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(resultPoll):
		}
	}
}

// webhookOverlaps are the options for how long deliveries are also signed with
// the old secret.
var webhookOverlaps = []forms.Option{
	{Value: "24h0m0s", Label: "After 24 hours", Hint: "Deliveries carry both signatures during this time."},
	{Value: "168h0m0s", Label: "After 7 days"},
	{Value: "0s", Label: "Immediately", Hint: "For a leaked secret. Receivers reject deliveries until they have the new secret."},
}

func RotateWebhookForm(v *kit.Visit, w WebhookRow) (*forms.FormPage, error) {
	p := webhookFormPage(w, "Rotate secret", "This creates a new secret, which is shown once on the next page.")
	p.Action, p.Once = "Create new secret", true
	p.Form.Add(forms.OverlapField(webhookOverlaps))
	var after api.Webhook
	var secret string
	p.Do = func(tx *kit.Visit) (_ string, err error) {
		overlap := p.Form.ReadOverlap()
		if p.Form.HasErrors() {
			return "", nil
		}
		seconds := int64(overlap.Seconds())
		after, secret, err = tx.Webhooks.RotateSecret(v.R.Context(), api.RotateWebhookParams{ID: w.ID, OverlapSeconds: &seconds})
		return kit.WebhookPath(after.ID), err
	}
	p.Then = func(v *kit.Visit) error { return renderWebhookSecret(v, after, secret, "New webhook secret") }
	return p, nil
}

func DeleteWebhookForm(v *kit.Visit, w WebhookRow) (*forms.FormPage, error) {
	p := webhookFormPage(w, "Delete webhook", w.URL,
		"Deliveries to this URL stop, and pending deliveries are dropped. This cannot be undone. To stop deliveries temporarily, pause the webhook instead.")
	p.Danger, p.Done = true, "The webhook has been deleted."
	p.Do = func(tx *kit.Visit) (string, error) {
		return "settings/webhooks", tx.Webhooks.Delete(v.R.Context(), w.ID)
	}
	return p, nil
}
