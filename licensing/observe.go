package licensing

import (
	"context"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
)

// observe is told of each request that was answered, by the API and by the
// pages.
func (h *Handler) observe(ctx context.Context, seen web.Observation) {
	h.watch.look(ctx, h)
	if h.opts.Observe != nil {
		h.opts.Observe(ctx, Observation(seen))
	}
}

// A watch tells the log, once, if events wait and nothing runs that delivers
// them. It looks now and then, when a request comes by.
type watch struct {
	mu   sync.Mutex
	next time.Time // zero: nobody has come by yet
	told bool
}

const (
	watchEvery   = time.Minute
	watchTimeout = time.Second
)

func (w *watch) look(ctx context.Context, h *Handler) {
	if !w.due(h.opts.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchTimeout)
	defer cancel()
	b, err := h.service.Backlog(ctx)
	if err != nil || b.Running || !b.Waiting && len(h.opts.Subscribers) == 0 {
		return // a store that does not answer is in the log without this
	}
	h.opts.Logger.WarnContext(ctx, "licensing: events wait to be delivered, and nothing runs Handler.Run; start it beside the server")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = true
}

// due reports whether it is time to look. The first time is a while after the
// first request, so that Run has had time to begin.
func (w *watch) due(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told || now.Before(w.next) {
		return false
	}
	first := w.next.IsZero()
	w.next = now.Add(watchEvery)
	return !first
}
