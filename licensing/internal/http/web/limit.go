package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A Limiter counts one request for key. If it exceeds the limit, a Limiter
// returns false and how long to wait before the next. It is nil without a limit.
type Limiter func(ctx context.Context, key string) (wait time.Duration, ok bool)

// Limiters limit the request rates of callers.
type Limiters struct{ Clients, Addresses, Keys Limiter }

// A Rate is an in-memory [Limiter] with a sustained rate and a burst (generic
// cell rate algorithm). It stores one time per caller and drops callers that
// have been idle for long. It is safe for concurrent use.
type Rate struct {
	now      func() time.Time
	interval time.Duration // between two requests at the sustained rate
	slack    time.Duration // how far ahead of the rate a burst may be

	mu     sync.Mutex
	recent map[string]time.Time // when each caller's next request is due by the interval
	older  map[string]time.Time // previous generation; an active caller moves to recent
}

// maxCallers is how many callers a Rate keeps in each of its two generations.
const maxCallers = 20_000

// NewRate returns a Rate. Both numbers are at least 1.
func NewRate(perSecond, burst int, now func() time.Time) *Rate {
	interval := time.Second / time.Duration(perSecond)
	return &Rate{
		now: now, interval: interval, slack: interval * time.Duration(burst-1),
		recent: make(map[string]time.Time),
	}
}

// Allow is a [Limiter].
func (l *Rate) Allow(_ context.Context, key string) (wait time.Duration, ok bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	due, known := l.recent[key]
	if !known {
		due = l.older[key]
	}
	ahead := due.Sub(now)
	if ahead < 0 || ahead > l.slack+l.interval { // idle for long, or the clock was set back
		ahead = 0
	}
	if ahead > l.slack {
		return ahead - l.slack, false
	}
	if !known && len(l.recent) >= maxCallers {
		l.older, l.recent = l.recent, make(map[string]time.Time)
	}
	l.recent[key] = now.Add(ahead + l.interval)
	return 0, true
}

// ClientKey returns the Limiter key of a client.
func ClientKey(clientID string) string { return "client:" + clientID }

// limit counts one request for the client or, without a client, for the
// address.
func (s *Site) limit(r *http.Request, client string) error {
	limiter, key := s.cfg.Limiters.Clients, ClientKey(client)
	if client == "" {
		limiter, key = s.cfg.Limiters.Addresses, s.addressKey(r)
	}
	if limiter == nil || key == "" {
		return nil
	}
	return takeFrom(r, limiter, key)
}

// limitKey counts one request for a license key, whether or not a license has
// it. The Limiter receives a digest, never the key.
func limitKey(r *http.Request, typed string) error {
	limiter := exchangeOf(r.Context()).site.cfg.Limiters.Keys
	if limiter == nil || typed == "" {
		return nil
	}
	if key, ok := license.ParseKey(typed); ok {
		typed = key
	}
	digest := sha256.Sum256([]byte(typed))
	return takeFrom(r, limiter, "key:"+hex.EncodeToString(digest[:16]))
}

// takeFrom counts one request and returns a problem if it exceeds the limit.
func takeFrom(r *http.Request, limiter Limiter, key string) error {
	wait, ok := limiter(r.Context(), key)
	if ok {
		return nil
	}
	return NewProblem(http.StatusTooManyRequests, "rate_limited",
		"Too many requests. Retry after the time in Retry-After.").WithHeader("Retry-After", retryAfter(wait))
}

// addressKey returns the Limiter key of the address of r; for IPv6, of its /64
// network, which usually belongs to one caller. It is empty if the address is
// unknown. Without Config.ClientIP, a private or loopback peer is assumed to be
// a proxy, whose clients must not share one limit.
func (s *Site) addressKey(r *http.Request) string {
	ip := s.clientAddress(r)
	proxy := s.cfg.ClientIP == nil && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast())
	switch {
	case !ip.IsValid() || proxy:
		return ""
	case ip.Is6():
		network, _ := ip.Prefix(64)
		return "address:" + network.String()
	}
	return "address:" + ip.String()
}

// retryAfter formats a wait for Retry-After: whole seconds, rounded up, with
// random extra time so that clients do not all retry in the same second.
func retryAfter(wait time.Duration) string {
	seconds := max(1, int64(math.Ceil(wait.Seconds())))
	return strconv.FormatInt(seconds+rand.Int64N(seconds/4+2), 10)
}
