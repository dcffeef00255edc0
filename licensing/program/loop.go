package program

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

const (
	shortestBackoff = 10 * time.Second
	longestBackoff  = 5 * time.Minute

	// longestNap is how long the loop waits without a look at the clock and at
	// Dir: while the machine sleeps, timers stand still.
	longestNap = 5 * time.Minute
)

// early returns a random time of the last tenth before d, so that programs that
// started together do not stay together.
func early(d time.Duration) time.Duration { return d - rand.N(d/10+1) }

// backoff returns how long to wait after a number of failures: never less than
// Retry-After, and up to half as long again.
func backoff(failures int, err error) time.Duration {
	wait := longestBackoff
	if shift := failures - 1; shift < 5 {
		wait = min(wait, shortestBackoff<<shift)
	}
	if f, ok := errors.AsType[*failure](err); ok {
		wait = max(wait, f.retryAfter)
	}
	return wait + rand.N(min(wait, longestBackoff)/2+1)
}

// run checks the license when it is due, until Close. Each part may panic, in what the
// program passed as an option, for example, and the loop continues.
func (l *License) run() {
	last := l.moment()
	for {
		wait, due := longestNap, false
		l.guard(func() { wait = l.nap() })
		timer := time.NewTimer(wait)
		select {
		case <-l.ctx.Done():
			timer.Stop()
			return
		case <-l.wake:
			timer.Stop()
		case <-timer.C:
		}
		looked := l.guard(func() { last, due = l.look(last) })
		if !looked || due && !l.guard(func() { _ = l.refresh(l.ctx) }) { // the status has the error
			l.locked(func() {
				l.failures++
				l.next = time.Now().Add(backoff(l.failures, nil))
			})
			l.attempted()
		}
		if !l.guard(func() { l.reportDue(l.ctx) }) {
			l.counts.postpone()
		}
		l.guard(l.notify)
	}
}

// A moment is the time by both clocks.
type moment struct {
	now  time.Time // with a monotonic reading
	wall time.Time // of the machine
}

func (l *License) moment() moment { return moment{time.Now(), l.wall()} }

// look reads Dir and the clock, and reports whether a check is due. last is when it last
// did that.
func (l *License) look(last moment) (at moment, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	l.save()
	l.saveClock()
	at = l.moment()
	if (at.wall.Sub(last.wall) - at.now.Sub(last.now)).Abs() > jump {
		l.next, l.doubtful = time.Time{}, true // the machine slept, or its clock was set
	}
	due = l.asks() && !at.now.Before(l.next)
	l.judge()
	return at, due
}

// nap returns how long to wait: until the next check, the next change of the
// status, or the next look at the clock.
func (l *License) nap() time.Duration {
	ends := l.current().ends
	next, reports := l.nextReport()
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := longestNap
	if l.asks() {
		wait = min(wait, time.Until(l.next))
	}
	if reports {
		wait = min(wait, time.Until(next))
	}
	if ends > 0 {
		wait = min(wait, ends-time.Since(l.start))
	}
	return max(0, wait)
}

// asks reports whether there is something to ask the service. A program whose
// license file is for another machine asks nothing, so that a copied directory
// takes no seat. The caller holds l.mu.
func (l *License) asks() bool {
	return l.opts.URL != "" && l.key != "" && l.fingerprint != "" && !l.released &&
		(l.file == nil || !errors.Is(l.usable(*l.file), licensefile.ErrFingerprint))
}

// notify calls OnChange if the status has changed.
func (l *License) notify() {
	if l.opts.OnChange == nil {
		return
	}
	select {
	case <-l.opened:
	default:
		return // Open returns with the present status
	}
	s := l.Status()
	l.mu.Lock()
	before := l.shown
	l.shown = s
	l.mu.Unlock()
	before.CheckedAt = s.CheckedAt
	if !reflect.DeepEqual(before, s) {
		l.opts.OnChange(s)
	}
}
