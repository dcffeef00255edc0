package terms

import (
	"cmp"
	"slices"
	"time"
)

// A State is what is stored of a license that has purchases. The terms are those of
// the purchases at the instant of the last write, with what was set by hand.
type State struct {
	Terms
	Hand    Hand
	Changes []Change // to come, the earliest first
	Awaits  bool     // the end of a purchase is unknown until the license is first activated
}

// Pass returns the state at a later instant: the changes up to then have been made.
// passed are those, in their order.
func (s State) Pass(now time.Time) (next State, passed []Change) {
	if len(s.Changes) == 0 || now.Before(s.Changes[0].At) {
		return s, nil
	}
	next = s
	next.Terms = s.copied()
	for len(next.Changes) > 0 && !now.Before(next.Changes[0].At) {
		c := next.Changes[0]
		c.apply(&next.Terms)
		next.Hand, next.Changes = next.Hand.without(c.GivesWay), next.Changes[1:]
	}
	return next, s.Changes[:len(s.Changes)-len(next.Changes)]
}

// Follow returns the state after the purchases of the license changed from was to is.
// The state is that of [State.Pass] at now. Without was, the license is new, and its
// terms are those of is. If no purchase has a part in it, it stays unchanged.
func (s State) Follow(was, is []Purchase, now time.Time) State {
	return s.FollowGrants(GrantOf(was, s.ProductID), GrantOf(is, ProductAfter(s.ProductID, was, is)), now)
}

// ProductAfter returns the product of a license after its purchases changed from was to is.
func ProductAfter(product string, was, is []Purchase) string {
	if made := madeFor(is); made != "" && made != madeFor(was) {
		return made
	}
	return product
}

// FollowGrants is [State.Follow], with the grants of was for the product of the state, and of is for
// that of [ProductAfter].
func (s State) FollowGrants(before, after *Grant, now time.Time) (next State) {
	then, ok := after.At(now)
	if !ok {
		return s
	}
	next = s
	if given, ok := before.At(now); ok {
		next.Hand, _ = s.Hand.follow(&given, &then)
	}
	next.Terms = named(next.Hand.Over(then), s.Terms)
	next.Changes, next.Awaits = after.Changes(next.Hand, now), after.awaits()
	return next
}

// Restore returns the state at an instant of a license of which the purchases, and what
// was set by hand then, are known. If no purchase has a part in it, it is s.
func (s State) Restore(purchases []Purchase, hand Hand, at time.Time) State {
	g := GrantOf(purchases, s.ProductID)
	given, ok := g.At(at)
	if !ok {
		return s
	}
	return State{named(hand.Over(given), s.Terms), hand, g.Changes(hand, at), g.awaits()}
}

func (g *Grant) awaits() bool {
	return slices.ContainsFunc(g.spans, func(s span) bool { return s.Purchase.awaits() })
}

// madeFor returns the product of the purchase that made the license; empty: none did.
func madeFor(purchases []Purchase) string {
	for i := range purchases {
		if purchases[i].Made {
			return purchases[i].Plan.ProductID
		}
	}
	return ""
}

// named returns terms with the name and the product of others if they have none.
func named(t, other Terms) Terms {
	t.Name, t.ProductID = cmp.Or(t.Name, other.Name), cmp.Or(t.ProductID, other.ProductID)
	return t
}
