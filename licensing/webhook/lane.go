package webhook

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

const (
	laneSlots = 4               // concurrent requests to one webhook
	laneMost  = 64              // most deliveries claimed together
	quickFor  = 2 * time.Second // a batch done in this time makes the next one larger
)

// A lane sends the deliveries of one webhook in one run. Between enter and leave,
// one goroutine owns it.
type lane struct {
	*run
	webhookID string
	busy      atomic.Bool
	breaker   breaker
}

// enter acquires the lane unless it is busy.
func (l *lane) enter() bool { return l.busy.CompareAndSwap(false, true) }

func (l *lane) leave() { l.busy.Store(false) }

// drain sends due deliveries in batches until none are left, the breaker opens,
// or ctx ends.
func (l *lane) drain(ctx context.Context) error {
	for size := laneSlots; ctx.Err() == nil && !l.breaker.open(l.now()); {
		w, err := l.Get(l.Work, l.webhookID)
		if errors.Is(err, license.ErrNotFound) || err == nil && w.Status != StatusActive {
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

// send sends a batch with limited concurrency. When ctx ends or the breaker
// opens, it does not start the rest.
func (l *lane) send(ctx context.Context, w Webhook, batch []*sending) {
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
				o := l.attempt(l.Work, w, s.Delivery)
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
				case untried: // our own failure; the next delivery would fail too
					l.breaker.slow(l.now(), 0)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
