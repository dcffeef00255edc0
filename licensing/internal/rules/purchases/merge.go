package purchases

import (
	"cmp"
	"maps"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Said is what the latest event says about a field of a purchase, and the At of
// that event. The zero said: no event has said anything.
type Said[T any] struct {
	Value T         `json:"value"`
	At    time.Time `json:"at"`
}

// later returns what was said later. Of two that were said at the same instant,
// it returns the greater one.
func later[T any](a, b Said[T], compare func(a, b T) int) Said[T] {
	if c := a.At.Compare(b.At); c > 0 || c == 0 && compare(a.Value, b.Value) >= 0 {
		return a
	}
	return b
}

// merge returns what two purchases, which are sets of events of one reference,
// say together. It is commutative, associative and idempotent, so that a purchase
// does not depend on the order in which its events arrived, nor on how often. Of
// events at one instant, those count that are better for the customer.
func (p Purchase) merge(q Purchase) Purchase {
	p.Reference = cmp.Or(p.Reference, q.Reference)
	p.CustomerID = cmp.Or(p.CustomerID, q.CustomerID)
	if !p.Granted && q.LicenseID != "" {
		named := later(Said[string]{p.LicenseID, p.LicenseAt}, Said[string]{q.LicenseID, q.LicenseAt}, strings.Compare)
		p.LicenseID, p.LicenseAt = named.Value, named.At
	}
	p.Plan = later(p.Plan, q.Plan, strings.Compare)
	p.Name = later(p.Name, q.Name, strings.Compare)
	p.Reason = later(p.Reason, q.Reason, strings.Compare)
	p.Quantity = later(p.Quantity, q.Quantity, cmp.Compare)
	p.Until = later(p.Until, q.Until, compareEnds)
	p.Renews = later(p.Renews, q.Renews, func(a, b bool) int { return cmp.Compare(btoi(a), btoi(b)) })
	p.State = later(p.State, q.State, compareStates)
	if len(q.Metadata) > 0 {
		p.Metadata = maps.Clone(p.Metadata)
		if p.Metadata == nil {
			p.Metadata = map[string]Said[*string]{}
		}
		for name, v := range q.Metadata {
			p.Metadata[name] = later(p.Metadata[name], v, compareValues)
		}
	}
	p.FirstActive = call.FirstOf(p.FirstActive, q.FirstActive)
	p.Reopened = call.LastOf(p.Reopened, q.Reopened)
	p.FirstEnded = call.FirstOf(p.counted(p.FirstEnded), p.counted(q.FirstEnded))
	p.LastEnded = call.LastOf(p.counted(p.LastEnded), p.counted(q.LastEnded))
	p.FirstRefunded = call.FirstOf(p.counted(p.FirstRefunded), p.counted(q.FirstRefunded))
	p.LastRefunded = call.LastOf(p.counted(p.LastRefunded), p.counted(q.LastRefunded))
	return p
}

// counted returns the At of an event that said ended or refunded, or zero if it does not count because
// the purchase was reopened after it.
func (p Purchase) counted(ended time.Time) time.Time {
	if !ended.After(p.Reopened) {
		return time.Time{}
	}
	return ended
}

// compareEnds compares two ends; zero is never, which is the latest.
func compareEnds(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return b.Compare(a)
	}
	return a.Compare(b)
}

// compareStates compares two states: active is greater than paused.
func compareStates(a, b api.PurchaseState) int { return strings.Compare(string(b), string(a)) }

// compareValues compares two values of metadata: to have one is greater.
func compareValues(a, b *string) int {
	if a == nil || b == nil {
		return cmp.Compare(btoi(a != nil), btoi(b != nil))
	}
	return strings.Compare(*a, *b)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
