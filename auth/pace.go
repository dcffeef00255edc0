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

// maxBatches limits the clients whose batches are known.
const maxBatches = 4096

// batches say when a process reserves a batch of tokens of a client, and when it
// last counted the client's tokens.
type batches struct {
	size int // tokens in a batch

	mu   sync.Mutex
	open map[string]batch // by client
}

type batch struct {
	left      int // tokens that can be issued before another batch is reserved
	countedAt time.Time
}

func newBatches(size int) *batches { return &batches{size: size, open: map[string]batch{}} }

// take takes n tokens from the batch of a client. It returns how many tokens the
// caller has to reserve first: as many batches as it needs, or none.
func (b *batches) take(clientID string, n int) (reserve int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open, known := b.open[clientID]
	if n > open.left {
		if !known && len(b.open) >= maxBatches {
			clear(b.open) // what is left of the batches stays in the stored counts
		}
		reserve = (n - open.left + b.size - 1) / b.size * b.size
	}
	open.left += reserve - n
	b.open[clientID] = open
	return reserve
}

// reset makes the next call of take reserve a batch.
func (b *batches) reset(clientID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := b.open[clientID]
	open.left = 0
	b.open[clientID] = open
}

// recountDue reports whether this process has not counted the tokens of the
// client within recountStep.
func (b *batches) recountDue(clientID string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := now.Sub(b.open[clientID].countedAt)
	return since < 0 || since >= recountStep
}

// recounted sets the time at which the tokens of the client were counted.
func (b *batches) recounted(clientID string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := b.open[clientID]
	open.countedAt = now
	b.open[clientID] = open
}
