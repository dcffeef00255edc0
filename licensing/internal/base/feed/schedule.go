package feed

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A Task is work that is done again and again, one step at a time.
type Task struct {
	Name string
	Bell *Bell // wakes the task; nil: none
	Feed bool  // ring Bell when there may be new events
	Step func(ctx context.Context) (Next, error)
}

// Next says when the next step of a task begins.
type Next struct {
	After time.Duration // with some jitter, so that processes started together diverge
	Deaf  bool          // the bell does not shorten the wait
}

// In returns the Next of a step that is due after d, or when the bell rings.
func In(d time.Duration) Next { return Next{After: d} }

// A Bell wakes a task.
type Bell struct {
	rung atomic.Bool
	wake chan struct{} // of the Run
}

// NewBell returns a Bell for a task of r.
func (r *Run) NewBell() *Bell { return &Bell{wake: r.wake} }

// Ring never blocks; rings that have not been handled yet are merged.
func (b *Bell) Ring() {
	if !b.rung.Swap(true) {
		signal(b.wake)
	}
}

func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// maxPause is the longest pause of a task whose step keeps failing.
const maxPause = 30 * time.Second

// bellPause is how long a task rests after a step before the bell starts the next
// one, so that many changes in a row share a step. After a longer rest, the bell
// starts a step immediately.
const bellPause = 20 * time.Millisecond

// A job is a task and when its next step is due.
type job struct {
	Task
	mu       sync.Mutex // guards the fields below
	running  bool
	deaf     bool
	next     time.Time
	rested   time.Time // when the bell may start a step
	failures int
}

// schedule starts the steps of all jobs at their times, each in its own
// goroutine, until ctx ends.
func (r *Run) schedule(ctx context.Context, jobs []*job) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
		now := time.Now()
		first := now.Add(time.Hour)
		for _, j := range jobs {
			if next, waiting := r.startIfDue(ctx, j, now); waiting && next.Before(first) {
				first = next
			}
		}
		timer.Reset(first.Sub(now))
	}
}

// startIfDue starts the step of a job if it is due. Otherwise it returns when
// the step is due, unless it is running.
func (r *Run) startIfDue(ctx context.Context, j *job, now time.Time) (next time.Time, waiting bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.running {
		return time.Time{}, false
	}
	due := j.next
	if j.Bell != nil && !j.deaf && j.Bell.rung.Load() && j.rested.Before(due) {
		due = j.rested
	}
	if now.Before(due) {
		return due, true
	}
	if j.Bell != nil {
		j.Bell.rung.Store(false)
	}
	j.running = true
	r.wg.Go(func() { r.step(ctx, j) })
	return time.Time{}, false
}

// step does one step of a job. A failed step, also one that panicked, is logged and retried
// after a growing pause, while the other jobs continue.
func (r *Run) step(ctx context.Context, j *job) {
	began := time.Now()
	var next Next
	err := r.engine.contain(ctx, j.Name, func() (err error) {
		next, err = j.Step(ctx)
		return err
	})
	failed := err != nil && r.Work.Err() == nil
	if err == nil || failed {
		r.Note(j.Name, err)
	}
	if r.Observing() && (err == nil || failed) {
		o := Report{Kind: ObservedJob, Name: j.Name, Outcome: Succeeded, Duration: time.Since(began)}
		if failed {
			o.Outcome, o.Err = Failed, err
			r.ObserveStoreError(ctx, j.Name, err)
		}
		r.Observe(ctx, o)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if failed {
		r.engine.Logger.WarnContext(ctx, "licensing: background work failed; retrying", "job", j.Name, "error", err)
		next = Next{min(r.PollInterval<<min(j.failures, 10), maxPause), true}
		j.failures++
	} else {
		j.failures = 0
	}
	if next.After > 0 {
		next.After += rand.N(min(next.After/4, time.Second) + 1)
	}
	now := time.Now()
	j.running, j.deaf, j.next, j.rested = false, next.Deaf, now.Add(next.After), now.Add(bellPause)
	signal(r.wake)
}

// poll wakes the tasks that read the feed when the newest event has changed,
// for the events that other processes append. It is one read, however many
// tasks there are.
func (r *Run) poll() func(context.Context) (Next, error) {
	var seen Place
	first := true
	return func(context.Context) (Next, error) {
		newest, err := Newest(r.Work, r.engine.Store)
		if err == nil && (first || newest != seen) {
			seen, first = newest, false
			r.nudge()
		}
		return In(r.PollInterval), err
	}
}

// nudge wakes the tasks that read the feed.
func (r *Run) nudge() {
	for _, b := range r.bells {
		b.Ring()
	}
}

// Pause waits until d has passed or ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
