package delivery

import "time"

const (
	breakAfter = 5                // failures in a row
	breakFirst = 10 * time.Second // for which nothing is sent then
	breakMost  = time.Minute      // after more of them
	slowMost   = time.Hour        // however long the receiver asks for
)

// A breaker holds a lane back while nothing gets through: after some failures
// in a row nothing is sent for a while, then one delivery to try, and so on
// with longer whiles, until one succeeds. Deliveries that are held back do not
// count as tried. It is for use by one goroutine at a time.
type breaker struct {
	failures int
	broken   window // because of failures
	asked    window // because the receiver asked for it
}

// A window is a stretch of time. A clock that is before its beginning was
// corrected, and is not in it.
type window struct{ from, until time.Time }

func (w window) contains(now time.Time) bool { return !now.Before(w.from) && now.Before(w.until) }

// open reports whether nothing is to be sent now.
func (b *breaker) open(now time.Time) bool { return b.broken.contains(now) || b.asked.contains(now) }

// trying reports whether one delivery is to be sent, to see.
func (b *breaker) trying() bool { return b.failures >= breakAfter }

func (b *breaker) succeeded() { b.failures, b.broken = 0, window{} }

func (b *breaker) failed(now time.Time) {
	b.failures++
	if b.failures >= breakAfter {
		b.broken = window{now, now.Add(min(breakFirst<<min(b.failures-breakAfter, 10), breakMost))}
	}
}

// slow holds the lane back because the receiver has too much to do, for as
// long as it asks; zero: for a little.
func (b *breaker) slow(now time.Time, asked time.Duration) {
	if asked <= 0 {
		asked = breakFirst
	}
	if until := now.Add(min(asked, slowMost)); until.After(b.asked.until) || now.Before(b.asked.from) {
		b.asked = window{now, until}
	}
}
