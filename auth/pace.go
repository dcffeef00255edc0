package auth

import (
	"sync"
	"sync/atomic"
	"time"
)

// A pacer limits how often requests do housekeeping.
type pacer struct {
	every time.Duration
	last  atomic.Int64 // Unix milliseconds
}

// due returns true to one caller per interval.
func (p *pacer) due(now time.Time) bool {
	last := p.last.Load()
	if since := now.UnixMilli() - last; since >= 0 && since < p.every.Milliseconds() {
		return false
	}
	return p.last.CompareAndSwap(last, now.UnixMilli())
}

// reset makes due return true to the next caller.
func (p *pacer) reset() { p.last.Store(0) }

// maxKeys limits the clients whose rounds are counted.
const maxKeys = 4096

// rounds makes due return true on the first call for each key, and then on every
// nth call.
type rounds struct {
	every int

	mu   sync.Mutex
	left map[string]int // calls until due returns true
}

func newRounds(every int) *rounds { return &rounds{every: every, left: map[string]int{}} }

// due reports whether this call is the first or the nth for the key.
func (r *rounds) due(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, known := r.left[key]
	if left > 0 {
		r.left[key] = left - 1
		return false
	}
	if !known && len(r.left) >= maxKeys {
		clear(r.left) // an extra true is safe
	}
	r.left[key] = r.every - 1
	return true
}

// reset makes due return true on the next call for the key.
func (r *rounds) reset(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.left, key)
}
