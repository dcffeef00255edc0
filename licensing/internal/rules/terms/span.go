package terms

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A span is a purchase with the time for which it counts, and its role.
type span struct {
	*Purchase
	start time.Time // zero: it has started
	end   time.Time // of what the plan's UntilEnds names; zero: never
	over  time.Time // when it stops counting, after its grace period; zero: never
	never bool      // it never counts, because it ends before it starts
	waits api.Waiting
	role  role
	cells []cell // its entitlements by name
}

// A role is the part that a purchase has in the terms of a license.
type role uint8

const (
	out   role = iota // none
	base              // the license is valid while it counts
	addOn             // it adds to what the bases allow
)

// counts reports whether a purchase with a role counts at an instant.
func (s *span) counts(t time.Time) bool {
	return s.role != out && !s.never && !t.Before(s.start) && !passed(s.over, t)
}

// ends returns when the license ends if this purchase decides it.
func (s *span) ends() time.Time {
	if s.perpetual() {
		return s.RefundedAt
	}
	return s.end
}

// measure sets the times of purchases that are in order. own is the purchase of [Own];
// nil: there is none.
func measure(spans []span, own *Purchase) {
	heir := heirOf(spans, own)
	for i := range spans {
		s := &spans[i]
		if s.waits != "" {
			continue
		}
		from := s.begins()
		if s.stacks() {
			if prior := priorOf(spans[:i], s); prior != nil && prior.end.After(from) {
				if from = prior.end; !prior.paused() {
					s.start = from
				}
			}
			if i == heir {
				if end := own.ownEnds(); end.After(from) {
					from = end
				}
			}
		}
		s.setEnd(from)
	}
}

// priorOf returns the earlier purchase of its line that a purchase is stacked upon:
// the one that ends last, if it ends; of several, one that is not paused; nil: none.
func priorOf(earlier []span, s *span) (prior *span) {
	line := s.line()
	for i := range earlier {
		e := &earlier[i]
		if e.waits != "" || e.isOwn() || e.isAddOn() != s.isAddOn() || e.line() != line {
			continue
		}
		if prior == nil || e.end.After(prior.end) || e.end.Equal(prior.end) && prior.paused() {
			prior = e
		}
	}
	return prior
}

// setEnd sets when a purchase that begins at from ends.
func (s *span) setEnd(from time.Time) {
	s.end = cut(cut(s.endFrom(from), s.EndedAt), s.RefundedAt)
	s.over = s.ends()
	if s.over.IsZero() {
		return
	}
	s.never = !s.isOwn() && (!s.over.After(s.FirstActive) || !s.over.After(s.start))
	if !s.perpetual() && !s.isOver() {
		s.over = GraceEnd(s.over, s.Plan.GraceSeconds)
	}
}

// compareEnds compares two ends; zero is never, which is the latest.
func compareEnds(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return b.Compare(a)
	}
	return a.Compare(b)
}

// cut returns the earlier of an end and an instant, if that is set.
func cut(end, at time.Time) time.Time {
	if !at.IsZero() && compareEnds(at, end) < 0 {
		return at
	}
	return end
}

// passed reports whether an end, where zero is never, has come at an instant.
func passed(end, at time.Time) bool { return !end.IsZero() && !at.Before(end) }
