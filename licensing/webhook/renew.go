package webhook

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// claimFor is how long a claim lasts without renewal, and so how long the
// deliveries of a killed process wait. It is longer than a request may take.
const claimFor = 30 * time.Second

// keepClaim renews the claim of a batch until stop is called.
func (l *lane) keepClaim(batch []*sending) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(claimFor / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
			if err := l.renewClaim(batch); err != nil && l.Work.Err() == nil {
				l.logger.WarnContext(l.Work, "licensing: renewing the claim of deliveries failed; retrying",
					"webhook_id", l.webhookID, "error", err)
			}
		}
	}()
	return func() { close(ended); <-done }
}

// renewClaim extends the claim on the deliveries of a batch that are still
// claimed by it.
func (l *lane) renewClaim(batch []*sending) error {
	var renewed []*sending
	var until time.Time
	err := l.store().Update(l.Work, func(tx store.Tx) error {
		renewed, until = nil, l.now().Add(claimFor)
		for _, s := range batch {
			d, err := outbox.Get(l.Work, tx, l.webhookID, s.ID)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if !s.isMine(d) {
				continue
			}
			d.DueAt = until
			if err := outbox.Put(l.Work, tx, d); err != nil {
				return err
			}
			renewed = append(renewed, s)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("renewing deliveries: %w", err)
	}
	for _, s := range renewed {
		s.until = until
	}
	return nil
}

// isMine reports whether a stored delivery is still under the claim.
func (s *sending) isMine(d outbox.Delivery) bool {
	return d.DueAt.Equal(s.until) && d.State == string(DeliveryPending)
}
