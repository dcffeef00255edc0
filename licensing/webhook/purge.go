package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	purgeBatch = 100 // records removed in one Update
	// leftKind is the kind of entries that name deleted webhooks whose
	// deliveries have yet to be removed.
	leftKind = "webhook_left"
)

// purge removes a batch of old deliveries: finished ones by
// Options.DeliveryRetention, and those of deleted webhooks. It also fails
// those whose events were purged, and reports whether more may be left. If
// there is nothing to do, it does not take the write lock.
func (s *Service) purge(ctx context.Context) (more bool, err error) {
	for _, find := range []func(context.Context, store.Reader) (change, error){s.findLeft, s.findOld, s.findPurged} {
		c, err := find(ctx, s.store())
		if err == nil && c.n > 0 {
			err = s.update(ctx, func(tx *transaction) error {
				if c, err = find(ctx, tx); err != nil || c.n == 0 {
					return err
				}
				return c.apply(tx)
			})
		}
		if err != nil {
			return false, fmt.Errorf("purge deliveries: %w", err)
		}
		if c.done != nil && c.n > 0 {
			c.done()
		}
		more = more || c.n > 0
	}
	return more, nil
}

// A change is what a step of purge does.
type change struct {
	n     int // how many deliveries it is about; 0: it does nothing
	apply func(*transaction) error
	done  func() // called after the commit; nil: nothing
}

// findLeft removes deliveries of a deleted webhook.
func (s *Service) findLeft(ctx context.Context, r store.Reader) (change, error) {
	left, err := r.Entries(ctx, store.EntryQuery{Kind: leftKind, Limit: 1})
	if err != nil || len(left) == 0 {
		return change{}, err
	}
	deliveries, err := outbox.Newest(ctx, r, left[0].Key, "", purgeBatch)
	return change{n: len(deliveries) + 1, apply: func(tx *transaction) error {
		if err := outbox.Delete(ctx, tx, deliveries); err != nil || len(deliveries) == purgeBatch {
			return err
		}
		return tx.DeleteEntries(ctx, leftKind, left[0].Key)
	}}, err
}

// findOld removes finished deliveries that are older than their retention. It does
// not read those again that it has found to be due for as long: when they finish,
// they come after the others.
func (s *Service) findOld(ctx context.Context, r store.Reader) (change, error) {
	before := s.now().Add(-s.opts.DeliveryRetention)
	after, _ := s.oldAfter.Load().(store.Position)
	if !after.Time.Before(before) { // the clock was ahead
		after = store.Position{}
	}
	old, after, err := outbox.Finished(ctx, r, before, after, purgeBatch)
	s.oldAfter.Store(after)
	return change{n: len(old), apply: func(tx *transaction) error { return outbox.Delete(ctx, tx, old) }}, err
}

// skippedError is the attempt error of a delivery whose event was purged.
const skippedError = "skipped: the event is no longer kept"

// findPurged fails deliveries to paused and disabled webhooks whose events
// were purged. They stay in the history, and the log reports their number.
func (s *Service) findPurged(ctx context.Context, r store.Reader) (change, error) {
	purged, err := feed.ReadPurged(ctx, r)
	if err != nil || purged.Seq() == 0 {
		return change{}, err
	}
	all, err := readAll(ctx, r)
	if err != nil {
		return change{}, err
	}
	var failed []outbox.Delivery
	skipped := make(map[string]int) // by webhook
	for _, rec := range all {
		if len(failed) >= purgeBatch {
			break
		}
		if rec.Status == api.WebhookActive {
			continue
		}
		due, err := outbox.Due(ctx, r, rec.ID, store.TimeRange{Before: s.now()}, purgeBatch)
		if err != nil {
			return change{}, err
		}
		for _, d := range due {
			if d.EventSeq > purged.Seq() {
				continue
			}
			var data deliveryData
			if err := readData(d.Data, &data); err != nil {
				return change{}, fmt.Errorf("delivery %s: %w", d.ID, err)
			}
			data.Attempts = append(data.Attempts, api.Attempt{At: s.now(), Error: skippedError})
			d.State, d.DueAt, d.UpdatedAt, d.Data = string(api.DeliveryFailed), time.Time{}, s.now(), data.encode()
			failed = append(failed, d)
			skipped[rec.ID]++
		}
	}
	return change{
		n:     len(failed),
		apply: func(tx *transaction) error { return outbox.Put(ctx, tx, failed...) },
		done: func() {
			for id, n := range skipped {
				s.logger.WarnContext(ctx, "licensing: retention removed events before a webhook received them", "webhook_id", id, "skipped", n)
			}
		},
	}, nil
}

// needs returns the Seq of the first event before bound that an active webhook
// needs: one after its position, or of a pending delivery. It ignores events
// older than five days.
func (s *Service) needs(ctx context.Context, r store.Reader, bound int64) (int64, error) {
	hooks, cursors, err := activeCursors(ctx, r)
	if err != nil {
		return 0, err
	}
	oldest := s.now().Add(-failingFor)
	position := bound
	for i, cursor := range cursors {
		position = min(position, cursor.Position)
		pending, err := outbox.AllPending(ctx, r, hooks[i].ID)
		if err != nil {
			return 0, err
		}
		for _, d := range pending {
			if !d.CreatedAt.Before(oldest) {
				bound = min(bound, d.EventSeq)
			}
		}
	}
	for position < bound-1 {
		events, err := r.Events(ctx, store.EventQuery{After: position, Limit: purgeBatch})
		if err != nil || len(events) == 0 {
			return bound, err
		}
		for _, e := range events {
			if position = e.Seq; !e.Time.Before(oldest) {
				return min(bound, e.Seq), nil
			}
		}
	}
	return bound, nil
}
