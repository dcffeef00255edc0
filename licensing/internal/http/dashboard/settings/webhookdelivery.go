package settings

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// deliveryPath returns the page of a delivery, as a reference from dashboard/.
func deliveryPath(webhookID, id string) string {
	return kit.WebhookPath(webhookID) + "/deliveries/" + url.PathEscape(id)
}

func ShowDelivery(v *kit.Visit, w WebhookRow) error {
	d, payload, err := v.Webhooks.Delivery(v.R.Context(), w.ID, v.R.PathValue("delivery"))
	if err != nil {
		return err
	}
	body := struct {
		deliveryRow
		Result  string
		Note    string // the CSS class of the result
		Stalled string
		Tries   []api.Attempt // newest first
		Payload string        // indented JSON; empty if the event is no longer stored
	}{deliveryRow: newDeliveryRow(d), Tries: slices.Clone(d.Attempts)}
	slices.Reverse(body.Tries)
	body.Result, body.Note = deliveryResult(v, body.deliveryRow, w.Webhook)
	if d.Status == api.DeliveryPending {
		if body.Stalled, err = stalled(v); err != nil {
			return err
		}
	}
	if payload != nil {
		var text bytes.Buffer
		if err := json.Indent(&text, payload, "", "  "); err != nil {
			return err
		}
		body.Payload = text.String()
	}
	return v.Render(http.StatusOK, "delivery", kit.Page{
		Title: "Delivery of " + d.EventType, Heading: d.EventType, Up: kit.Place{Title: w.Host(), Path: kit.WebhookPath(w.ID) + "#deliveries"}, Section: "webhooks", Body: body,
	})
}

// deliveryResult describes the status of the delivery, with the CSS class of the note.
func deliveryResult(v *kit.Visit, r deliveryRow, w api.Webhook) (text, class string) {
	switch {
	case r.Status == api.DeliverySucceeded:
		return "The delivery succeeded. " + r.Last + ".", "good"
	case r.Status == api.DeliveryFailed:
		return "The delivery failed, and no further attempt is scheduled. " + r.Last + ".", "bad"
	case w.Status != api.WebhookActive:
		return "The delivery is pending. The webhook is " + string(w.Status) + ".", "warn"
	case len(r.Attempts) == 0:
		return "The delivery is pending. Refresh this page to see the result.", ""
	case r.Error == "": // an event that was resent
		return "The delivery is pending again. Refresh this page to see the result.", ""
	}
	text = "The event is not delivered. The last attempt failed. " + r.Last
	if lastAttempt(r.Delivery).StatusCode == 0 {
		text += inParentheses(r.Error)
	}
	text += "."
	if next := v.MomentOf(r.NextAttemptAt); next != nil {
		text += " Next attempt: " + next.Relative + "."
	}
	return text, "warn"
}
