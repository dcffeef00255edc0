package licensingtest

import (
	"sync"
	"time"
)

// Start is the time of a new [Clock]: noon on a Monday, UTC.
var Start = time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)

// A Clock is a clock for tests that only moves when told to by Set or Advance. It
// is safe for concurrent use. Create one with [NewClock].
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a Clock set to [Start].
func NewClock() *Clock { return &Clock{now: Start} }

// Now returns the current time of the clock. Use it as Options.Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the clock to t, which may be earlier.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// Advance moves the clock forward by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
