package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	laneSlots = 4  // concurrent requests to one webhook
	laneMost  = 64 // most deliveries in a batch of one lane
	// quickFor is how long a batch starts requests, so that a slow receiver does not
	// delay the storing of outcomes.
	quickFor = 2 * time.Second
)

// A sending is one delivery on its way and its outcome.
type sending struct {
	outbox.Delivery              // as read from the queue, or new
	event           *store.Event // of a new delivery; nil: it is read when the delivery is sent
	outcome         outcome
}

// A batch is what is sent to one webhook before the outcome is stored: new
// deliveries of events, or deliveries from its queue.
type batch struct {
	*lane
	items []*sending

	// Of new deliveries: the webhook needs no event up to after, and none up
	// to through once all items have an outcome.
	feed           bool
	after, through int64

	leaves bool // the webhook leaves the shared lane
}

// newBatch returns the batch of the events that the webhook selects.
func (l *lane) newBatch(w Webhook, after, through int64, events []store.Event, now time.Time) *batch {
	b := &batch{lane: l, feed: true, after: after, through: through}
	for i, e := range events {
		if w.wants(e) {
			b.items = append(b.items, &sending{Delivery: newDelivery(w.ID, e, now), event: &events[i]})
		}
	}
	return b
}

// whole reports whether every delivery has an outcome.
func (b *batch) whole() bool {
	for _, s := range b.items {
		if s.outcome.kind == untried {
			return false
		}
	}
	return true
}

// reached returns how many deliveries of a new batch are dealt with, and the Seq
// of the last event that the webhook does not need any more. Those among them
// without an outcome go into the queue.
func (b *batch) reached() (n int, seq int64) {
	for i, s := range b.items {
		if s.outcome.kind != untried {
			n, seq = i+1, s.EventSeq
		}
	}
	switch n {
	case len(b.items):
		return n, b.through
	case 0:
		return 0, b.after
	}
	return n, seq
}

// send sends a batch with limited concurrency. When ctx ends, the breaker opens or
// the batch takes too long, it does not start the rest.
func (b *batch) send(ctx context.Context) {
	var wg sync.WaitGroup
	var mu sync.Mutex // guards next and outcomes
	next, start := 0, time.Now()
	take := func() *sending {
		mu.Lock()
		defer mu.Unlock()
		if next == len(b.items) || next > 0 && (b.breaker.open(b.now()) || time.Since(start) > quickFor) || ctx.Err() != nil {
			return nil
		}
		next++
		return b.items[next-1]
	}
	for range min(laneSlots, len(b.items)) {
		wg.Go(func() {
			for s := take(); s != nil; s = take() {
				began := time.Now()
				o := b.attempt(b.Work, s)
				mu.Lock()
				s.outcome = o
				switch o.kind {
				case delivered:
					b.breaker.succeeded()
				case failed:
					b.breaker.failed(b.now())
					if o.slow {
						b.breaker.slow(b.now(), o.retryAfter)
					}
				case untried: // our own failure; the next delivery would fail too
					b.breaker.slow(b.now(), 0)
				}
				mu.Unlock()
				b.observe(b.Work, s, time.Since(began))
			}
		})
	}
	wg.Wait()
}
