package delivery

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

const (
	laneSlots = 4               // requests at a time to one webhook
	laneMost  = 64              // deliveries claimed at a time, if they go well
	quickFor  = 2 * time.Second // in which a batch must be through for the next to be larger
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
		stop := l.keepClaim(batch)
		l.send(ctx, w, batch)
		stop()
		if err := l.settle(batch); err != nil {
			return err
		}
		size = min(max(size, laneSlots)*2, laneMost)
		if time.Since(began) > quickFor || l.breaker.failures > 0 {
			size = laneSlots
		}
	}
	return nil
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
