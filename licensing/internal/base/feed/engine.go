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

	// Observe is called when background work has ended; nil: not.
	Observe func(context.Context, Report)

	Background []Background

	// Upkeep functions are called every five minutes until each reports that
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

	// Ahead returns the consumers of the package whose stored position is above
	// newest, the Seq of the newest event.
	Ahead func(ctx context.Context, r store.Reader, newest int64) ([]Ahead, error)

	// Running reports whether the work of the package that follows the clock
	// is done.
	Running func(ctx context.Context, r store.Reader) (bool, error)

	// Drain is called at the end of each call of Run, with its Work context.
	Drain func(ctx context.Context)
}

// The intervals and time limits of background work.
const (
	defaultPoll = time.Second
	upkeepEvery = 5 * time.Minute
	drainFor    = 20 * time.Second // time to finish when Run stops
)

// An Engine does the background work of a handler. It is safe for concurrent
// use.
type Engine struct {
	Config

	mu      sync.Mutex
	runs    map[*Run]struct{}
	failing map[string]FailingJob
}

// New returns an Engine. It does no I/O and starts no goroutines.
func New(c Config) *Engine {
	if c.PollInterval <= 0 {
		c.PollInterval = defaultPoll
	}
	retention := Retention{Store: c.Store, Now: c.Now, Keep: c.Retention, Subscribers: c.Subscribers}
	c.Upkeep = slices.Clone(c.Upkeep)
	for _, b := range c.Background {
		c.Upkeep = append(c.Upkeep, b.Upkeep...)
		if b.Needs != nil {
			retention.Needs = append(retention.Needs, b.Needs)
		}
	}
	e := &Engine{Config: c, runs: make(map[*Run]struct{}), failing: make(map[string]FailingJob)}
	e.Upkeep = append(c.Upkeep, e.purgeLetters, retention.Purge) // letters keep events
	return e
}

// now returns the current time as stored in records.
func (e *Engine) now() time.Time { return stored(e.Now()) }

// stored returns t as stores represent it.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// A Run is one call of [Engine.Run].
type Run struct {
	Work         context.Context // ends up to 20 seconds after the context of Run
	PollInterval time.Duration

	engine *Engine
	wg     sync.WaitGroup
	wake   chan struct{} // wakes the scheduler
	bells  []*Bell       // of tasks that read the feed
	ends   []func()      // called at the end
}

// Go runs f in a goroutine that Run waits for. What f does is to be contained.
func (r *Run) Go(f func()) { r.wg.Go(f) }

// Contain is [Contain] with the logger of the engine.
func (r *Run) Contain(ctx context.Context, work string, f func() error) error {
	return r.engine.contain(ctx, work, f)
}

func (e *Engine) contain(ctx context.Context, work string, f func() error) error {
	return Contain(ctx, e.Logger, work, f)
}

// Run does the background work until ctx ends, finishes the work in progress,
// and returns nil. It may be called again, and concurrently.
func (e *Engine) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainFor, stop) })()
	r := &Run{Work: work, PollInterval: e.PollInterval, engine: e, wake: make(chan struct{}, 1)}

	tasks := []Task{{Name: "poll_events", Step: r.poll()}, {Name: "purge", Step: r.upkeep}}
	for _, b := range e.Background {
		if b.Tasks != nil {
			tasks = append(tasks, b.Tasks(r)...)
		}
	}
	for _, s := range e.Subscribers {
		sub := &subscription{Run: r, Subscriber: s, lease: r.NewLease(subscriberCursor + s.Name)}
		tasks = append(tasks, Task{Name: sub.key(), Bell: r.NewBell(), Feed: true, Step: sub.step})
	}
	var jobs []*job
	for _, t := range tasks {
		if t.Feed {
			r.bells = append(r.bells, t.Bell)
		}
		jobs = append(jobs, &job{Task: t})
	}

	e.mu.Lock()
	e.runs[r] = struct{}{}
	e.mu.Unlock()
	r.schedule(ctx, jobs)
	e.mu.Lock()
	delete(e.runs, r)
	e.mu.Unlock()
	r.wg.Wait()
	e.forget()
	ends := r.ends
	for _, b := range e.Background {
		if b.Drain != nil {
			ends = append(ends, func() { b.Drain(work) })
		}
	}
	for _, end := range ends {
		_ = e.contain(work, "drain", func() error { end(); return nil }) // logged
	}
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

// Wake wakes the engine when the Update of tx has committed, as it does if that
// appends an event: work is due that no event announces.
func Wake(tx store.Tx) {
	if t, ok := tx.(interface{ Wake() }); ok {
		t.Wake()
	}
}

// upkeep removes expired records.
func (r *Run) upkeep(ctx context.Context) (Next, error) {
	var all error
	for _, purge := range r.engine.Upkeep {
		for more := true; more && ctx.Err() == nil; {
			err := r.engine.contain(ctx, "purge", func() (err error) {
				more, err = purge(r.Work)
				return err
			})
			if err != nil { // the others continue
				all, more = errors.Join(all, err), more && errors.Is(err, ErrPostponed)
			}
		}
	}
	return In(upkeepEvery), all
}
