package feed

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Config configures an [Engine]. Store, Now and Logger are required.
type Config struct {
	Store        store.Store
	Now          func() time.Time
	Logger       *slog.Logger
	Subscribers  []Subscriber
	PollInterval time.Duration // how often to check for work; default: one second
	Retention    time.Duration // how long events are kept; zero: forever

	Background []Background

	// Upkeep functions are called every minute until each reports that
	// nothing is left.
	Upkeep []func(context.Context) (more bool, err error)
}

// A Background is the background work of a package. Every field may be nil.
type Background struct {
	Tasks  func(*Run) []Task // for one call of Run
	Upkeep []func(context.Context) (more bool, err error)

	Needs Needs // of consumers that keep more than a cursor

	// Lag reports whether work of the package is overdue and, if it is due at
	// a known time, since when.
	Lag func(ctx context.Context, r store.Reader) (waiting bool, since *time.Time, err error)

	// ClockBack is called when a clock that was ahead has been corrected.
	ClockBack func(context.Context) error

	Stopped func() // called at the end of each call of Run
}

// A Task is work that is done again and again.
type Task struct {
	Bell  Bell          // wakes the task; nil: none
	Feed  bool          // ring Bell when there may be new events
	Usual time.Duration // the usual wait between steps; a longer one is not shortened by Bell
	Step  func(ctx context.Context) (wait time.Duration, err error)
}

// The intervals and time limits of background work.
const (
	defaultPoll = time.Second
	beatEvery   = 20 * time.Second // interval of heartbeats
	upkeepEvery = time.Minute
	drainFor    = 20 * time.Second // time to finish when Run stops
)

// An Engine does the background work of a handler. It is safe for concurrent
// use.
type Engine struct {
	Config

	mu   sync.Mutex
	runs map[*Run]struct{}
}

// New returns an Engine. It does no I/O and starts no goroutines.
func New(c Config) *Engine {
	if c.PollInterval <= 0 {
		c.PollInterval = defaultPoll
	}
	retention := Retention{Store: c.Store, Now: c.Now, Keep: c.Retention}
	c.Upkeep = slices.Clone(c.Upkeep)
	for _, b := range c.Background {
		c.Upkeep = append(c.Upkeep, b.Upkeep...)
		if b.Needs != nil {
			retention.Needs = append(retention.Needs, b.Needs)
		}
	}
	c.Upkeep = append(c.Upkeep, retention.Purge)
	return &Engine{Config: c, runs: make(map[*Run]struct{})}
}

// now returns the current time as stored in records.
func (e *Engine) now() time.Time { return stored(e.Now()) }

// A Run is one call of [Engine.Run].
type Run struct {
	Work         context.Context // ends up to 20 seconds after the context of Run
	PollInterval time.Duration

	engine *Engine
	wg     sync.WaitGroup
	bells  []Bell // of tasks that read the feed
}

// Go runs f in a goroutine that Run waits for.
func (r *Run) Go(f func()) { r.wg.Go(f) }

// Run does the background work until ctx ends, finishes the work in progress,
// and returns nil. It may be called again, and concurrently.
func (e *Engine) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainFor, stop) })()
	r := &Run{Work: work, PollInterval: e.PollInterval, engine: e}

	r.loop(ctx, Task{Usual: beatEvery, Step: func(context.Context) (time.Duration, error) { return beatEvery, e.beat(work) }})
	r.loop(ctx, Task{Usual: upkeepEvery, Step: func(ctx context.Context) (time.Duration, error) { return upkeepEvery, r.upkeep(ctx) }})
	for _, b := range e.Background {
		if b.Tasks == nil {
			continue
		}
		for _, t := range b.Tasks(r) {
			r.loop(ctx, t)
		}
	}
	for _, s := range e.Subscribers {
		sub := &subscription{Run: r, Subscriber: s, holder: newHolder()}
		r.loop(ctx, Task{Bell: NewBell(), Feed: true, Usual: e.PollInterval, Step: sub.step})
	}

	e.mu.Lock()
	e.runs[r] = struct{}{}
	e.mu.Unlock()
	<-ctx.Done()
	e.mu.Lock()
	delete(e.runs, r)
	e.mu.Unlock()
	r.wg.Wait()
	for _, b := range e.Background {
		if b.Stopped != nil {
			b.Stopped()
		}
	}
	return nil
}

// Nudge wakes the engine because there may be new events.
func (e *Engine) Nudge() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.runs {
		for _, b := range r.bells {
			b.Ring()
		}
	}
}

// upkeep removes expired records.
func (r *Run) upkeep(ctx context.Context) error {
	if err := r.touchCursors(); err != nil {
		return err
	}
	var all error
	for _, purge := range r.engine.Upkeep {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = purge(r.Work); err != nil {
				all, more = errors.Join(all, err), false
			}
		}
	}
	return all
}
