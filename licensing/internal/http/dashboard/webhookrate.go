package dashboard

import (
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// rateOf is the number of the newest deliveries that a success rate covers.
const rateOf = 50

// A successRate counts the newest deliveries to a webhook that were attempted.
type successRate struct {
	Succeeded, Attempted int
}

// successRate returns the rate of the newest deliveries to a webhook. A delivery
// that waits for a retry has not succeeded.
func (v *visit) successRate(webhookID string) (r successRate, err error) {
	newest, err := v.webhooks.Deliveries(v.r.Context(), webhook.DeliveriesParams{WebhookID: webhookID, Limit: rateOf})
	if err != nil {
		return r, err
	}
	for _, d := range newest.Data {
		if len(d.Attempts) > 0 {
			r.Attempted++
		}
		if d.Status == webhook.DeliverySucceeded {
			r.Succeeded++
		}
	}
	return r, nil
}

// Percent returns the rate rounded down, so that 100% means no failure.
func (r successRate) Percent() string {
	if r.Attempted == 0 {
		return ""
	}
	return fmt.Sprintf("%d%%", r.Succeeded*100/r.Attempted)
}

// Detail describes what the rate covers.
func (r successRate) Detail() string {
	return fmt.Sprintf("%d of %d", r.Succeeded, r.Attempted)
}
