package licensing

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
)

// observe is told of each request that was answered, by the API and by the
// pages.
func (h *Handler) observe(ctx context.Context, seen web.Observation) {
	if h.opts.Observe != nil {
		h.opts.Observe(ctx, Observation(seen))
	}
}

// watched returns next with the watch, which looks after the answer.
func (h *Handler) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		h.watch.look(w, r, h)
	})
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
	watchTimeout = 250 * time.Millisecond
)

// look reads the store if it is time to. The caller does not wait for that:
// the answer is flushed first, which completes it if its length is known. (On
// HTTP/2 the stream stays open until look returns.) Other answers are left to
// the next request.
func (w *watch) look(rw http.ResponseWriter, r *http.Request, h *Handler) {
	if rw.Header().Get("Content-Length") == "" || !w.due(h.opts.Now()) {
		return
	}
	_ = http.NewResponseController(rw).Flush() // fails if rw cannot; then the caller waits
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), watchTimeout)
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
