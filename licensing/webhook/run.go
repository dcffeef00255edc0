package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A run sends deliveries during one call of Handler.Run, if this process holds
// the lease. The lease covers all webhooks, so everything that concerns the order
// of work is decided in one process.
type run struct {
	*Service
	*feed.Run

	lease    *feed.Lease
	bell     *feed.Bell    // of dispatch
	rings    int64         // of the Service, as of the last dispatch
	shared   chan struct{} // slots for partsMost
	single   chan struct{} // slots for ownMost
	patience time.Duration

	refreshing sync.Mutex // guards the next three fields
	took       bool       // false: the next refresh reads the webhooks and lanes
	change     string     // the last change of a webhook that lanes reflects
	clock      time.Time  // the latest time seen

	// joining is held while a webhook joins the shared lane, and while a shared
	// batch determines whom it is for.
	joining sync.Mutex
	ahead   int64 // the last event of the shared batch under way; guarded by joining

	mu    sync.Mutex
	lanes map[string]*lane // by webhook ID
	try   map[string]bool  // lanes to try whatever their breaker was in another process
}

const (
	partsMost = 256 // webhooks in the shared lane to which requests are made concurrently
	ownMost   = 256 // lanes that send concurrently on their own
)

// A lane is what one process knows of the lane of a webhook.
type lane struct {
	*run
	webhookID string
	slot      chan struct{} // held by the goroutine that sends
	breaker   breaker

	// Guarded by run.mu.
	hook     Webhook
	own      bool
	position int64
	changes  int  // of own and position
	slow     bool // its last batch took too long for the shared lane
}

func (s *Service) newRun(r *feed.Run) *run {
	return &run{
		Service: s, Run: r, lease: r.NewLease("webhook"), bell: r.NewBell(), patience: time.Second,
		shared: make(chan struct{}, partsMost), single: make(chan struct{}, ownMost),
		lanes: make(map[string]*lane), try: make(map[string]bool),
	}
}

// set updates what the process knows after a change of the stored lane.
func (l *lane) set(rec laneRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own, l.position = rec.Own, rec.Position
	l.changes++
}

// tryEnter acquires the slot of the lane unless it is taken.
func (l *lane) tryEnter() bool {
	select {
	case l.slot <- struct{}{}:
		return true
	default:
		return false
	}
}

// enter acquires the slot of the lane if it is free within d.
func (l *lane) enter(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case l.slot <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

func (l *lane) leave() { <-l.slot }

// find returns the lane of a webhook, or nil if this process does not know it.
func (r *run) find(webhookID string) *lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lanes[webhookID]
}

// hold acquires or extends the lease. If another process holds it, hold returns
// how long to wait.
func (r *run) hold() (held bool, wait time.Duration, err error) {
	held, fresh, wait, err := r.lease.Hold(r.Work)
	if err != nil || !held {
		return false, max(wait, r.PollInterval), err
	}
	if fresh {
		r.forget() // another process may have changed everything
	}
	return true, 0, nil
}

// refresh reads the webhooks and their lanes again if they may have changed. Call
// it after hold and before the lanes are used.
func (r *run) refresh(ctx context.Context) error {
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	now := r.now()
	if now.Before(r.clock.Add(-feed.WaitFor)) { // the clock was ahead and has been corrected
		r.took = false
	}
	r.clock = now
	change, err := readChange(r.Work, r.store())
	if err != nil || change == r.change && r.took {
		return err
	}
	r.mu.Lock()
	before := make(map[string]int, len(r.lanes))
	for id, l := range r.lanes {
		before[id] = l.changes
	}
	r.mu.Unlock()
	all, err := readAll(r.Work, r.store())
	if err != nil {
		return err
	}
	stored, err := readLanes(r.Work, r.store(), store.EntryQuery{})
	if err != nil {
		return err
	}
	for _, rec := range all {
		lane, ok := stored[rec.ID]
		if ahead := lane.UpdatedAt.After(now.Add(feed.WaitFor)); !ok || ahead {
			if stored[rec.ID], err = r.mendLane(rec, ahead); err != nil {
				return err
			}
		}
	}
	if len(all) > 0 && !r.box().Seals() {
		r.warnOnce.Do(func() {
			r.logger.WarnContext(ctx, "licensing: webhook secrets are stored in plain text; set Options.MasterKey to encrypt them")
		})
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	old, lanes := r.lanes, make(map[string]*lane, len(all))
	for _, rec := range all {
		l := old[rec.ID]
		if l == nil {
			l = &lane{run: r, webhookID: rec.ID, slot: make(chan struct{}, 1)}
		}
		l.hook = rec.webhook(now)
		if got := stored[rec.ID]; l.changes == before[rec.ID] { // otherwise what it knows is newer
			l.own, l.position = got.Own, got.Position
			if !r.took && !got.Due.IsZero() {
				r.try[rec.ID] = true
			}
		}
		lanes[rec.ID] = l
	}
	r.lanes, r.change, r.took = lanes, change, true
	return nil
}

// forget makes the next refresh read the webhooks and lanes, such as after an Update
// of which it is not known whether it was committed.
func (r *run) forget() {
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	r.took = false
}

// mendLane stores the lane of a webhook that has none because an earlier version
// created it, and brings its work forward if it was stored while a clock was ahead.
func (r *run) mendLane(rec webhookRecord, ahead bool) (lane laneRecord, err error) {
	if ahead {
		if err := r.bringForward(r.Work, rec.ID); err != nil {
			return laneRecord{}, err
		}
	}
	err = r.update(r.Work, func(tx *transaction) error {
		now, err := r.findWebhook(r.Work, tx, rec.ID)
		if errors.Is(err, license.ErrNotFound) { // deleted meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if lane, err = readLane(r.Work, tx, now, tx.now); err != nil {
			return err
		}
		if lane.UpdatedAt = tx.now; ahead && now.Status == StatusActive {
			lane.Due = tx.now
		}
		if !now.troubledSince().IsZero() { // an earlier version did not store it as such
			if err := tx.putWebhook(r.Work, now); err != nil {
				return err
			}
		}
		return putLane(r.Work, tx, rec.ID, lane)
	})
	return lane, err
}

// bringForward makes the pending deliveries to a webhook due as soon as they would be
// if their last attempt were made now, because they were stored while a clock was
// ahead. If clocks differ, this happens often: it must not use up the attempts of a
// delivery faster than the schedule does.
func (s *Service) bringForward(ctx context.Context, webhookID string) error {
	var last outbox.Delivery
	for more := true; more; {
		from := last
		err := s.update(ctx, func(tx *transaction) error {
			pending, err := outbox.Pending(ctx, tx, webhookID, from, purgeBatch)
			if err != nil || len(pending) == 0 {
				more = false
				return err
			}
			last, more = pending[len(pending)-1], len(pending) == purgeBatch
			var early []outbox.Delivery
			for _, d := range pending {
				if due := tx.now.Add(longestWait(d.Attempts)).Truncate(time.Millisecond); d.DueAt.After(due) {
					d.DueAt, d.UpdatedAt = due, tx.now
					early = append(early, d)
				}
			}
			return outbox.Put(ctx, tx, early...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
