// Package rate limits how often callers may do something: send requests, or fail
// to authenticate.
package rate

import (
	"hash/maphash"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// A Limiter counts calls by key, in memory, with a sustained rate and a burst
// (generic cell rate algorithm). It is safe for concurrent use.
//
// Each key has a point in time up to which its calls are paid for. A call moves
// that point forward by one interval, and the key is over its limit while the point
// is too far ahead. Dropping a key is always safe: nothing that is secret can be
// guessed at any rate, so a Limiter only protects the server from work.
type Limiter struct {
	interval time.Duration // the price of one call
	reach    time.Duration // how far ahead the point of a key may be

	mu   sync.Mutex
	seed maphash.Seed
	paid map[uint64]time.Time // by a hash that callers cannot predict
}

// maxKeys limits the number of keys, to about 2 MB of memory.
const maxKeys = 40_000

// New returns a Limiter that allows each key n calls per period, and at most burst
// calls in immediate succession.
func New(n int, period time.Duration, burst int) *Limiter {
	interval := period / time.Duration(n)
	return &Limiter{
		interval: interval,
		reach:    interval * time.Duration(burst),
		seed:     maphash.MakeSeed(),
		paid:     map[uint64]time.Time{},
	}
}

// Take counts a call and returns zero. If the key is over its limit, Take returns
// how long the caller must wait instead and does not count the call.
func (l *Limiter) Take(key string, now time.Time) (wait time.Duration) {
	hash := maphash.String(l.seed, key)
	l.mu.Lock()
	defer l.mu.Unlock()
	paid := l.paid[hash]
	if paid.Before(now) || paid.After(now.Add(l.reach)) { // the latter: the clock was set back
		paid = now
	}
	paid = paid.Add(l.interval)
	if wait = paid.Sub(now.Add(l.reach)); wait > 0 {
		return wait
	}
	if _, ok := l.paid[hash]; !ok && len(l.paid) >= maxKeys {
		l.drop()
	}
	l.paid[hash] = paid
	return 0
}

// drop makes room: it samples eight keys and removes the one that is furthest
// below its limit.
func (l *Limiter) drop() {
	var (
		victim uint64
		least  time.Time
		seen   int
	)
	for key, paid := range l.paid { // in random order
		if seen == 0 || paid.Before(least) {
			victim, least = key, paid
		}
		if seen++; seen == 8 {
			break
		}
	}
	delete(l.paid, victim)
}

// Return takes back one counted call, such as an attempt that has succeeded.
func (l *Limiter) Return(key string) {
	hash := maphash.String(l.seed, key)
	l.mu.Lock()
	defer l.mu.Unlock()
	if paid, ok := l.paid[hash]; ok {
		l.paid[hash] = paid.Add(-l.interval)
	}
}

// Source returns the address by which addr is counted. For IPv6 it is the /64
// network, which is what one subscriber usually has.
func Source(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			addr = p.Addr()
		}
	}
	return addr
}

// Key returns the key of what is counted by a name and by the source of addr.
func Key(name string, addr netip.Addr) string { return name + "\x00" + Source(addr).String() }

// Peer returns the address of the connection of r; not valid: unknown.
func Peer(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	return peer.Addr()
}
