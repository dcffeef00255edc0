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

// Config is what an [Engine] works with. Store, Licenses, Now and Logger are
// required.
type Config struct {
	Store       store.Store
	Licenses    *license.Service
	Now         func() time.Time
	Logger      *slog.Logger
	Subscribers []Subscriber
	Poll        time.Duration // how often to look for work; default a second

	Webhooks license.WebhookOptions

	// Upkeep is called every minute, until each reports that there is no
	// more.
	Upkeep []func(context.Context) (more bool, err error)

	// Limit returns the products that an actor may see now, nil meaning all,
	// and false if it may see nothing. Default: every actor sees all.
	Limit func(ctx context.Context, actor string) (products []string, ok bool, err error)

	// Sealed says that the secrets of webhooks are.
	Sealed bool
}

// How often things are looked after, and how long they may take.
const (
	defaultPoll  = time.Second
	beatEvery    = 20 * time.Second // a sign of life
	noticesEvery = 20 * time.Second
	upkeepEvery  = time.Minute
	drainFor     = 20 * time.Second // for what is under way when Run is to end
)

// An Engine brings events out. It is safe for concurrent use.
type Engine struct {
	Config
	sender   *sender
	warnOnce sync.Once // about secrets in clear

	mu   sync.Mutex
	runs map[*run]struct{}
}

// New returns an Engine. It does no I/O and starts no goroutine.
func New(c Config) *Engine {
	if c.Poll <= 0 {
		c.Poll = defaultPoll
	}
	return &Engine{Config: c, sender: newSender(c), runs: make(map[*run]struct{})}
}

// A run is one call of Run.
type run struct {
	*Engine
	work context.Context // goes on for a while after that of Run has ended
	wg   sync.WaitGroup

	handOnBell, dispatchBell bell
	subscriberBells          []bell

	begins map[string]int64 // of handOn: what creation returned, by the webhook's id

	mu    sync.Mutex
	lanes map[string]*lane // by the webhook's id
}

// Run works until ctx ends and what is under way is done, and returns nil. It
// may be called again, and more than once at a time.
func (e *Engine) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainFor, stop) })()
	r := &run{Engine: e, work: work, handOnBell: newBell(), dispatchBell: newBell(), lanes: make(map[string]*lane)}

	r.loop(ctx, nil, beatEvery, r.beat)
	r.loop(ctx, r.handOnBell, e.Poll, r.handOn)
	r.loop(ctx, r.dispatchBell, e.Poll, func() (time.Duration, error) { return e.Poll, r.dispatch(ctx) })
	r.loop(ctx, nil, noticesEvery, r.notices)
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

// Nudge says that there may be new events, so that they need not wait for the
// next look.
func (e *Engine) Nudge() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.runs {
		r.nudge()
	}
}

func (r *run) nudge() {
	r.handOnBell.ring()
	for _, b := range r.subscriberBells {
		b.ring()
	}
}

// beat gives a sign of life.
func (r *run) beat() (time.Duration, error) {
	return beatEvery, r.Licenses.MarkRunning(r.work)
}

// notices gives the notices of expiry that are due.
func (r *run) notices() (time.Duration, error) {
	more, err := r.Licenses.GiveNotices(r.work)
	if more {
		return 0, err
	}
	return noticesEvery, err
}

// upkeep removes all that has ended by now.
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
