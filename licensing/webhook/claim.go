package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A sending is one claimed delivery and its outcome.
type sending struct {
	outbox.Delivery           // as claimed
	due             time.Time // what DueAt was before
	until           time.Time // the end of the claim, and so what DueAt is now
	outcome         outcome
}

// claim claims due deliveries by moving their DueAt forward.
func (l *lane) claim(limit int) (batch []*sending, err error) {
	err = l.store().Update(l.Work, func(tx store.Tx) error {
		now := l.now()
		due, err := outbox.Due(l.Work, tx, l.webhookID, store.TimeRange{Before: dueBefore(now)}, limit)
		if err != nil {
			return err
		}
		batch = make([]*sending, len(due))
		for i, d := range due {
			batch[i] = &sending{Delivery: d, due: d.DueAt, until: now.Add(claimFor)}
			due[i].DueAt, batch[i].DueAt = batch[i].until, batch[i].until
		}
		return outbox.Put(l.Work, tx, due...)
	})
	if err != nil {
		return nil, fmt.Errorf("claiming deliveries: %w", err)
	}
	return batch, nil
}

// attemptsKept is how many attempts the history of a delivery keeps.
const attemptsKept = 20

// settle records the outcomes of a batch.
func (l *lane) settle(batch []*sending) error {
	err := l.store().Update(l.Work, func(tx store.Tx) error {
		for _, s := range batch {
			if err := l.record(tx, s); err != nil {
				return err
			}
		}
		got, any := resultOf(batch)
		if !any {
			return nil
		}
		_, err := l.As(license.Caller{Actor: "delivery"}).within(tx).report(l.Work, l.webhookID, got)
		if errors.Is(err, license.ErrNotFound) { // deleted since
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("recording deliveries: %w", err)
	}
	return nil
}

// resultOf returns the result of a batch for the webhook, if any: gone, reached
// by at least one delivery, or not reached.
func resultOf(batch []*sending) (got result, any bool) {
	got = resultFailed
	for _, s := range batch {
		switch {
		case s.outcome.gone:
			return resultGone, true
		case s.outcome.kind == delivered:
			got, any = resultDelivered, true
		case s.outcome.kind == failed:
			any = true
		}
	}
	return got, any
}

// record writes one outcome. If this claim has ended, another process may have
// claimed the delivery, or an operator may have resent it; then the rest of the
// delivery is theirs.
func (l *lane) record(tx store.Tx, s *sending) error {
	d, err := outbox.Get(l.Work, tx, l.webhookID, s.ID)
	if errors.Is(err, store.ErrNotFound) { // with its webhook
		return nil
	}
	if err != nil {
		return err
	}
	mine := s.isMine(d)
	if s.outcome.kind == untried {
		if !mine {
			return nil
		}
		d.DueAt = s.due
		return outbox.Put(l.Work, tx, d)
	}
	var data deliveryData
	if err := readData(d.Data, &data); err != nil {
		return fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	data.Attempts = append(data.Attempts, s.outcome.attempt)
	if over := len(data.Attempts) - attemptsKept; over > 0 {
		data.Attempts = data.Attempts[over:]
	}
	if d.Data, err = json.Marshal(data); err != nil {
		return err
	}
	d.UpdatedAt = l.now()
	d.Attempts++
	switch wait, again := nextAttempt(d.Attempts, s.outcome.retryAfter); {
	case s.outcome.kind == delivered:
		d.State, d.DueAt = string(DeliverySucceeded), time.Time{}
	case !mine:
	case !again || s.outcome.kind == hopeless:
		d.State, d.DueAt = string(DeliveryFailed), time.Time{}
	default:
		d.DueAt = d.UpdatedAt.Add(wait).Truncate(time.Millisecond)
	}
	return outbox.Put(l.Work, tx, d)
}
