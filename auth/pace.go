package auth

import (
	"sync"
	"sync/atomic"
	"time"
)

// A pacer lets housekeeping run along with requests, now and then.
type pacer struct {
	every time.Duration
	last  atomic.Int64 // Unix milliseconds
}

// due reports whether it is time, to one caller each time.
func (p *pacer) due(now time.Time) bool {
	last := p.last.Load()
	if since := now.UnixMilli() - last; since >= 0 && since < p.every.Milliseconds() {
		return false
	}
	return p.last.CompareAndSwap(last, now.UnixMilli())
}

// again makes it time for the next caller.
func (p *pacer) again() { p.last.Store(0) }

// rounds lets something be done the first time for each key, and then every
// so many times.
type rounds struct {
	every int

	mu   sync.Mutex
	left map[string]int // how many times until it is done again
}

func newRounds(every int) *rounds { return &rounds{every: every, left: map[string]int{}} }

// due reports whether this is one of the times.
func (r *rounds) due(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, known := r.left[key]
	if left > 0 {
		r.left[key] = left - 1
		return false
	}
	if !known && len(r.left) >= maxKeys {
		clear(r.left) // doing it too often is safe
	}
	r.left[key] = r.every - 1
	return true
}

// again makes the next time of a key one of them.
func (r *rounds) again(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.left, key)
}
