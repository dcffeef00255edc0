package refusals

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	flushEvery = time.Minute
	flushPause = time.Second // between two flushes under load
	// flushBatch is how many licenses one Update stores refusals of.
	flushBatch = 50
	// flushTimeout limits a flush by a request.
	flushTimeout = time.Second
	// limitEvery is how far apart two events of a license without a free seat are at least.
	limitEvery = 24 * time.Hour
)

// flushIfDue unlocks s.pending after a refusal. While Run runs in this process,
// it wakes Run before the memory is full. Otherwise it stores a batch if one is
// complete or if the last was stored a minute ago: one refused call in many
// then waits for a write, and a call that is not refused never does.
func (s Service) flushIfDue(ctx context.Context, now time.Time) {
	p := s.Pending
	if p.flushed.IsZero() || now.Before(p.flushed) {
		p.flushed = now
	}
	var ring func()
	due := false
	if p.runs > 0 {
		if len(p.licenses) >= maxPending/2 {
			ring = p.ring
		}
	} else {
		due = len(p.licenses) >= flushBatch && !p.failed || now.Sub(p.flushed) >= flushEvery
	}
	p.mu.Unlock()
	if ring != nil {
		ring()
	}
	if !due || !p.flushing.TryLock() {
		return
	}
	defer p.flushing.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if _, err := s.flushBatch(ctx); err != nil {
		s.Opts.Logger.LogAttrs(ctx, slog.LevelWarn, "licensing: usage not stored; retrying", slog.Any("error", err))
	}
}

// FlushTask returns the task of Run that stores usage and refusals.
func (s Service) FlushTask(r *feed.Run) feed.Task {
	bell := r.NewBell()
	s.Pending.mu.Lock()
	s.Pending.runs++
	s.Pending.ring = bell.Ring
	s.Pending.mu.Unlock()
	return feed.Task{Name: "usage", Bell: bell, Step: func(context.Context) (feed.Next, error) {
		n, err := s.Flush(r.Work)
		if n > flushBatch {
			return feed.Next{After: flushPause, Deaf: true}, err
		}
		return feed.In(flushEvery), err
	}}
}

// DrainUsage stores what is pending at the end of a Run.
func (s Service) DrainUsage(ctx context.Context) {
	s.Pending.mu.Lock()
	s.Pending.runs--
	s.Pending.held = nil
	s.Pending.mu.Unlock()
	if _, err := s.Flush(ctx); err != nil {
		s.Opts.Logger.LogAttrs(ctx, slog.LevelWarn, "licensing: usage not stored", slog.Any("error", err))
	}
}

// Flush stores what is pending, batch by batch, and returns the number of
// licenses.
func (s Service) Flush(ctx context.Context) (total int, err error) {
	s.Pending.flushing.Lock()
	defer s.Pending.flushing.Unlock()
	for range maxPending/flushBatch + 1 {
		n, err := s.flushBatch(ctx)
		total += n
		if err != nil || n < flushBatch {
			return total, err
		}
	}
	return total, nil
}

// flushBatch stores one batch and returns its number of licenses. If that fails because of
// what is stored, each license and each day gets an Update of its own, and one that fails even
// so waits for [feed.PostponedFor].
func (s Service) flushBatch(ctx context.Context) (n int, err error) {
	b := s.Pending.take(s.Clock(), flushBatch)
	if b.empty() {
		return 0, nil
	}
	if err = s.store(ctx, b); !feed.IsOwn(ctx, err) {
		if err != nil {
			s.Pending.restore(b)
			return 0, err
		}
		return len(b.licenses), nil
	}
	var left error
	for name, part := range b.parts() {
		err := s.store(ctx, part)
		if err != nil {
			s.Pending.restore(part)
		}
		if feed.IsOwn(ctx, err) {
			s.Pending.hold(name, s.Clock().Add(feed.PostponedFor))
			s.LogPostponed(ctx, "usage", name, err)
			err = fmt.Errorf("%w: %s: %w", feed.ErrPostponed, name, err)
		}
		left = cmp.Or(left, err)
	}
	return len(b.licenses), left
}

// store stores a batch as the clock: the caller whose request runs it may see less.
func (s Service) store(ctx context.Context, b usageBatch) error {
	as := s.As(call.Caller{Actor: call.ClockActor})
	return feed.Contain(ctx, s.Opts.Logger, "usage", func() error {
		return as.Begin(ctx, func(tx *call.Tx) error { return b.put(ctx, tx, &as) })
	})
}

// parts returns a batch for each license and each day, by the ID and the date.
func (b usageBatch) parts() map[string]usageBatch {
	parts := map[string]usageBatch{}
	for id, r := range b.licenses {
		parts[id] = usageBatch{licenses: map[string]pendingRefusals{id: r}}
	}
	for day, u := range b.days {
		parts[dayText(day)] = usageBatch{days: map[int]*usageRecord{day: u}}
	}
	return parts
}

// put adds the batch to the stored entries, and appends the events of licenses that had no
// free seat.
func (b usageBatch) put(ctx context.Context, tx *call.Tx, s *call.Call) error {
	refusals, full, err := b.refusalEntries(ctx, tx, tx.Now)
	if err != nil {
		return err
	}
	usage, err := b.usageEntries(ctx, tx, tx.Now)
	if err != nil {
		return err
	}
	if err := tx.PutEntries(ctx, append(refusals, usage...)...); err != nil || len(full) == 0 {
		return err
	}
	rows, err := tx.Licenses(ctx, store.LicenseQuery{IDs: full})
	if err != nil {
		return err
	}
	events := make([]store.Event, len(rows))
	for i, row := range rows {
		l, err := licenses.FromRow(row, tx.Now)
		if err != nil {
			return err
		}
		events[i] = s.Event(tx.Now, api.EventActivationLimit, l, api.EventData{})
	}
	return tx.AppendEvents(ctx, events...)
}

// refusalEntries returns the entries of the licenses in the batch, except for licenses that
// have been deleted and refusals of former customers. full are the licenses that had no free
// seat, and no event about that in the last 24 hours.
func (b usageBatch) refusalEntries(ctx context.Context, r store.Reader, now time.Time) (put []store.Entry, full []string, err error) {
	present, err := presentRefusals(ctx, r, b.licenses)
	if err != nil {
		return nil, nil, err
	}
	ids := slices.Sorted(maps.Keys(present))
	records, err := entries.Of(ctx, r, RefusalKind, ids, call.ReadJSON[refusalRecord])
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		rec := records[id]
		rec.merge(present[id])
		if rec.full && now.Sub(rec.LimitAt).Abs() >= limitEvery {
			rec.LimitAt = now
			full = append(full, id)
		}
		if rec.trim(now); len(rec.Codes) == 0 {
			continue
		}
		put = append(put, store.Entry{Kind: RefusalKind, Key: id, Data: record.Encode(rec), ExpiresAt: rec.expiry(), CreatedAt: now})
	}
	return put, full, nil
}

// usageEntries returns the entries of the days in the batch.
func (b usageBatch) usageEntries(ctx context.Context, r store.Reader, now time.Time) (put []store.Entry, err error) {
	days := slices.Sorted(maps.Keys(b.days))
	keys := make([]string, len(days))
	for i, day := range days {
		keys[i] = dayText(day)
	}
	records, err := entries.Of(ctx, r, UsageKind, keys, call.ReadJSON[usageRecord])
	if err != nil {
		return nil, err
	}
	for i, day := range days {
		rec := records[keys[i]]
		rec.merge(*b.days[day])
		put = append(put, store.Entry{Kind: UsageKind, Key: keys[i], Data: record.Encode(rec), ExpiresAt: startOf(day + usageDays + 1), CreatedAt: now})
	}
	return put, nil
}
