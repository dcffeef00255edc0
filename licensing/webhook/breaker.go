package webhook

import (
	"sync"
	"time"
)

const (
	breakAfter = 5                // failures in a row
	breakFirst = 10 * time.Second // first pause
	breakMost  = time.Minute      // longest pause after failures
	slowMost   = time.Hour        // longest pause that a receiver can request
)

// A breaker pauses a lane while nothing succeeds: after several consecutive
// failures it sends nothing for a while, then one delivery as a test, with
// growing pauses until one succeeds. Deliveries held back do not count as
// attempted. It is safe for concurrent use: outcomes of a shared batch may be stored
// while a slow part of it is still being sent.
type breaker struct {
	mu       sync.Mutex // guards the fields below
	failures int
	broken   window // pause because of failures
	asked    window // pause requested by the receiver
}

// A window is a period of time. A clock before its start was set back and is not
// in the window.
type window struct{ from, until time.Time }

func (w window) contains(now time.Time) bool { return !now.Before(w.from) && now.Before(w.until) }

// open reports whether sending is paused.
func (b *breaker) open(now time.Time) bool { return b.closesIn(now) > 0 }

// closesIn returns how long sending is still paused.
func (b *breaker) closesIn(now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range []window{b.broken, b.asked} {
		if w.contains(now) {
			wait = max(wait, w.until.Sub(now))
		}
	}
	return wait
}

// trying reports whether to send a single delivery as a test.
func (b *breaker) trying() bool { return b.inARow() >= breakAfter }

// inARow returns how many deliveries have failed since the last success.
func (b *breaker) inARow() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures
}

func (b *breaker) succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.broken = 0, window{}
}

func (b *breaker) failed(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if b.failures >= breakAfter {
		b.broken = window{now, now.Add(min(breakFirst<<min(b.failures-breakAfter, 10), breakMost))}
	}
}

// slow pauses the lane because the receiver is overloaded, for as long as it
// asks; zero: for a short default.
func (b *breaker) slow(now time.Time, asked time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if asked <= 0 {
		asked = breakFirst
	}
	if until := now.Add(min(asked, slowMost)); until.After(b.asked.until) || now.Before(b.asked.from) {
		b.asked = window{now, until}
	}
}
