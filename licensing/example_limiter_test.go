package licensing_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A sharedLimiter allows each caller a number of requests a second, counted
// for all processes together.
type sharedLimiter struct {
	counters  interface{ Increment(key string) (int, error) } // INCR and EXPIRE in Redis, for example
	perSecond int
	now       func() time.Time
}

// Allow counts a request of the caller key in the current second. Without its
// counters it lets all requests pass.
func (l sharedLimiter) Allow(_ context.Context, key string) (wait time.Duration, ok bool) {
	now := l.now()
	second := now.Truncate(time.Second)
	n, err := l.counters.Increment(fmt.Sprintf("%s@%d", key, second.Unix()))
	if err == nil && n > l.perSecond {
		return second.Add(time.Second).Sub(now), false
	}
	return 0, true
}

// counters count in memory.
type counters struct {
	mu    sync.Mutex
	count map[string]int
}

func (c *counters) Increment(key string) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[key]++
	return c.count[key], nil
}

// Two processes share their limits.
func ExampleLimiter() {
	noon := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	st := memory.New()
	opts := licensing.Options{
		Now:     noon,
		Logger:  slog.New(slog.DiscardHandler),
		Limiter: sharedLimiter{counters: &counters{count: make(map[string]int)}, perSecond: 2, now: noon},
	}
	one, other := licensing.NewHandler(st, opts), licensing.NewHandler(st, opts)

	for _, h := range []*licensing.Handler{one, other, one} {
		r := httptest.NewRequest("POST", "/license/validate", strings.NewReader(`{"key":"none"}`))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = "203.0.113.7:999"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code, "with Retry-After:", w.Header().Get("Retry-After") != "")
	}
	// Output:
	// 200 with Retry-After: false
	// 200 with Retry-After: false
	// 429 with Retry-After: true
}
