package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// errLost is returned by an Update after another process took over. What it
// would have stored happens again there.
var errLost = errors.New("another process took over sending to webhooks")

// errEventsLost is returned by an Update after the feed has lost events of a batch. The
// webhook continues from its stored position, which went back with the feed.
var errEventsLost = errors.New("the event feed has lost events of a batch")

// fenced runs an Update that fails unless this process still holds the lease.
func (r *run) fenced(fn func(*transaction) error) error {
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

const (
	gatherFor   = 20 * time.Millisecond // outcomes of several webhooks are stored together
	settleMost  = 600                   // deliveries and cursors in one Update, roughly, so that other writers get the write lock
	settlePause = 30 * time.Second      // the longest pause before outcomes are stored again
)

// A gathering is batches whose outcomes are stored in one Update.
type gathering struct {
	batches []*batch
	rows    int
	stored  chan struct{} // closed when the Update has ended
	err     error         // of the Update
}

// settle stores the outcomes of the batch together with those of other webhooks that
// end soon after it.
func (b *batch) settle(ctx context.Context) error {
	b.mu.Lock()
	g := b.gathering
	first := g == nil
	if first {
		g = &gathering{stored: make(chan struct{})}
		b.gathering = g
	}
	g.batches = append(g.batches, b)
	if g.rows += len(b.items) + 1; g.rows >= settleMost {
		b.gathering = nil
	}
	b.mu.Unlock()
	if first {
		feed.Pause(ctx, gatherFor)
		b.mu.Lock()
		if b.gathering == g {
			b.gathering = nil
		}
		b.mu.Unlock()
		g.err = b.storeOutcomes(ctx, g.batches)
		close(g.stored)
	}
	<-g.stored
	return g.err
}

// storeOutcomes stores the outcomes of batches and the positions that they reached in
// one Update. If the process is killed before, all of it is sent again. If the store
// does not answer, it tries again until ctx ends, another process takes over or events
// are lost, so that an outage of the store repeats no requests.
func (r *run) storeOutcomes(ctx context.Context, batches []*batch) error {
	var stored map[string]hookCursor
	attempt := func() error {
		return r.fenced(func(tx *transaction) (err error) {
			stored, err = r.putOutcomes(tx, batches)
			return err
		})
	}
	err := attempt()
	for pause := r.PollInterval; err != nil && ctx.Err() == nil && !errors.Is(err, errLost) && !errors.Is(err, errEventsLost); pause = min(2*pause, settlePause) {
		r.logger.WarnContext(ctx, "licensing: background work failed; retrying", "error", err)
		r.ObserveStoreError(ctx, sendJob, err)
		feed.Pause(ctx, pause)
		err = attempt()
	}
	if err != nil {
		return err
	}
	for _, b := range batches {
		if b.purged > 0 {
			r.logger.WarnContext(ctx, "licensing: retention removed events before a webhook received them",
				"webhook_id", b.hook.ID, "after_seq", b.after, "purged_through_seq", b.purged)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range batches {
		cursor, exists := stored[b.hook.ID]
		l := r.targets[b.hook.ID]
		switch {
		case !exists || l == nil:
		case cursor.Position > b.known.Seq(): // an operator has moved it past events that this process does not know
			r.drop(b.hook.ID)
		default:
			l.hookCursor, l.reached = cursor, max(l.reached, cursor.Position)
		}
	}
	return nil
}

// putOutcomes stores the outcomes of batches, and returns the cursors afterwards. It
// may run again after it has committed: then it changes nothing.
func (r *run) putOutcomes(tx *transaction, batches []*batch) (cursors map[string]hookCursor, err error) {
	var keys []string
	existing := make(map[feed.Place]bool)
	for _, b := range batches {
		if keys = append(keys, b.hook.ID); existing[b.known] {
			continue
		}
		if existing[b.known], err = b.known.Exists(r.Work, tx); err == nil && !existing[b.known] {
			err = errEventsLost
		}
		if err != nil {
			return nil, err
		}
	}
	hooks, err := entries.Of(r.Work, tx, webhookKind, keys, readWebhookEntry)
	for _, b := range batches {
		if rec, ok := hooks[b.hook.ID]; ok && err == nil {
			rec.Status, err = b.report(tx, rec)
			hooks[rec.ID] = rec
		}
	}
	if err != nil {
		return nil, err
	}
	if cursors, err = entries.Of(r.Work, tx, cursorKind, keys, readCursorEntry); err != nil {
		return nil, err
	}
	answers := erasedAnswers{tx, make(map[int64]bool)}
	for _, b := range batches {
		if cursor, ok := cursors[b.hook.ID]; ok { // else the webhook has been deleted
			if cursors[b.hook.ID], err = b.put(tx, hooks[b.hook.ID], cursor, answers); err != nil {
				return nil, err
			}
		}
	}
	return cursors, nil
}

// put stores the deliveries of the batch and the cursor of its webhook, and returns the
// cursor.
func (b *batch) put(tx *transaction, rec webhookRecord, cursor hookCursor, answers erasedAnswers) (hookCursor, error) {
	if b.purged > cursor.Position {
		rec.Skipped += b.purged - max(cursor.Position, b.after)
		if err := tx.putWebhook(b.Work, rec); err != nil {
			return cursor, err
		}
	}
	rows, through, err := b.outcomes(tx, answers)
	if err == nil {
		err = outbox.Put(b.Work, tx, rows...)
	}
	if err != nil {
		return cursor, err
	}
	cursor.Position = max(cursor.Position, through, b.purged)
	if len(b.items) > 0 {
		cursor.breaker = b.breaker
	}
	if cursor.Due, err = b.due(tx, rec, cursor, rows); err != nil {
		return cursor, err
	}
	cursor.UpdatedAt = tx.now
	return cursor, putCursor(b.Work, tx, rec.ID, cursor)
}

// report stores what the outcomes say about the webhook, and returns its status.
func (b *batch) report(tx *transaction, rec webhookRecord) (api.WebhookStatus, error) {
	got, any := resultOf(b.items)
	if !any {
		return rec.Status, nil
	}
	w, err := b.asDelivery().report(b.Work, tx, rec, got)
	return w.Status, err
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

// outcomes returns the deliveries to store, and the Seq of the last event that the
// webhook does not need any more.
func (b *batch) outcomes(tx *transaction, answers erasedAnswers) (rows []outbox.Delivery, through int64, err error) {
	n, through := b.reached()
	if b.stored {
		n, through = len(b.items), b.after
	}
	for _, s := range b.items[:n] {
		d, mine := s.Delivery, true
		if b.stored {
			d, err = outbox.Get(b.Work, tx, b.hook.ID, s.ID)
			if errors.Is(err, store.ErrNotFound) || err == nil && hasMoreAttempts(d, s.Delivery) { // with its webhook, or this has committed
				continue
			}
			// If an operator has resent it meanwhile, the schedule of that request stays.
			mine = d.DueAt.Equal(s.DueAt) && d.State == string(api.DeliveryPending)
		}
		o := s.outcome
		if err == nil {
			o, err = answers.discard(b.Work, d, o)
		}
		if err == nil {
			err = applyOutcome(&d, o, tx.now, mine)
		}
		if err != nil {
			return nil, 0, err
		}
		rows = append(rows, d)
	}
	return rows, through, nil
}

// due returns when a stored delivery to the webhook is due; not before the breaker
// closes.
func (b *batch) due(tx *transaction, rec webhookRecord, cursor hookCursor, rows []outbox.Delivery) (due time.Time, err error) {
	if rec.Status != api.WebhookActive {
		return time.Time{}, nil
	}
	if due = cursor.Due; b.stored {
		if rows, err = outbox.Pending(b.Work, tx, rec.ID, outbox.Delivery{}, 1); err != nil {
			return due, err
		}
		due = time.Time{}
	}
	for _, d := range rows {
		if !d.DueAt.IsZero() && (due.IsZero() || d.DueAt.Before(due)) {
			due = d.DueAt
		}
	}
	if closed := tx.now.Add(cursor.closesIn(tx.now)); !due.IsZero() && due.Before(closed) {
		due = closed
	}
	return due, nil
}

// attemptsKept is how many attempts the history of a delivery keeps.
const attemptsKept = 20

// hasMoreAttempts reports whether an attempt has been added to a delivery after it
// was read.
func hasMoreAttempts(now, before outbox.Delivery) bool {
	var a, b deliveryData
	if readData(now.Data, &a) != nil || readData(before.Data, &b) != nil || len(a.Attempts) == 0 {
		return false // applyOutcome reports the error
	}
	return len(a.Attempts) != len(b.Attempts) || !a.Attempts[len(a.Attempts)-1].At.Equal(b.Attempts[len(b.Attempts)-1].At)
}

// applyOutcome adds the attempt, if there is one, to a delivery and, if the schedule
// is mine, says when the next one is due.
func applyOutcome(d *outbox.Delivery, o outcome, now time.Time, mine bool) error {
	if o.kind == untried {
		return nil
	}
	var data deliveryData
	if err := readData(d.Data, &data); err != nil {
		return fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	data.Attempts = append(data.Attempts, o.attempt)
	if over := len(data.Attempts) - attemptsKept; over > 0 {
		data.Attempts = data.Attempts[over:]
	}
	d.UpdatedAt, d.Data = now, data.encode()
	d.Attempts++
	switch wait, again := nextAttempt(d.Attempts, o.retryAfter); {
	case o.kind == delivered:
		d.State, d.DueAt = string(api.DeliverySucceeded), time.Time{}
	case !mine:
	case !again || o.kind == hopeless:
		d.State, d.DueAt = string(api.DeliveryFailed), time.Time{}
	default:
		d.DueAt = now.Add(wait).Truncate(time.Millisecond)
	}
	return nil
}
