package webhook

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A run sends deliveries during one call of Handler.Run, if this process holds
// the lease. Its only task is step, which decides what is sent; workers send it.
type run struct {
	*Service
	*feed.Run

	lease *feed.Lease
	bell  *feed.Bell

	// Only step uses these.
	known  feed.Place // after the newest event when the webhooks were read
	passed time.Time  // since when a position has moved that is not stored; zero: none has
	rests  time.Time  // until then it does not look, because there was no webhook

	mu        sync.Mutex         // guards the rest
	targets   map[string]*target // by webhook ID; they count as long as the feed has the event before known
	losses    int                // how often it had not
	workers   int
	doubt     bool // what is stored may differ from targets
	gathering *gathering
}

// workersMost is how many webhooks are sent to concurrently.
const workersMost = 256

// storePassed is how soon the position of a target is stored that has only moved past
// events that its webhook does not select. It is well below feed.WaitFor.
const storePassed = 20 * time.Second

// restWithout is how long a process that knows no webhook rests after it has looked for
// one. Without it, the look is 3 percent of what a creation costs.
const restWithout = 100 * time.Millisecond

// A target is what the process knows of one webhook. Only step starts a worker, so a
// target that is not busy changes only there.
type target struct {
	hook       webhookRecord
	hookCursor       // as last read or stored
	reached    int64 // at least Position: past events that the webhook does not select
	busy       bool  // a worker is sending to it
}

func (s *Service) newRun(r *feed.Run) *run {
	return &run{Service: s, Run: r, lease: r.NewLease("webhook"), bell: r.NewBell(), doubt: true}
}

// step starts a worker for each target that can be sent something. It does not wait
// for them: each rings when it is done. It returns when to look again.
func (r *run) step(ctx context.Context) (feed.Next, error) {
	if wait := time.Until(r.rests); wait > 0 {
		return feed.In(wait), nil
	}
	newest, due, next, err := r.look()
	if err != nil {
		return feed.Next{}, err
	}
	if err := r.load(ctx, newest); err != nil {
		return feed.Next{}, err
	}
	ready, wait := r.ready(newest.Seq(), due)
	next = min(next, wait)
	storing := false
	if !r.passed.IsZero() {
		wait := storePassed - time.Since(r.passed)
		next, storing = min(next, max(wait, 0)), wait <= 0
	}
	if len(ready) == 0 && !storing {
		return feed.In(next), nil
	}
	held, fresh, wait, err := r.lease.Hold(r.Work)
	switch {
	case err != nil:
		r.forget()
		return feed.Next{}, err
	case !held:
		r.forget()
		return feed.In(max(r.PollInterval, min(next, wait))), nil
	case fresh: // another process may have moved the positions
		r.forget()
		return feed.In(0), nil
	case storing:
		if err := r.storeReached(ctx); err != nil {
			return feed.Next{}, err
		}
	}
	more, err := r.startAll(ctx, ready, newest.Seq(), due)
	if more {
		next = 0
	}
	return feed.In(next), err
}

// look returns the position after the newest event, the targets with deliveries that are
// due or are due too late, and when to look again for work that nothing in this process
// announces.
func (r *run) look() (newest feed.Place, due map[string]bool, next time.Duration, err error) {
	next = max(r.PollInterval, min(10*r.PollInterval, 10*time.Second))
	if newest, err = feed.Newest(r.Work, r.store()); err != nil {
		return newest, nil, next, err
	}
	entries, err := r.store().Entries(r.Work, store.EntryQuery{Kind: cursorKind, Order: store.ByExpiry, Limit: store.MaxLimit})
	now := r.now()
	due = make(map[string]bool)
	for _, e := range entries {
		switch {
		case isAhead(e.CreatedAt, now), !e.ExpiresAt.Before(tooLate(now)):
			due[e.Key] = true
		case e.ExpiresAt.After(now):
			next = min(next, e.ExpiresAt.Sub(now))
		default:
			due[e.Key] = true
		}
	}
	return newest, due, next, err
}

// load reads the webhooks and their cursors if the feed has changed, because every
// change of a webhook is an event, or if what is stored is in doubt. If the feed has lost
// the newest event that this process knew, as by a failover, the stored positions went
// back with it and replace those in memory.
func (r *run) load(ctx context.Context, newest feed.Place) error {
	lost := false
	if newest != r.known {
		exists, err := r.known.Exists(r.Work, r.store())
		if err != nil {
			return err
		}
		lost = !exists
	}
	r.mu.Lock()
	if lost {
		r.losses++
	}
	doubt, busy := r.doubt || lost, make(map[string]bool)
	for id, l := range r.targets {
		busy[id] = l.busy
	}
	r.doubt = false // what fails from now on is in doubt again
	r.mu.Unlock()
	if !doubt && newest == r.known {
		return nil
	}
	var all []webhookRecord
	var stored map[string]hookCursor
	err := r.store().View(r.Work, func(reader store.Reader) (err error) {
		all, stored, err = readHooks(r.Work, reader)
		return err
	})
	if err != nil {
		r.forget()
		return err
	}
	if len(all) > 0 && !r.box().Seals() {
		r.warnOnce.Do(func() {
			r.logger.WarnContext(ctx, "licensing: webhook secrets are stored in plain text; set Options.MasterKey to encrypt them")
		})
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	targets := make(map[string]*target, len(all))
	for _, rec := range all {
		l := r.targets[rec.ID]
		if l == nil {
			l = &target{}
		}
		if l.hook = rec; !busy[rec.ID] { // else what its worker stores is newer
			if doubt || stored[rec.ID].Position < l.Position { // an operator has moved it back into the feed
				l.reached = 0
			}
			l.hookCursor = stored[rec.ID]
			l.reached = max(l.reached, l.Position)
		}
		targets[rec.ID] = l
	}
	if lost {
		r.logger.WarnContext(ctx, "licensing: the event feed does not have the newest event any more that this process knew; webhooks continue from the stored positions",
			"known_seq", r.known.Seq(), "newest_seq", newest.Seq())
	}
	for id := range busy {
		if targets[id] == nil { // deleted, so it fails no more
			r.Note(sendJob+":"+id, nil)
		}
	}
	if r.targets, r.known = targets, newest; len(targets) == 0 {
		r.rests = time.Now().Add(restWithout)
	}
	return nil
}

// forget makes the next load read everything.
func (r *run) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubt = true
}

// ready returns the targets that can be sent something, the ones with the fewest
// failures first, and how long it takes until the first breaker closes.
func (r *run) ready(newest int64, due map[string]bool) (ready []*target, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, wait := r.now(), time.Hour
	for _, l := range r.targets {
		if l.hook.Status != api.WebhookActive {
			continue
		}
		paused := l.closesIn(now)
		switch {
		case l.busy || l.reached >= newest && !due[l.hook.ID]:
		case paused > 0 && !isAhead(l.UpdatedAt, now):
			wait = min(wait, paused)
		default:
			ready = append(ready, l)
		}
	}
	slices.SortFunc(ready, func(a, b *target) int { return cmp.Compare(a.Failures, b.Failures) })
	return ready, wait
}

// startAll starts workers for targets. It reports whether a target has more events that
// it has not examined.
func (r *run) startAll(ctx context.Context, ready []*target, newest int64, due map[string]bool) (more bool, err error) {
	var windows []window
	for _, l := range ready {
		b := r.newBatch(l)
		if !due[l.hook.ID] {
			w, err := r.window(&windows, l.reached, newest)
			if err != nil {
				return false, err
			}
			if err := b.selectFrom(w); err != nil {
				return false, err
			}
			if len(b.items) == 0 && b.purged == 0 {
				r.pass(l, b.through)
				more = more || b.through < newest
				continue
			}
		}
		if !r.start(ctx, l, b) {
			break // a worker that ends rings
		}
	}
	return more, nil
}

// start starts a worker for a batch. It returns false if as many workers as may run
// are running.
func (r *run) start(ctx context.Context, l *target, b *batch) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.workers == workersMost {
		return false
	}
	l.busy = true
	r.workers++
	r.Go(func() {
		err := r.Contain(ctx, sendJob, func() error { return b.work(ctx) })
		if r.Note(sendJob+":"+b.hook.ID, err); err != nil && r.Work.Err() == nil {
			r.logger.WarnContext(ctx, "licensing: webhook delivery failed; retrying", "webhook_id", b.hook.ID, "error", err)
			r.ObserveStoreError(ctx, sendJob, err)
			feed.Pause(ctx, r.PollInterval)
		}
		r.mu.Lock()
		l.busy = false
		if b.losses != r.losses { // its position was lost meanwhile
			r.drop(b.hook.ID)
		}
		r.workers--
		r.mu.Unlock()
		r.bell.Ring()
	})
	return true
}

// drop makes the next load read a target. The caller holds mu.
func (r *run) drop(id string) {
	delete(r.targets, id)
	r.doubt = true
}

// pass moves a target past events that its webhook does not select.
func (r *run) pass(l *target, through int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.reached = through
	if r.passed.IsZero() {
		r.passed = time.Now()
	}
}

// storeReached stores the positions of the targets that have only moved past events.
func (r *run) storeReached(ctx context.Context) error {
	r.mu.Lock()
	var moved []*batch
	for _, l := range r.targets {
		if !l.busy && l.reached > l.Position {
			moved = append(moved, r.newBatch(l))
		}
	}
	r.mu.Unlock()
	for some := range slices.Chunk(moved, settleMost) {
		if err := r.storeOutcomes(ctx, some); err != nil {
			return err
		}
	}
	r.passed = time.Time{}
	return nil
}

// tooLate returns the instant from which on no delivery is due: no wait is longer. One
// that is due later was stored while a clock was ahead.
func tooLate(now time.Time) time.Time {
	return now.Add(longestWait(int64(len(schedule))) + feed.WaitFor)
}

// isAhead reports whether something was stored while a clock was ahead.
func isAhead(at, now time.Time) bool { return at.After(now.Add(feed.WaitFor)) }
