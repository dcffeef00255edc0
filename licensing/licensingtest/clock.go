package licensingtest

import (
	"sync"
	"time"
)

// Start is what a new [Clock] shows: noon of a Monday, UTC.
var Start = time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)

// A Clock stands still until it is moved. It is safe for concurrent use.
// [NewClock] makes one.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows [Start].
func NewClock() *Clock { return &Clock{now: Start} }

// Now returns the time the clock shows. It is meant for Options.Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock to t, forwards or back.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// Advance moves the clock by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
