package delivery

import (
	"context"
	"math/rand/v2"
	"time"
)

// A bell wakes a loop.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

// ring never waits: a bell that has not been heard yet need not ring twice.
func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// maxPause is the longest a loop pauses when its step fails again and again.
const maxPause = 30 * time.Second

// loop starts a goroutine that calls step until ctx ends: again after as long
// as it says, give or take some, so that processes started together part; and
// sooner if the bell rings, unless it asked for longer than usual. A step that
// fails is logged, and tried again after a pause that grows.
func (r *run) loop(ctx context.Context, b bell, usual time.Duration, step func() (wait time.Duration, err error)) {
	r.wg.Go(func() {
		for failures := 0; ctx.Err() == nil; {
			wait, err := step()
			wake := b
			if err != nil && r.work.Err() == nil {
				r.Logger.WarnContext(ctx, "licensing: background work failed; it is tried again", "error", err)
				wait = min(max(usual, wait)<<min(failures, 5), max(maxPause, usual))
				failures++
			} else {
				failures = 0
			}
			if wait > usual || failures > 0 {
				wake = nil
			}
			if wait > 0 {
				pause(ctx, wake, wait+rand.N(wait/4+1))
			}
		}
	})
}

// pause waits until d has passed, the bell rings, or ctx ends.
func pause(ctx context.Context, wake bell, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}
