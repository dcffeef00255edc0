package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	laneSlots = 4               // requests at a time to one webhook
	laneMost  = 64              // deliveries claimed at a time, if they go well
	quickFor  = 2 * time.Second // in which a batch must be through for the next to be larger
	// attemptsKept is how many attempts the history of a delivery shows.
	attemptsKept = 20
)

// A lane is what is sent to one webhook by one run. Its goroutine has it to
// itself between enter and leave.
type lane struct {
	*run
	webhookID string
	busy      atomic.Bool
	breaker   breaker
}

// enter takes the lane, unless it is taken or its breaker is open.
func (l *lane) enter(now time.Time) bool {
	if !l.busy.CompareAndSwap(false, true) {
		return false
	}
	if l.breaker.open(now) {
		l.leave()
		return false
	}
	return true
}

func (l *lane) leave() { l.busy.Store(false) }

// drain sends what is due, batch after batch, until nothing is, the breaker
// opens, or ctx ends.
func (l *lane) drain(ctx context.Context) error {
	for size := laneSlots; ctx.Err() == nil && !l.breaker.open(l.now()); {
		w, err := l.Licenses.Webhook(l.work, l.webhookID)
		if errors.Is(err, license.ErrNotFound) || err == nil && w.Status != license.WebhookActive {
			return nil
		}
		if err != nil {
			return err
		}
		if l.breaker.trying() {
			size = 1
		}
		batch, err := l.claim(size)
		if err != nil || len(batch) == 0 {
			return err
		}
		began := time.Now()
		l.send(ctx, w, batch)
		if err := l.settle(batch); err != nil {
			return err
		}
		switch {
		case time.Since(began) > quickFor || l.breaker.failures > 0:
			size = laneSlots
		default:
			size = min(max(size, laneSlots)*2, laneMost)
		}
	}
	return nil
}

// A sending is one delivery under a claim, and how it went.
type sending struct {
	store.Delivery           // as claimed: DueAt is the end of the lease
	due            time.Time // what DueAt was before
	outcome        outcome
}

// leaseFor returns how long a claim of n deliveries holds: longer than they
// can take if all begin to hang.
func leaseFor(n int) time.Duration {
	rounds := (n + laneSlots - 1) / laneSlots
	return time.Duration(rounds)*sendTimeout + 10*time.Second
}

// claim takes deliveries that are due, by moving their DueAt on.
func (l *lane) claim(limit int) (batch []*sending, err error) {
	err = l.Store.Update(l.work, func(tx store.Tx) error {
		now := l.now()
		due, err := tx.Deliveries(l.work, store.DeliveryQuery{EndpointID: l.webhookID, DueBefore: dueBefore(now), Limit: limit})
		if err != nil {
			return err
		}
		batch = make([]*sending, len(due))
		for i, d := range due {
			batch[i] = &sending{Delivery: d, due: d.DueAt}
			batch[i].DueAt = now.Add(leaseFor(len(due)))
			if err := tx.PutDelivery(l.work, batch[i].Delivery); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claiming deliveries: %w", err)
	}
	return batch, nil
}

// send sends a batch, a few at a time. When ctx ends, or the breaker has seen
// enough, what has not begun is left.
func (l *lane) send(ctx context.Context, w license.Webhook, batch []*sending) {
	var wg sync.WaitGroup
	var mu sync.Mutex // guards next and the breaker
	next := 0
	take := func() *sending {
		mu.Lock()
		defer mu.Unlock()
		if next == len(batch) || next > 0 && l.breaker.open(l.now()) || ctx.Err() != nil {
			return nil
		}
		next++
		return batch[next-1]
	}
	for range min(laneSlots, len(batch)) {
		wg.Go(func() {
			for s := take(); s != nil; s = take() {
				o := l.attempt(l.work, w, s.Delivery)
				mu.Lock()
				s.outcome = o
				switch o.kind {
				case delivered:
					l.breaker.succeeded()
				case failed:
					l.breaker.failed(l.now())
					if o.slow {
						l.breaker.slow(l.now(), o.retryAfter)
					}
				case untried: // by our own fault, which the next would meet too
					l.breaker.slow(l.now(), 0)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// settle records how a batch went.
func (l *lane) settle(batch []*sending) error {
	err := l.Store.Update(l.work, func(tx store.Tx) error {
		result, any := license.WebhookFailed, false
		for _, s := range batch {
			if err := l.record(tx, s); err != nil {
				return err
			}
			switch s.outcome.kind {
			case delivered:
				result, any = license.WebhookDelivered, true
			case failed:
				any = true
			}
		}
		for _, s := range batch {
			if s.outcome.kind == failed && s.outcome.gone {
				result = license.WebhookGone
			}
		}
		if !any {
			return nil
		}
		_, err := l.Licenses.As(license.Caller{Actor: "delivery"}).In(tx).ReportWebhook(l.work, l.webhookID, result)
		if errors.Is(err, license.ErrNotFound) { // deleted meanwhile
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("recording deliveries: %w", err)
	}
	return nil
}

// record writes one outcome. Another process may have claimed the delivery
// meanwhile, if this one outlived its lease, or somebody may have sent it
// again by hand: then what is still to come is theirs.
func (l *lane) record(tx store.Tx, s *sending) error {
	d, err := tx.Delivery(l.work, s.ID)
	if errors.Is(err, store.ErrNotFound) { // with its webhook
		return nil
	}
	if err != nil {
		return err
	}
	mine := d.DueAt.Equal(s.DueAt) && d.State == string(license.DeliveryPending)
	if s.outcome.kind == untried {
		if !mine {
			return nil
		}
		d.DueAt = s.due
		return tx.PutDelivery(l.work, d)
	}
	var data license.DeliveryData
	if len(d.Data) > 0 {
		if err := json.Unmarshal(d.Data, &data); err != nil {
			return fmt.Errorf("delivery %s: %w", d.ID, err)
		}
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
		d.State, d.DueAt = string(license.DeliverySucceeded), time.Time{}
	case !mine:
	case !again || s.outcome.kind == hopeless:
		d.State, d.DueAt = string(license.DeliveryFailed), time.Time{}
	default:
		d.DueAt = d.UpdatedAt.Add(wait).Truncate(time.Millisecond)
	}
	return tx.PutDelivery(l.work, d)
}
