package webhook

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A result is the result of a delivery attempt.
type result int

// The results of a delivery attempt.
const (
	resultDelivered result = iota
	resultFailed
	resultGone // the receiver answered 410
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

// report records the result of a delivery attempt to a webhook that was read in the
// same Update. A webhook that answered 410, or to which every delivery has failed for
// five days, is disabled, and a webhook.disabled event is appended.
func (s *Service) report(ctx context.Context, tx *transaction, rec webhookRecord, got result) (api.Webhook, error) {
	return s.replace(ctx, tx, rec, api.EventWebhookDisabled, func(tx *transaction, next *webhookRecord) error {
		if next.note(got, tx.now); rec.Status == api.WebhookActive && next.Status != api.WebhookActive {
			return tx.checkCursor(ctx, *next)
		}
		return nil
	})
}

// note records a result.
func (rec *webhookRecord) note(got result, now time.Time) {
	switch {
	case rec.Status == api.WebhookDisabled:
	case got == resultDelivered:
		rec.FailingSince, rec.FailedAt = time.Time{}, time.Time{}
	case got == resultGone:
		rec.Status, rec.StatusReason = api.WebhookDisabled, "the endpoint answered 410 Gone"
	case rec.FailingSince.IsZero() || now.Sub(rec.FailedAt) > failureGap || rec.FailedAt.After(now.Add(failedEvery)):
		rec.FailingSince, rec.FailedAt = now, now
	case now.Sub(rec.FailingSince) >= failingFor:
		rec.Status, rec.StatusReason = api.WebhookDisabled, "every delivery failed for five days"
	case now.Sub(rec.FailedAt) >= failedEvery:
		rec.FailedAt = now
	}
}
