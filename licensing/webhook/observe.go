package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
)

// sendJob is the name of the job, in observations of store errors, that sends
// deliveries and stores their outcome.
const sendJob = "webhook_sending"

// observe reports an attempt. It does not report a delivery that was left for
// later because the webhook is not active or the process is stopping.
func (r *run) observe(ctx context.Context, s *sending, took time.Duration) {
	if !r.Observing() {
		return
	}
	o := feed.Report{
		Kind: feed.ObservedDelivery, Name: s.WebhookID, Outcome: feed.Succeeded,
		Status: s.outcome.attempt.StatusCode, Attempt: int(s.Attempts) + 1, Duration: took,
	}
	switch s.outcome.kind {
	case untried:
		if s.outcome.err == nil {
			return
		}
		o.Outcome, o.Err = feed.Postponed, s.outcome.err
		r.ObserveStoreError(ctx, sendJob, s.outcome.err)
	case failed:
		o.Outcome, o.Err = feed.Failed, errors.New(s.outcome.attempt.Error)
		if _, again := nextAttempt(s.Attempts+1, 0); !again {
			o.Outcome = feed.GaveUp
		}
	case hopeless:
		o.Outcome, o.Err = feed.GaveUp, errors.New(s.outcome.attempt.Error)
	}
	r.Observe(ctx, o)
}
