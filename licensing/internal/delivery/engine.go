package delivery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Config configures an [Engine]. Store, Licenses, Now and Logger are required.
type Config struct {
	Store       store.Store
	Licenses    *license.Service
	Now         func() time.Time
	Logger      *slog.Logger
	Subscribers []Subscriber
	Poll        time.Duration // how often to check for work; default: one second

	Webhooks license.WebhookOptions

	// Upkeep functions are called every minute until each reports that
	// nothing is left.
	Upkeep []func(context.Context) (more bool, err error)

	// Limit returns the products that an actor may currently see, nil for
	// all, and false if it may see none. Default: every actor sees all.
	Limit func(ctx context.Context, actor string) (products []string, ok bool, err error)

	// Sealed reports that webhook secrets are encrypted.
	Sealed bool
}

// The intervals and time limits of background work.
const (
	defaultPoll  = time.Second
	beatEvery    = 20 * time.Second // interval of heartbeats
	noticesEvery = 20 * time.Second
	indexEvery   = 20 * time.Second
	indexDelay   = 500 * time.Millisecond // to index the events of this time together
	upkeepEvery  = time.Minute
	drainFor     = 20 * time.Second // time to finish when Run stops
)

// An Engine delivers events. It is safe for concurrent use.
type Engine struct {
	Config
	sender   *sender
	warnOnce sync.Once // about plain-text secrets

	mu   sync.Mutex
	runs map[*run]struct{}
}

// New returns an Engine. It does no I/O and starts no goroutines.
func New(c Config) *Engine {
	if c.Poll <= 0 {
		c.Poll = defaultPoll
	}
	return &Engine{Config: c, sender: newSender(c), runs: make(map[*run]struct{})}
}

// A run is one call of Run.
type run struct {
	*Engine
	work context.Context // ends up to drainFor after the context of Run
	wg   sync.WaitGroup

	handOnBell, dispatchBell, indexBell bell
	subscriberBells                     []bell

	begins map[string]int64 // for handOn: results of creation by webhook ID

	mu    sync.Mutex
	lanes map[string]*lane // by webhook ID
}

// Run delivers events until ctx ends, finishes the work in progress, and returns
// nil. It may be called again, and concurrently.
func (e *Engine) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainFor, stop) })()
	r := &run{Engine: e, work: work, handOnBell: newBell(), dispatchBell: newBell(), indexBell: newBell(), lanes: make(map[string]*lane)}

	r.loop(ctx, nil, beatEvery, r.beat)
	r.loop(ctx, r.handOnBell, e.Poll, r.handOn)
	r.loop(ctx, r.dispatchBell, e.Poll, func() (time.Duration, error) { return e.Poll, r.dispatch(ctx) })
	r.loop(ctx, nil, noticesEvery, r.notices)
	r.loop(ctx, r.indexBell, indexEvery, func() (time.Duration, error) { return r.index(ctx) })
	r.loop(ctx, nil, upkeepEvery, func() (time.Duration, error) { return upkeepEvery, r.upkeep(ctx) })
	for _, s := range e.Subscribers {
		b := newBell()
		r.subscriberBells = append(r.subscriberBells, b)
		sub := &subscription{run: r, Subscriber: s, holder: newHolder()}
		r.loop(ctx, b, e.Poll, func() (time.Duration, error) { return sub.step(ctx) })
	}

	e.mu.Lock()
	e.runs[r] = struct{}{}
	e.mu.Unlock()
	<-ctx.Done()
	e.mu.Lock()
	delete(e.runs, r)
	e.mu.Unlock()
	r.wg.Wait()
	e.sender.closeIdle()
	return nil
}

// Nudge wakes the engine because there may be new events.
func (e *Engine) Nudge() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.runs {
		r.nudge()
	}
}

func (r *run) nudge() {
	r.handOnBell.ring()
	r.indexBell.ring()
	for _, b := range r.subscriberBells {
		b.ring()
	}
}

// beat records that Run is running.
func (r *run) beat() (time.Duration, error) {
	return beatEvery, r.Licenses.MarkRunning(r.work)
}

// notices appends the expiry notices that are due.
func (r *run) notices() (time.Duration, error) {
	more, err := r.Licenses.GiveNotices(r.work)
	if more {
		return 0, err
	}
	return noticesEvery, err
}

// index keeps the indexes near the end of the feed, so that requests rarely have
// to catch up.
func (r *run) index(ctx context.Context) (time.Duration, error) {
	pause(ctx, nil, indexDelay)
	if err := r.Licenses.Index(ctx); ctx.Err() == nil {
		return indexEvery, err
	}
	return indexEvery, nil
}

// upkeep removes expired records.
func (r *run) upkeep(ctx context.Context) error {
	if err := r.touchCursors(); err != nil {
		return err
	}
	var all error
	for _, purge := range slices.Concat(r.Upkeep, []func(context.Context) (bool, error){r.Licenses.PurgeHistory}) {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = purge(r.work); err != nil {
				all, more = errors.Join(all, err), false
			}
		}
	}
	return all
}
