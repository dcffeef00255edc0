package terms

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// live says which bases count at an instant.
type live struct {
	at      time.Time // the instant, or the last millisecond of validity
	outline outline
	trials  bool  // only trials count
	governs *span // nil: no purchase has a part in the license
}

// liveAt returns the bases that count at an instant, or, once none does any more,
// those that counted last.
func liveAt(o outline, spans []span, at time.Time) (l live) {
	if l.outline = o; o.empty {
		return l
	}
	if passed(o.over, at) {
		at = o.over.Add(-time.Millisecond)
	}
	l.at, l.trials = at, true
	for i := range spans {
		if s := &spans[i]; l.counts(s) && !s.isTrial() {
			l.trials = false
		}
	}
	for i := range spans {
		if s := &spans[i]; l.has(s) {
			l.governs = s // the last in order
		}
	}
	return l
}

func (l *live) counts(s *span) bool {
	if s.role != base {
		return false
	}
	if l.outline.dead {
		return s.ends().Equal(l.outline.expires)
	}
	return s.counts(l.at)
}

// has reports whether a purchase is one of the bases.
func (l *live) has(s *span) bool { return l.counts(s) && (l.trials || !s.isTrial()) }

// A Standing is how a purchase stands at an instant.
type Standing struct {
	Counts, Governs  bool
	StartsAt, EndsAt time.Time // StartsAt zero: immediately; EndsAt, without grace, zero: never
	Waiting          api.Waiting
}

// Standing returns how the purchase with a reference stands.
func (g *Grant) Standing(reference string, now time.Time) (is Standing) {
	o, spans := g.view(now)
	live := liveAt(o, spans, now)
	for i := range spans {
		s := &spans[i]
		if s.Reference != reference {
			continue
		}
		is = Standing{Counts: s.counts(now) && (s.role == addOn || live.has(s)), StartsAt: s.start, EndsAt: s.end, Waiting: s.waits}
		if is.Governs = live.governs != nil && live.governs.Reference == reference; s.waits != "" {
			is.StartsAt, is.EndsAt = time.Time{}, time.Time{}
		}
	}
	return is
}

// Waits returns what each purchase that waits at an instant waits for, by its reference.
func (g *Grant) Waits(now time.Time) map[string]api.Waiting {
	_, spans := g.view(now)
	waits := map[string]api.Waiting{}
	for i := range spans {
		if s := &spans[i]; s.waits != "" {
			waits[s.Reference] = s.waits
		}
	}
	return waits
}

// Renews reports whether a change of purchases renews the license: it ends later, or
// the end of a base purchase that it had before, of its line, or of its updates, becomes
// later.
func Renews(was, is *Grant, now time.Time) bool {
	outlineBefore, before := was.view(now)
	outlineAfter, after := is.view(now)
	if outlineBefore.empty || outlineAfter.empty {
		return false
	}
	if compareEnds(outlineAfter.expires, outlineBefore.expires) > 0 {
		return true
	}
	for i := range after {
		s := &after[i]
		isBase := s.role == base || !s.isAddOn() // also if it has no part, as a refunded one
		if s.waits == "" && isBase && s.renews(before) {
			return true
		}
	}
	return false
}

// renews reports whether a base ends later than it did among the purchases before or, if it
// is new, later than each of its line.
func (s *span) renews(before []span) bool {
	line, later := s.line(), false
	for i := range before {
		switch p := &before[i]; {
		case p.waits != "":
		case p.Reference == s.Reference:
			return compareEnds(s.end, p.end) > 0
		case line != "" && p.role == base && p.line() == line:
			if later = compareEnds(s.end, p.end) > 0; !later {
				return false
			}
		}
	}
	return later
}
