package delivery

import (
	"context"
	"math/rand/v2"
	"time"
)

// A bell wakes a loop.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

// ring never blocks; rings that have not been handled yet are merged.
func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// maxPause is the longest pause of a loop whose step keeps failing.
const maxPause = 30 * time.Second

// loop starts a goroutine that calls step until ctx ends. It waits as long as
// step asks, with some jitter so that processes started together diverge. The
// bell shortens the wait unless step asked for longer than usual. A failed step
// is logged and retried after a growing pause.
func (r *run) loop(ctx context.Context, b bell, usual time.Duration, step func() (wait time.Duration, err error)) {
	r.wg.Go(func() {
		for failures := 0; ctx.Err() == nil; {
			wait, err := step()
			wake := b
			if err != nil && r.work.Err() == nil {
				r.Logger.WarnContext(ctx, "licensing: background work failed; retrying", "error", err)
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
