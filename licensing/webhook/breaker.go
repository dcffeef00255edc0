package webhook

import "time"

const (
	breakAfter = 5                // failures in a row
	breakFirst = 10 * time.Second // first pause
	breakMost  = time.Minute      // longest pause after failures
	slowMost   = time.Hour        // longest pause that a receiver can request
)

// A breaker pauses a webhook while nothing succeeds: after several consecutive
// failures it sends nothing for a while, then one delivery as a test, with
// growing pauses until one succeeds. Deliveries held back do not count as
// attempted.
type breaker struct {
	Failures int       `json:"failures,omitempty"` // since the last success
	Until    time.Time `json:"until,omitzero"`     // nothing is sent before
}

// closesIn returns how long sending is still paused. A pause that is longer than any
// was begun while a clock was ahead.
func (b breaker) closesIn(now time.Time) time.Duration {
	if wait := b.Until.Sub(now); wait > 0 && wait <= slowMost {
		return wait
	}
	return 0
}

// trying reports whether to send a single delivery as a test.
func (b breaker) trying() bool { return b.Failures >= breakAfter }

func (b *breaker) succeeded() { b.Failures = 0 }

func (b *breaker) failed(now time.Time) {
	if b.Failures++; b.trying() {
		b.pause(now, min(breakFirst<<min(b.Failures-breakAfter, 10), breakMost))
	}
}

// slow pauses the webhook because the receiver is overloaded, for as long as it
// asks; zero: for a short default.
func (b *breaker) slow(now time.Time, asked time.Duration) {
	if asked <= 0 {
		asked = breakFirst
	}
	b.pause(now, min(asked, slowMost))
}

// pause pauses the webhook for d, unless it is paused for longer.
func (b *breaker) pause(now time.Time, d time.Duration) {
	if b.closesIn(now) < d {
		b.Until = now.Add(d)
	}
}
