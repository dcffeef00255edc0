package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Limits bound what one caller or one request may use; see
// licensing.LimitOptions. Every field is set.
type Limits struct {
	ClientRate  int
	AddressRate int
	KeyRate     int
	MaxBody     int64
	MaxImport   int64
	BodyTimeout time.Duration
	Timeout     time.Duration
}

// Limiters count the requests of callers; nil: no limit.
type Limiters struct{ Clients, Addresses, Keys Limiter }

// NewLimiters returns limiters for the rates of l, or own for all three, if it
// is not nil.
func NewLimiters(l Limits, own Limiter, now func() time.Time) Limiters {
	if own != nil {
		return Limiters{own, own, own}
	}
	limiter := func(rate int) Limiter {
		if rate < 0 {
			return nil
		}
		return NewRate(rate, 2*rate, now)
	}
	return Limiters{limiter(l.ClientRate), limiter(l.AddressRate), limiter(l.KeyRate)}
}

// A Limiter decides whether a caller may send a request. Allow counts one
// request of the caller that key stands for; if that is one too many it returns
// false, and how long to wait before the next.
type Limiter interface {
	Allow(ctx context.Context, key string) (wait time.Duration, ok bool)
}

// A Rate is a [Limiter] in the memory of one process: so many requests a
// second in the long run, and a burst of so many at once. It keeps one instant
// a caller (the generic cell rate algorithm) and forgets those who have long
// been quiet.
type Rate struct {
	now      func() time.Time
	interval time.Duration // between two requests in the long run
	slack    time.Duration // how far ahead of that a burst may run

	mu     sync.Mutex
	recent map[string]time.Time // when each caller's next request is due by the interval
	older  map[string]time.Time // the generation before; a caller moves on when it comes back
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

// Allow implements [Limiter].
func (l *Rate) Allow(_ context.Context, key string) (wait time.Duration, ok bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	due, known := l.recent[key]
	if !known {
		due = l.older[key]
	}
	ahead := due.Sub(now)
	if ahead < 0 || ahead > l.slack+l.interval { // quiet for long, or the clock was turned back
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

// ClientKey names a client for a Limiter.
func ClientKey(clientID string) string { return "client:" + clientID }

// limit takes one request from the budget of the client, or of the address
// where there is no client.
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

// limitKey takes one request from the budget of the license key that somebody
// typed. Whether any license has the key makes no difference, and a Limiter is
// shown its digest, never the key.
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

// takeFrom counts one request, and is the answer if it is one too many.
func takeFrom(r *http.Request, limiter Limiter, key string) error {
	wait, ok := limiter.Allow(r.Context(), key)
	if ok {
		return nil
	}
	return &Problem{
		Status: http.StatusTooManyRequests, Code: "rate_limited",
		Detail: "Too many requests. Wait as long as Retry-After says.",
		Header: http.Header{"Retry-After": {retryAfter(wait)}},
	}
}

// addressKey names the address of r for a Limiter: for IPv6 the network of 64
// bits, which one caller has for itself. It is empty if the address is not
// known. Without Config.ClientIP, a private or loopback peer is taken for a
// proxy, whose callers must not pay for each other.
func (s *Site) addressKey(r *http.Request) string {
	var ip netip.Addr
	if s.cfg.ClientIP != nil {
		ip = s.cfg.ClientIP(r).Unmap()
	} else {
		peer, _ := netip.ParseAddrPort(r.RemoteAddr)
		ip = peer.Addr().Unmap()
		if ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			return ""
		}
	}
	switch {
	case !ip.IsValid():
		return ""
	case ip.Is6():
		network, _ := ip.WithZone("").Prefix(64)
		return "address:" + network.String()
	}
	return "address:" + ip.String()
}

// retryAfter writes a wait as Retry-After does: in whole seconds, rounded up,
// and a little longer for some, so that those who wait do not all come back
// in the same second.
func retryAfter(wait time.Duration) string {
	seconds := max(1, int64(math.Ceil(wait.Seconds())))
	return strconv.FormatInt(seconds+rand.Int64N(seconds/4+2), 10)
}
