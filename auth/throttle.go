package auth

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// A throttle counts failures by client id and address, and those of people who
// are nobody yet as if they were a client's, so that callers who
// keep failing can be told to wait. It never knows whether a client exists:
// made-up ids are counted like any other.
//
// Each key has a point in time up to which its failures are paid for; a
// failure moves it on by one interval, and while it lies too far ahead the
// key is over its limit. Forgetting a key is always safe: the secrets cannot
// be guessed, so all there is to protect is the server's work.
type throttle struct {
	interval time.Duration // one failure
	reach    time.Duration // how far a key's point may lie ahead

	mu   sync.Mutex
	seed maphash.Seed
	paid map[uint64]time.Time
}

// maxKeys bounds the keys that are remembered, at about 200 kB.
const maxKeys = 4096

// newThrottle lets each key fail n times per period, at most n at once.
func newThrottle(n int, per time.Duration) *throttle {
	interval := per / time.Duration(n)
	return &throttle{
		interval: interval,
		reach:    interval * time.Duration(n),
		seed:     maphash.MakeSeed(),
		paid:     map[uint64]time.Time{},
	}
}

// fail counts a failure, or returns how long the caller has to wait if it had
// too many already. Failures over the limit do not prolong the wait.
func (t *throttle) fail(clientID string, addr netip.Addr, now time.Time) (wait time.Duration) {
	key := t.key(clientID, addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	paid := t.paid[key]
	if paid.Before(now) || paid.After(now.Add(t.reach)) { // the second: the clock was set back
		paid = now
	}
	paid = paid.Add(t.interval)
	if wait = paid.Sub(now.Add(t.reach)); wait > 0 {
		return wait
	}
	if _, ok := t.paid[key]; !ok && len(t.paid) >= maxKeys {
		t.forget()
	}
	t.paid[key] = paid
	return 0
}

// forget makes room: of a few keys it drops the one with the fewest failures.
func (t *throttle) forget() {
	var (
		victim uint64
		least  time.Time
		seen   int
	)
	for key, paid := range t.paid { // in an order that changes each time
		if seen == 0 || paid.Before(least) {
			victim, least = key, paid
		}
		if seen++; seen == 8 {
			break
		}
	}
	delete(t.paid, victim)
}

// forgive takes back one counted failure: the attempt has succeeded.
func (t *throttle) forgive(clientID string, addr netip.Addr) {
	key := t.key(clientID, addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	if paid, ok := t.paid[key]; ok {
		t.paid[key] = paid.Add(-t.interval)
	}
}

// key is a hash that nobody outside can predict.
func (t *throttle) key(clientID string, addr netip.Addr) uint64 {
	return maphash.Comparable(t.seed, struct {
		id   string
		addr netip.Addr
	}{clientID, source(addr)})
}

// source returns what stands for an address when it is throttled: a whole /64
// of IPv6 is one source, since that is what one subscriber gets.
func source(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			addr = p.Addr()
		}
	}
	return addr
}

// An inFlight counts what each source has under way.
type inFlight struct {
	limit int

	mu sync.Mutex
	n  map[netip.Addr]int
}

func newInFlight(limit int) *inFlight { return &inFlight{limit: limit, n: map[netip.Addr]int{}} }

// enter reports whether the source of addr is below the limit, and counts one
// more if it is. After true, call leave.
func (f *inFlight) enter(addr netip.Addr) bool {
	addr = source(addr)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[addr] >= f.limit {
		return false
	}
	f.n[addr]++
	return true
}

func (f *inFlight) leave(addr netip.Addr) {
	addr = source(addr)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[addr]--; f.n[addr] == 0 {
		delete(f.n, addr)
	}
}
