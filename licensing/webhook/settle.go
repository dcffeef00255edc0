package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// errLost is returned by an Update after another process took over. What it
// would have stored happens again there.
var errLost = errors.New("another process took over sending to webhooks")

// settling runs an Update that fails unless this process still holds the lease.
func (r *run) settling(fn func(*transaction) error) error {
	err := r.asDelivery().update(r.Work, func(tx *transaction) error {
		held, err := r.lease.Check(r.Work, tx)
		if err == nil && !held {
			err = errLost
		}
		if err != nil {
			return err
		}
		return fn(tx)
	})
	if err != nil {
		if r.forget(); errors.Is(err, errLost) {
			r.lease.Recheck()
		}
		return fmt.Errorf("storing the outcome of deliveries: %w", err)
	}
	return nil
}

// settlePause is the longest pause before outcomes are stored again.
const settlePause = 30 * time.Second

// settleMost is roughly how many deliveries one Update stores, so that other
// writers get the write lock in between.
const settleMost = 600

// settle stores the outcomes of batches, and the positions that they reached, in
// an Update each for a few, and the last of them with last, which may be nil. If
// the process is killed in between, the rest is sent again. If the store does not
// answer, settle tries again until ctx ends or another process takes over, so
// that an outage of the store repeats no requests.
func (r *run) settle(ctx context.Context, batches []*batch, last func(*transaction) error) error {
	for more := true; more; {
		n, rows := 0, 0
		for n < len(batches) && rows < settleMost {
			rows += len(batches[n].items) + 1
			n++
		}
		some, lanes := batches[:n], []laneRecord(nil)
		batches = batches[n:]
		more = len(batches) > 0
		attempt := func() error {
			return r.settling(func(tx *transaction) (err error) {
				if lanes, err = r.storeOutcomes(tx, some); err != nil || more || last == nil {
					return err
				}
				return last(tx)
			})
		}
		err := attempt()
		for pause := r.PollInterval; err != nil && ctx.Err() == nil && !errors.Is(err, errLost); pause = min(2*pause, settlePause) {
			r.logger.WarnContext(ctx, "licensing: background work failed; retrying", "error", err)
			r.ObserveStoreError(ctx, sendJob, err)
			feed.Pause(ctx, pause)
			err = attempt()
		}
		if err != nil {
			return err
		}
		for i, b := range some {
			b.set(lanes[i])
		}
	}
	return nil
}

// storeOutcomes stores the outcomes of some batches, and returns the lanes
// afterwards.
func (r *run) storeOutcomes(tx *transaction, batches []*batch) ([]laneRecord, error) {
	keys := make([]string, len(batches))
	of := make(map[string]*batch, len(batches))
	for i, b := range batches {
		keys[i], of[b.webhookID] = b.webhookID, b
	}
	statuses := make(map[string]Status, len(batches))
	err := r.readKeys(tx, webhookKind, keys, func(e store.Entry) error {
		rec, err := readWebhookEntry(e)
		if err != nil {
			return err
		}
		statuses[e.Key] = rec.Status
		return of[e.Key].report(tx, rec, statuses)
	})
	if err != nil {
		return nil, err
	}
	stored := make(map[string]laneRecord, len(batches))
	err = r.readKeys(tx, laneKind, keys, func(e store.Entry) (err error) {
		stored[e.Key], err = readLaneEntry(e)
		return err
	})
	if err != nil {
		return nil, err
	}
	answers := erasedAnswers{tx, make(map[int64]bool)}
	lanes := make([]laneRecord, len(batches))
	for i, b := range batches {
		lane, ok := stored[b.webhookID]
		if !ok { // deleted since
			continue
		}
		rows, err := b.record(tx, &lane, answers)
		if err == nil {
			err = outbox.Put(r.Work, tx, rows...)
		}
		if err != nil {
			return nil, err
		}
		pending := slices.ContainsFunc(rows, func(d outbox.Delivery) bool { return !d.DueAt.IsZero() })
		if lane != stored[b.webhookID] || pending || !b.feed {
			if err := b.schedule(tx, statuses[b.webhookID], &lane); err != nil {
				return nil, err
			}
			if err := putLane(r.Work, tx, b.webhookID, lane); err != nil {
				return nil, err
			}
		}
		lanes[i] = lane
	}
	return lanes, nil
}

// readKeys calls fn with each of the entries with these keys.
func (r *run) readKeys(tx *transaction, kind string, keys []string, fn func(store.Entry) error) error {
	if len(keys) == 0 {
		return nil
	}
	entries, err := tx.Entries(r.Work, store.EntryQuery{Kind: kind, Keys: keys})
	for _, e := range entries {
		if err == nil {
			err = fn(e)
		}
	}
	return err
}

// report stores what the outcomes say about the webhook, and notes its status.
func (b *batch) report(tx *transaction, rec webhookRecord, statuses map[string]Status) error {
	got, any := resultOf(b.items)
	if noted := rec; !any || !noted.note(got, tx.now) {
		return nil
	}
	w, err := b.asDelivery().within(tx.Tx).report(b.Work, b.webhookID, got)
	statuses[b.webhookID] = w.Status
	return err
}

// resultOf returns the result of sendings for the webhook, if any: gone, reached
// by at least one delivery, or not reached.
func resultOf(items []*sending) (got result, any bool) {
	got = resultFailed
	for _, s := range items {
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

// record moves a lane and returns the deliveries to store.
func (b *batch) record(tx *transaction, lane *laneRecord, answers erasedAnswers) (rows []outbox.Delivery, err error) {
	now := tx.now
	if !b.feed {
		for _, s := range b.items {
			d, changed, err := b.recordQueued(tx, s, answers)
			if err != nil {
				return nil, err
			}
			if changed {
				rows = append(rows, d)
			}
		}
		return rows, nil
	}
	n, through := b.reached()
	for _, s := range b.items[:n] {
		d := s.Delivery
		if d.UpdatedAt = now; s.outcome.kind != untried {
			o, err := answers.discard(b.Work, d, s.outcome)
			if err == nil {
				err = applyOutcome(&d, o, now, true)
			}
			if err != nil {
				return nil, err
			}
		}
		rows = append(rows, d)
	}
	if b.leaves {
		if err := lane.leave(b.Work, tx); err != nil {
			return nil, err
		}
	}
	// An operator may have changed the position since, and with it what the
	// webhook needs.
	if lane.Own && lane.Position == b.after {
		lane.Position = through
	}
	return rows, nil
}

// recordQueued returns a delivery from the queue after an attempt, and false if
// it has not changed. If an operator has resent it meanwhile, the schedule is
// theirs.
func (b *batch) recordQueued(tx *transaction, s *sending, answers erasedAnswers) (d outbox.Delivery, changed bool, err error) {
	if s.outcome.kind == untried {
		return d, false, nil
	}
	d, err = outbox.Get(b.Work, tx, b.webhookID, s.ID)
	if errors.Is(err, store.ErrNotFound) { // with its webhook
		return d, false, nil
	}
	if err != nil {
		return d, false, err
	}
	o, err := answers.discard(b.Work, d, s.outcome)
	if err != nil {
		return d, false, err
	}
	mine := d.DueAt.Equal(s.DueAt) && d.State == string(DeliveryPending)
	d.UpdatedAt = tx.now
	return d, true, applyOutcome(&d, o, tx.now, mine)
}

// attemptsKept is how many attempts the history of a delivery keeps.
const attemptsKept = 20

// applyOutcome adds an attempt to a delivery and, if the schedule is mine, says
// when the next one is due.
func applyOutcome(d *outbox.Delivery, o outcome, now time.Time, mine bool) error {
	var data deliveryData
	if err := readData(d.Data, &data); err != nil {
		return fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	data.Attempts = append(data.Attempts, o.attempt)
	if over := len(data.Attempts) - attemptsKept; over > 0 {
		data.Attempts = data.Attempts[over:]
	}
	d.Data = data.encode()
	d.Attempts++
	switch wait, again := nextAttempt(d.Attempts, o.retryAfter); {
	case o.kind == delivered:
		d.State, d.DueAt = string(DeliverySucceeded), time.Time{}
	case !mine:
	case !again || o.kind == hopeless:
		d.State, d.DueAt = string(DeliveryFailed), time.Time{}
	default:
		d.DueAt = now.Add(wait).Truncate(time.Millisecond)
	}
	return nil
}

// schedule says when work of a lane is due next: if it has its own position,
// immediately, otherwise when its queue is; not before the breaker closes.
func (l *lane) schedule(tx *transaction, status Status, lane *laneRecord) error {
	lane.Due, lane.UpdatedAt = time.Time{}, tx.now
	if status != StatusActive {
		return nil
	}
	if lane.Own {
		lane.Due = tx.now.Add(l.breaker.closesIn(tx.now))
		return nil
	}
	first, err := outbox.Pending(l.Work, tx, l.webhookID, outbox.Delivery{}, 1)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		lane.Due = first[0].DueAt
		if closed := tx.now.Add(l.breaker.closesIn(tx.now)); lane.Due.Before(closed) {
			lane.Due = closed
		}
	}
	return nil
}
