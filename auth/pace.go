package auth

import (
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
