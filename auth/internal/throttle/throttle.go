// Package throttle slows down callers who keep failing to authenticate.
package throttle

import (
	"hash/maphash"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// A Throttle counts failures by name, such as a client ID, and by address. It
// counts unknown names like known ones. It is safe for concurrent use.
//
// Each key has a point in time up to which its failures are paid for. A failure
// moves that point forward by one interval, and the key is over its limit while
// the point is too far ahead. Dropping a key is always safe: the secrets cannot
// be guessed, so a Throttle only protects the server from work.
type Throttle struct {
	interval time.Duration // the price of one failure
	reach    time.Duration // how far ahead the point of a key may be

	mu   sync.Mutex
	seed maphash.Seed
	paid map[uint64]time.Time
}

// maxKeys limits the number of keys, to about 200 kB of memory.
const maxKeys = 4096

// DefaultFailures is how many failures per minute are allowed by default.
const DefaultFailures = 20

// Peer returns the address of the connection.
func Peer(r *http.Request) netip.Addr {
	ap, _ := netip.ParseAddrPort(r.RemoteAddr)
	return ap.Addr()
}

// New returns a Throttle that lets each key fail n times per period, and at
// most n times immediately.
func New(n int, period time.Duration) *Throttle {
	interval := period / time.Duration(n)
	return &Throttle{
		interval: interval,
		reach:    interval * time.Duration(n),
		seed:     maphash.MakeSeed(),
		paid:     map[uint64]time.Time{},
	}
}

// Fail counts a failure and returns zero. If the key is over its limit, Fail
// returns how long the caller must wait instead and does not count the failure.
func (t *Throttle) Fail(name string, addr netip.Addr, now time.Time) (wait time.Duration) {
	key := t.key(name, addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	paid := t.paid[key]
	if paid.Before(now) || paid.After(now.Add(t.reach)) { // the latter: the clock was set back
		paid = now
	}
	paid = paid.Add(t.interval)
	if wait = paid.Sub(now.Add(t.reach)); wait > 0 {
		return wait
	}
	if _, ok := t.paid[key]; !ok && len(t.paid) >= maxKeys {
		t.drop()
	}
	t.paid[key] = paid
	return 0
}

// drop makes room: it samples eight keys and removes the one with the fewest
// failures.
func (t *Throttle) drop() {
	var (
		victim uint64
		least  time.Time
		seen   int
	)
	for key, paid := range t.paid { // in random order
		if seen == 0 || paid.Before(least) {
			victim, least = key, paid
		}
		if seen++; seen == 8 {
			break
		}
	}
	delete(t.paid, victim)
}

// Forgive removes one counted failure, after the attempt has succeeded.
func (t *Throttle) Forgive(name string, addr netip.Addr) {
	key := t.key(name, addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	if paid, ok := t.paid[key]; ok {
		t.paid[key] = paid.Add(-t.interval)
	}
}

// key returns a hash that callers cannot predict.
func (t *Throttle) key(name string, addr netip.Addr) uint64 {
	return maphash.Comparable(t.seed, struct {
		name string
		addr netip.Addr
	}{name, Source(addr)})
}

// Source returns the address under which addr is throttled. For IPv6 it is the
// /64 network, which is what one subscriber usually has.
func Source(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			addr = p.Addr()
		}
	}
	return addr
}
