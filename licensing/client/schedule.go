package client

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"time"
)

const (
	shortestBackoff = time.Second
	longestBackoff  = 5 * time.Minute

	// longestNap is how long the schedule waits without a look at the clock:
	// while the machine sleeps, timers stand still.
	longestNap = 5 * time.Minute
)

// early returns a random time of the last tenth before d.
func early(d time.Duration) time.Duration { return d - rand.N(d/10+1) }

// backoff returns how long to wait after checks without an answer. The caller
// holds p.mu.
func (p *Program) backoff(err error) time.Duration {
	wait := longestBackoff
	if time.Since(p.start) < p.opts.StartWait {
		wait = shortestBackoff
	} else if shift := p.failures - 1; shift < 9 {
		wait = min(wait, shortestBackoff<<shift)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		wait = max(wait, min(e.RetryAfter, longestBackoff))
	}
	return wait/2 + rand.N(wait/2+1)
}

// run checks the license when it is due, until Close.
func (p *Program) run() {
	last := time.Now()
	for {
		timer := time.NewTimer(p.nap())
		select {
		case <-p.ctx.Done():
			timer.Stop()
			return
		case <-p.wake:
			timer.Stop()
		case <-timer.C:
		}
		now := time.Now()
		if p.opts.Trust != nil {
			p.rescan()
		}
		p.notice(now.Round(0).Sub(last.Round(0)), now.Sub(last))
		last = now
		if counted, due := p.due(now); due {
			_ = p.check(p.ctx, counted) // the status has the error
		}
		p.notify()
	}
}

// nap returns how long to wait: until the next check, the next change of the
// status, or the next look at the clock.
func (p *Program) nap() time.Duration {
	ends := p.current().ends
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := longestNap
	if p.key != "" {
		wait = min(wait, time.Until(p.next))
	}
	if ends > 0 {
		wait = min(wait, ends-time.Since(p.start))
	}
	return max(0, wait)
}

// due reports whether a check is due, and how many have begun.
func (p *Program) due(now time.Time) (counted int, due bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun, p.key != "" && !now.Before(p.next)
}

// notice compares how far the clock of the machine and the monotonic clock
// have moved. If they differ, the machine slept, or its clock was set: the
// service is asked. Until it answers, time asleep counts toward the end of the
// license and of Offline.
func (p *Program) notice(wall, monotonic time.Duration) {
	jump := wall - monotonic
	if jump.Abs() <= time.Minute {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = time.Time{} // now
	if jump > 0 {
		p.slept += jump
	} else {
		p.setBack = true
	}
}

// notify calls OnChange if the status has changed.
func (p *Program) notify() {
	if p.opts.OnChange == nil {
		return
	}
	select {
	case <-p.opened:
	default:
		return // Open returns with the present status
	}
	s := p.Status()
	p.mu.Lock()
	before := p.shown
	p.shown = s
	p.mu.Unlock()
	before.CheckedAt, before.CheckError = s.CheckedAt, s.CheckError
	if !reflect.DeepEqual(before, s) {
		p.opts.OnChange(s)
	}
}
