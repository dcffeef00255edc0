package licensing

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// watched wraps next with a check of the backlog after the response.
func (h *Handler) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		h.watch.look(w, r, h)
	})
}

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
func (w *watch) look(rw http.ResponseWriter, r *http.Request, h *Handler) {
	if rw.Header().Get("Content-Length") == "" || !w.due(h.opts.Now()) {
		return
	}
	_ = http.NewResponseController(rw).Flush() // if rw cannot flush, the client waits
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), watchTimeout)
	defer cancel()
	b, err := h.engine.Backlog(ctx)
	if err != nil || b.Running && !b.Waiting {
		return // store failures are logged elsewhere
	}
	h.opts.Logger.WarnContext(ctx, "licensing: events, deliveries or expiry notices are overdue; check that Handler.Run is running")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = true
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
