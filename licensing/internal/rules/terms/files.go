package terms

import (
	"maps"
	"slices"
	"time"
)

// Loses reports whether a license file of a license with the terms was promises
// something that is does not allow: an entitlement that was removed or changed,
// except to a greater number, an earlier end of updates, or any number of programs
// where there is a limit now. The end of the license is not looked at.
func Loses(was, is Terms) bool {
	if was.ProductID != is.ProductID || was.MaxActivations < 0 && is.MaxActivations >= 0 || compareEnds(is.UpdatesUntil, was.UpdatesUntil) < 0 {
		return true
	}
	for name, v := range was.Entitlements {
		if now, ok := is.Entitlements[name]; !ok || now != v && !rises(v, now) {
			return true
		}
	}
	return false
}

func rises(from, to any) bool {
	a, aNumber := from.(float64)
	b, bNumber := to.(float64)
	return aNumber && bNumber && b > a
}

// end returns when the license stops being valid; zero: never.
func (s State) end() time.Time {
	if s.ExpiresAt.IsZero() {
		return time.Time{}
	}
	return GraceEnd(s.ExpiresAt, s.GraceSeconds)
}

// PromisedUntil returns when a license file that is issued now must end at the
// latest, because the license ends or loses something that the file promises; zero:
// never.
func (s State) PromisedUntil() time.Time {
	then := s.copied()
	for _, c := range s.Changes {
		if c.apply(&then); c.Loses && Loses(s.Terms, then) {
			return cut(s.end(), c.At)
		}
	}
	return s.end()
}

// copied returns the terms with maps that changes may be applied to.
func (s State) copied() Terms {
	t := s.Terms
	if len(s.Changes) > 0 {
		t.Meters = maps.Clone(t.Meters)
		if t.Entitlements = maps.Clone(t.Entitlements); t.Entitlements == nil {
			t.Entitlements = map[string]any{}
		}
	}
	return t
}

// Outdates reports whether a change makes files that were issued before it promise
// too much, so that the generation of the license rises: at some instant before its
// former end, the license has less than it would have had without the change. To buy
// something that ends one day outdates nothing.
func Outdates(was, is State) bool {
	end := was.end()
	if compareEnds(is.end(), end) < 0 {
		return true
	}
	before, after := was.copied(), is.copied()
	a, b := was.Changes, is.Changes
	for {
		if Loses(before, after) {
			return true
		}
		var next time.Time // zero: never
		for _, coming := range [][]Change{a, b} {
			if len(coming) > 0 {
				next = cut(next, coming[0].At)
			}
		}
		if next.IsZero() || passed(end, next) {
			return false
		}
		a, b = advance(&before, a, next), advance(&after, b, next)
	}
}

// advance makes the changes of an instant, and returns the ones that are left.
func advance(t *Terms, changes []Change, to time.Time) []Change {
	for ; len(changes) > 0 && changes[0].At.Equal(to); changes = changes[1:] {
		changes[0].apply(t)
	}
	return changes
}

// An Asked is what a validation asked about, beside whether the license is valid.
type Asked struct {
	Entitlements []string
	Updates      bool // whether a build is covered
	Activations  bool // whether a program has an activation, or may have one
}

// NextChange returns the instant of the first change to come that matters to what was
// asked; zero: there is none. The end of the license is no such change.
func (s State) NextChange(asked Asked) time.Time {
	for _, c := range s.Changes {
		if c.matters(asked) {
			return c.At
		}
	}
	return time.Time{}
}

// matters reports whether the change may change the answer to what was asked.
func (c Change) matters(asked Asked) bool {
	if asked.Updates && c.UpdatesUntil != nil {
		return true
	}
	if asked.Activations && (c.MaxActivations != nil || c.LeaseSeconds != nil) {
		return true
	}
	return slices.ContainsFunc(asked.Entitlements, func(name string) bool {
		_, changes := c.Entitlements[name]
		return changes
	})
}
