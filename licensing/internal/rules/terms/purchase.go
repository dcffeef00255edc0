package terms

import (
	"cmp"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Purchase is what the events of one reference say, with the terms of the plan
// that applies to it. Times are in UTC, in whole milliseconds; zero means that no
// event said so. The functions of this package do not change a Purchase, and share
// its maps.
type Purchase struct {
	Reference string
	Plan      api.Plan // as it was when the purchase got its terms
	Quantity  int64    // less than 1: 1

	FirstActive time.Time
	UntilSaid   bool      // an event gave the end
	Until       time.Time // zero: never
	Activated   time.Time // when the license was first activated, if the plan starts with that
	PausedAt    time.Time // of the event that said paused, unless a later one said active
	EndedAt     time.Time // the first one that counts
	RefundedAt  time.Time // the first one that counts

	// Made reports that the purchase made the license: its events name no license.
	Made bool
	// UpdatesUntil is that of the license, if this is the purchase of [Own].
	UpdatesUntil time.Time

	Name     string // empty: no event said one
	Reason   string
	Metadata map[string]*string // nil: the entry is removed
}

// The prefixes of references that no payment has.
const (
	trialPrefix = "trial:"
	ownPrefix   = "license:"
)

func (p *Purchase) isAddOn() bool { return p.Plan.Kind == api.PlanAddOn }

func (p *Purchase) isTrial() bool { return strings.HasPrefix(p.Reference, trialPrefix) }

func (p *Purchase) isOwn() bool { return strings.HasPrefix(p.Reference, ownPrefix) }

// units returns the quantity.
func (p *Purchase) units() int64 { return max(1, p.Quantity) }

// isOver reports whether an event said that the purchase is over, so that it has no
// grace period.
func (p *Purchase) isOver() bool { return !p.EndedAt.IsZero() || !p.RefundedAt.IsZero() }

func (p *Purchase) paused() bool { return !p.PausedAt.IsZero() && !p.isOver() }

// perpetual reports whether the end of the purchase ends only updates.
func (p *Purchase) perpetual() bool {
	return !p.isAddOn() && p.Plan.UntilEnds == api.UntilEndsUpdates
}

// awaits reports whether the end of the purchase is unknown until the license is first
// activated. It has no end before that.
func (p *Purchase) awaits() bool {
	return p.Plan.Starts == api.StartsActivation && p.Activated.IsZero() && !p.UntilSaid
}

// begins returns when the duration of the purchase begins if it continues no other one.
func (p *Purchase) begins() time.Time {
	if p.Plan.Starts == api.StartsActivation && p.Activated.After(p.FirstActive) {
		return p.Activated
	}
	return p.FirstActive
}

// lastInstant is the last one that JSON and stores represent.
var lastInstant = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)

// Capped returns t, but no later instant than JSON and stores represent.
func Capped(t time.Time) time.Time {
	if t.After(lastInstant) {
		return lastInstant
	}
	return t
}

// IsLast reports whether t is the last instant, at which [Capped] puts what is never.
func IsLast(t time.Time) bool { return !t.Before(lastInstant) }

// GraceEnd returns when a grace period that begins at end is over. No sum of an end and a
// grace period is made elsewhere.
func GraceEnd(end time.Time, seconds int64) time.Time {
	return Capped(end.Add(time.Duration(seconds) * time.Second))
}

// endFrom returns when the purchase ends if its duration begins at from and no event ends
// it; zero: never.
func (p *Purchase) endFrom(from time.Time) (end time.Time) {
	switch {
	case p.UntilSaid:
		end = p.Until
	case !p.Plan.Duration.IsZero() && !p.awaits():
		end = Capped(p.Plan.Duration.AddTo(from)) // purchases may be laid end to end
	}
	return end
}

// line returns the line of the purchase; empty: it is in none.
func (p *Purchase) line() string {
	switch {
	case p.isTrial():
		return ""
	case p.isAddOn():
		return p.Plan.Line
	}
	return cmp.Or(p.Plan.Line, p.Plan.ID)
}

// stacks reports whether the purchase begins where earlier ones of its line end.
func (p *Purchase) stacks() bool {
	return !p.isOwn() && !p.UntilSaid && !p.Plan.Duration.IsZero() && p.line() != ""
}

// order compares two purchases by when they were first active. The greater one
// precedes the other in everything that only one of them can decide.
func order(a, b *Purchase) int {
	return cmp.Or(a.FirstActive.Compare(b.FirstActive), strings.Compare(a.Reference, b.Reference))
}
