package licensing

import (
	"context"
	"math/rand/v2"
	"time"
)

// upkeepEvery is how often Run looks for what has ended.
const upkeepEvery = time.Minute

// Run does what no request does: it removes expired tokens and sessions and
// the kept answers of Idempotency-Keys, a small batch at a time, until ctx
// ends, and then returns nil. A failure of the store is logged, and tried
// again with the next round. Any number of processes may run it on one store,
// and no answer depends on it.
func (h *Handler) Run(ctx context.Context) error {
	for {
		h.upkeep(ctx)
		// Some jitter, so that processes started together part.
		wait := time.NewTimer(upkeepEvery + rand.N(upkeepEvery/4))
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
	}
}

// upkeep removes all that has ended by now.
func (h *Handler) upkeep(ctx context.Context) {
	for _, purge := range []func(context.Context) (bool, error){h.auth.Purge, h.service.Purge} {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = purge(ctx); err != nil && ctx.Err() == nil {
				h.opts.Logger.WarnContext(ctx, "licensing: upkeep failed", "error", err)
				more = false
			}
		}
	}
}
