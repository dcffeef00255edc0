package feed

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Bell wakes a task.
type Bell chan struct{}

// NewBell returns a Bell.
func NewBell() Bell { return make(Bell, 1) }

// Ring never blocks; rings that have not been handled yet are merged.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// maxPause is the longest pause of a loop whose step keeps failing.
const maxPause = 30 * time.Second

// loop starts a goroutine that does a task until ctx ends. It waits as long as
// the step asks, with some jitter so that processes started together diverge.
// The bell shortens the wait unless the step asked for longer than usual. A
// failed step is logged and retried after a growing pause.
func (r *Run) loop(ctx context.Context, t Task) {
	if t.Feed {
		r.bells = append(r.bells, t.Bell)
	}
	r.wg.Go(func() {
		for failures := 0; ctx.Err() == nil; {
			wait, err := t.Step(ctx)
			wake := t.Bell
			if err != nil && r.Work.Err() == nil {
				r.engine.Logger.WarnContext(ctx, "licensing: background work failed; retrying", "error", err)
				wait = min(max(t.Usual, wait)<<min(failures, 5), max(maxPause, t.Usual))
				failures++
			} else {
				failures = 0
			}
			if wait > t.Usual || failures > 0 {
				wake = nil
			}
			if wait > 0 {
				Pause(ctx, wake, wait+rand.N(wait/4+1))
			}
		}
	})
}

// Pause waits until d has passed, the bell rings, or ctx ends.
func Pause(ctx context.Context, wake Bell, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}
