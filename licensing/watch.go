package licensing

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// A watch logs, once, that the work of Handler.Run is overdue.
// It checks periodically, after a request.
type watch struct {
	mu   sync.Mutex
	next time.Time // zero: no request yet
	told bool
}

const (
	watchEvery   = time.Minute
	watchTimeout = 250 * time.Millisecond
)

// look reads the store if a check is due. The client does not wait for it: the
// response is flushed first, which completes it if its length is known. (On
// HTTP/2 the stream stays open until look returns.) After other responses, the
// check waits for the next request.
func (h *Handler) look(w http.ResponseWriter, r *http.Request) {
	if w.Header().Get("Content-Length") == "" || !h.watch.due(h.opts.Now()) {
		return
	}
	_ = http.NewResponseController(w).Flush() // if w cannot flush, the client waits
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), watchTimeout)
	defer cancel()
	b, err := h.engine.Backlog(ctx)
	if err != nil || b.Running && !b.Waiting {
		return // store failures are logged elsewhere
	}
	h.opts.Logger.WarnContext(ctx, "licensing: events, deliveries or expiry notices are overdue; check that Handler.Run is running")
	h.watch.mu.Lock()
	defer h.watch.mu.Unlock()
	h.watch.told = true
}

// due reports whether a check is due. The first is some time after the first
// request, so that Run has time to start.
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
