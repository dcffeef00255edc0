package webhook

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// schedule is the wait after each failed attempt: ten attempts over about 75
// hours.
var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// retryMost is how long a receiver can postpone an attempt.
const retryMost = 24 * time.Hour

// nextAttempt returns how long to wait after a number of failed attempts, with
// ten percent jitter, or longer if the receiver asks for it. It returns false
// after the last attempt.
func nextAttempt(attempts int64, asked time.Duration) (wait time.Duration, ok bool) {
	if attempts > int64(len(schedule)) {
		return 0, false
	}
	wait = schedule[attempts-1]
	wait += rand.N(wait/5) - wait/10
	return max(wait, min(asked, retryMost)), true
}

// longestWait returns the longest wait after a number of failed attempts, unless the
// receiver asks for more.
func longestWait(attempts int64) time.Duration {
	if attempts <= 0 {
		return 0
	}
	return schedule[min(attempts, int64(len(schedule)))-1] * 11 / 10
}

// retryAfter parses the Retry-After header: seconds or a date (RFC 9110 section
// 10.2.3). It returns zero for anything else.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
