package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	// sharedMost is the most events of a batch of the shared lane, and
	// sharedSendings its most deliveries, unless a single event has more.
	sharedMost     = 100
	sharedSendings = 2000
	// sharedIdle is how long the shared lane waits for new events if none
	// wakes it.
	sharedIdle = 5 * time.Minute
)

// share sends the events after the shared position to the webhooks that are
// level. It reads them once for all. A webhook that fails or is slow leaves the
// shared lane, so that the others do not wait for it.
func (r *run) share(ctx context.Context) (feed.Next, error) {
	// Read first, so that nothing is written while there are no new events.
	seq, ok, err := feed.ReadCursor(r.Work, r.store(), cursorKey)
	if err != nil {
		return feed.In(sharedIdle), err
	}
	if !ok { // no webhook has ever been created
		return feed.In(sharedIdle), nil
	}
	if events, err := r.store().Events(r.Work, store.EventQuery{After: seq, Limit: 1}); err != nil || len(events) == 0 {
		return feed.In(sharedIdle), err
	}
	held, wait, err := r.hold()
	if err != nil || !held {
		return feed.In(wait), err
	}
	if seq, _, err = feed.ReadCursor(r.Work, r.store(), cursorKey); err != nil {
		return feed.Next{}, err
	}
	events, err := r.store().Events(r.Work, store.EventQuery{After: seq, Limit: sharedMost})
	if err != nil || len(events) == 0 {
		return feed.In(sharedIdle), err
	}
	// A webhook that is not known now was created after the last of events.
	if err := r.refresh(ctx); err != nil {
		return feed.Next{}, err
	}
	n, err := r.shareEvents(ctx, seq, events)
	if err != nil {
		return feed.Next{}, err
	}
	if n < len(events) || n == sharedMost {
		return feed.In(0), nil
	}
	return feed.In(sharedIdle), nil
}

// A part is what one webhook gets of a shared batch.
type part struct {
	*batch
	settled chan struct{} // closed when the shared batch is settled
	err     error         // of that
	late    bool          // it is still being sent
}

// shareEvents sends the first of some events, and returns how many.
func (r *run) shareEvents(ctx context.Context, seq int64, events []store.Event) (n int, err error) {
	parts, n := r.split(seq, events)
	through := events[n-1].Seq
	defer func() {
		r.joining.Lock()
		r.ahead = 0
		r.joining.Unlock()
	}()
	stop := r.lease.Keep(r.Work)
	defer stop()
	var wg sync.WaitGroup
	for _, p := range parts {
		r.shared <- struct{}{}
		wg.Go(func() {
			p.share(ctx)
			<-r.shared
		})
	}
	wg.Wait()
	var batches []*batch
	for _, p := range parts {
		b := *p.batch
		if p.late {
			b.items = nil // its outcome follows
			b.through = b.after
		}
		if b.leaves || len(b.items) > 0 {
			batches = append(batches, &b)
		}
	}
	err = r.settle(ctx, batches, func(tx *transaction) error {
		now, _, err := feed.ReadCursor(r.Work, tx, cursorKey)
		if err == nil && now != seq {
			err = errLost
		}
		if err != nil {
			return err
		}
		return feed.WriteCursor(r.Work, tx, cursorKey, through, tx.now)
	})
	for _, p := range parts {
		p.err = err
		close(p.settled)
	}
	r.bell.Ring() // webhooks that left have work
	return n, err
}

// split returns what each webhook in the shared lane selects of the first n
// events.
func (r *run) split(seq int64, events []store.Event) (parts []*part, n int) {
	r.joining.Lock()
	defer r.joining.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	of := make(map[*lane]*batch)
	now, sendings := r.now(), 0
	for i, e := range events {
		var wanting []*lane
		for _, l := range r.lanes {
			if !l.own && l.hook.Status == StatusActive && e.Seq > l.position && l.hook.wants(e) {
				wanting = append(wanting, l)
			}
		}
		if sendings += len(wanting); sendings > sharedSendings && n > 0 {
			break
		}
		for _, l := range wanting {
			if of[l] == nil {
				of[l] = &batch{lane: l, feed: true, after: max(seq, l.position)}
				parts = append(parts, &part{batch: of[l], settled: make(chan struct{})})
			}
			of[l].items = append(of[l].items, &sending{Delivery: newDelivery(l.webhookID, e, now), event: &events[i]})
		}
		n = i + 1
	}
	r.ahead = events[n-1].Seq
	for _, p := range parts {
		p.through = r.ahead
	}
	return parts, n
}

// share sends a part. It returns when the part is sent or when this takes too
// long; then the sending continues in the webhook's own lane.
func (p *part) share(ctx context.Context) {
	p.mu.Lock()
	slow := p.slow
	p.mu.Unlock()
	if slow || !p.enter(p.patience/10) {
		p.leaves = true
		return
	}
	if p.breaker.open(p.now()) || p.breaker.trying() {
		p.leaves = true
		p.leave()
		return
	}
	sent := make(chan struct{})
	p.Go(func() {
		p.send(ctx)
		close(sent)
		<-p.settled
		if p.late {
			p.finish(ctx)
			<-p.single
		}
		p.leave()
		p.bell.Ring() // other work may have waited for the slot
	})
	timer := time.NewTimer(p.patience)
	defer timer.Stop()
	select {
	case <-sent:
		p.leaves = !p.whole()
		return
	case <-timer.C:
	}
	select {
	case <-sent:
		p.leaves = !p.whole()
	case p.single <- struct{}{}:
		p.late, p.leaves = true, true
	}
}

// finish stores the outcome of a part that took too long.
func (p *part) finish(ctx context.Context) {
	if p.err == nil {
		p.mu.Lock()
		p.slow = true
		p.mu.Unlock()
		p.err = p.settle(ctx, []*batch{p.batch}, nil)
		if p.err != nil && p.Work.Err() == nil {
			p.logger.WarnContext(p.Work, "licensing: webhook delivery failed; retrying", "webhook_id", p.webhookID, "error", p.err)
			p.ObserveStoreError(p.Work, sendJob, p.err)
		}
	}
}
