package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	targetSlots = 4   // concurrent requests to one webhook
	batchMost   = 64  // most deliveries in a batch
	windowSize  = 256 // most events that are examined for a batch
	// quickFor is how long a batch starts requests, so that a slow receiver does not
	// delay the storing of outcomes.
	quickFor = 2 * time.Second
)

// A sending is one delivery of a batch and its outcome.
type sending struct {
	outbox.Delivery              // as stored, or new
	event           *store.Event // of a new delivery; nil: it is read when the delivery is sent
	outcome         outcome
}

// A batch is what is sent to one webhook before the outcomes are stored: new
// deliveries of events, or stored ones that are due.
type batch struct {
	*run
	hook    webhookRecord
	breaker breaker // after the outcomes so far
	items   []*sending

	// Everything in the batch follows from events up to known. It counts as long as the
	// feed has the event before known, and as nothing was lost since.
	known  feed.Place
	losses int
	ahead  bool // the cursor was stored while a clock was ahead

	// The webhook needs no event up to after, and none up to through once all items
	// have an outcome.
	after, through int64
	purged         int64 // not zero: retention has removed events after after, up to this one
	stored         bool  // the items are stored deliveries
}

// newBatch returns an empty batch for a target.
func (r *run) newBatch(l *target) *batch {
	return &batch{
		run: r, hook: l.hook, breaker: l.breaker, after: l.reached, through: l.reached,
		known: r.known, losses: r.losses, ahead: isAhead(l.UpdatedAt, r.now()),
	}
}

// size returns how many deliveries the batch may have.
func (b *batch) size() int {
	if b.breaker.trying() {
		return 1
	}
	return batchMost
}

// A window is the events after one and up to another.
type window struct {
	after, through int64
	events         []store.Event
}

// window returns a window that begins at or before an event, one of windows if
// possible. It ends at newest, the newest event when the webhooks were read: later
// events may have changed what they select.
func (r *run) window(windows *[]window, after, newest int64) (window, error) {
	for _, w := range *windows {
		if w.after <= after && after < w.through {
			return w, nil
		}
	}
	events, err := r.store().Events(r.Work, store.EventQuery{After: after, Limit: windowSize})
	if err != nil {
		return window{}, err
	}
	w := window{after: after, through: newest, events: events}
	if len(events) == windowSize {
		w.through = min(newest, events[windowSize-1].Seq)
	}
	*windows = append(*windows, w)
	return w, nil
}

// selectFrom fills the batch with new deliveries of the events that the webhook
// selects.
func (b *batch) selectFrom(w window) error {
	events := w.events
	for len(events) > 0 && events[0].Seq <= b.after {
		events = events[1:]
	}
	if len(events) == 0 || events[0].Seq != b.after+1 {
		purged, err := feed.PurgedThrough(b.Work, b.store())
		if err != nil {
			return err
		}
		if purged > b.after {
			b.purged = purged
			return nil
		}
	}
	now := b.now()
	hook := b.hook.webhook(now)
	b.through = w.through
	for i, e := range events {
		if e.Seq > w.through || !wants(hook, e) {
			continue
		}
		if len(b.items) == b.size() {
			b.through = b.items[len(b.items)-1].EventSeq
			break
		}
		b.items = append(b.items, &sending{Delivery: newDelivery(hook.ID, e, now), event: &events[i]})
	}
	return nil
}

// work sends the batch and stores the outcomes. An empty batch is filled with the
// stored deliveries that are due, unless some were stored while a clock was ahead: then
// work brings these forward instead.
func (b *batch) work(ctx context.Context) error {
	_, stop := b.lease.Keep(b.Work)
	defer stop()
	if b.stored = len(b.items) == 0 && b.purged == 0; b.stored {
		now := b.now()
		late, err := outbox.Due(b.Work, b.store(), b.hook.ID, store.TimeRange{From: tooLate(now)}, 1)
		if err != nil {
			return err
		}
		if b.ahead || len(late) > 0 {
			return b.bringForward() // the next batch sends them
		}
		due, err := outbox.Due(b.Work, b.store(), b.hook.ID, store.TimeRange{Before: dueBefore(now)}, b.size())
		if err != nil {
			return err
		}
		for _, d := range due {
			b.items = append(b.items, &sending{Delivery: d})
		}
	}
	b.send(ctx)
	return b.settle(ctx)
}

// dueBefore is the exclusive bound for due deliveries; times are in milliseconds.
func dueBefore(now time.Time) time.Time { return now.Add(time.Millisecond) }

// send sends a batch with limited concurrency. When ctx ends, the breaker opens or
// the batch takes too long, it does not start the rest.
func (b *batch) send(ctx context.Context) {
	var wg sync.WaitGroup
	var mu sync.Mutex // guards next, outcomes and the breaker
	next, start := 0, time.Now()
	take := func() *sending {
		mu.Lock()
		defer mu.Unlock()
		if next == len(b.items) || next > 0 && (b.breaker.closesIn(b.now()) > 0 || time.Since(start) > quickFor) || ctx.Err() != nil {
			return nil
		}
		next++
		return b.items[next-1]
	}
	for range min(targetSlots, len(b.items)) {
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

// reached returns how many new deliveries are dealt with, and the Seq of the last
// event that the webhook does not need any more. Those among them without an outcome
// are stored too, and sent later.
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
