package webhook

import (
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestABreakerHoldsBackForLongerAndLonger(t *testing.T) {
	is := is.New(t)
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	var b breaker
	open := func(at time.Time) bool { return b.closesIn(at) > 0 }
	for range breakAfter - 1 {
		b.failed(now)
		is.True(!open(now) && !b.trying())
	}
	for _, held := range []time.Duration{10, 20, 40, 60, 60} {
		b.failed(now)
		is.True(open(now.Add(held*time.Second - 1)))
		now = now.Add(held * time.Second)
		is.True(!open(now) && b.trying())
	}

	b.slow(now, 2*time.Hour)
	b.slow(now, 0)
	b.succeeded() // by one that was under way: what was asked for holds
	is.True(open(now.Add(time.Hour - 1)))
	is.True(!open(now.Add(time.Hour)))
	is.True(!b.trying())
	is.True(!open(now.Add(-time.Minute))) // the clock was ahead
}
