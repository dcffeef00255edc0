package license

import (
	"context"
	"time"
)

// A WebhookResult is the result of a delivery attempt.
type WebhookResult int

// The results of a delivery attempt.
const (
	WebhookDelivered WebhookResult = iota
	WebhookFailed
	WebhookGone // the receiver answered 410
)

const (
	// failingFor is how long a webhook may fail before it is disabled.
	failingFor = 5 * 24 * time.Hour
	// failureGap is how far apart failures may be to count as one series. It
	// is longer than the longest wait between two attempts.
	failureGap = 36 * time.Hour
	// failedEvery is the precision of the time of the last failure, so that
	// most failures write nothing.
	failedEvery = time.Hour
)

// ReportWebhook records the result of a delivery attempt. A webhook that
// answered 410, or to which every delivery has failed for five days, is
// disabled, and a webhook.disabled event is appended. The code that sends
// deliveries calls it; most calls write nothing.
func (s *Service) ReportWebhook(ctx context.Context, id string, result WebhookResult) (Webhook, error) {
	rec, err := s.findWebhook(ctx, s.reader(), id)
	if err != nil {
		return Webhook{}, err
	}
	if now := s.now(); !rec.note(result, now) {
		return rec.webhook(now), nil
	}
	return s.editWebhook(ctx, "report on", id, EventWebhookDisabled, func(tx *transaction, rec *webhookRecord) error {
		rec.note(result, tx.now)
		return nil
	})
}

// note records a result and reports whether the record has changed.
func (rec *webhookRecord) note(result WebhookResult, now time.Time) (changed bool) {
	switch {
	case rec.Status == WebhookDisabled:
		return false
	case result == WebhookDelivered:
		changed = !rec.FailingSince.IsZero()
		rec.FailingSince, rec.FailedAt = time.Time{}, time.Time{}
		return changed
	case result == WebhookGone:
		rec.Status, rec.StatusReason = WebhookDisabled, "the endpoint answered 410 Gone"
		return true
	case rec.FailingSince.IsZero() || now.Sub(rec.FailedAt) > failureGap || rec.FailedAt.After(now.Add(failedEvery)):
		rec.FailingSince, rec.FailedAt = now, now
		return true
	case now.Sub(rec.FailingSince) >= failingFor:
		rec.Status, rec.StatusReason = WebhookDisabled, "every delivery failed for five days"
		return true
	case now.Sub(rec.FailedAt) >= failedEvery:
		rec.FailedAt = now
		return true
	}
	return false
}
