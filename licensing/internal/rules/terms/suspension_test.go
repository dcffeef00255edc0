package terms_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

func TestSuspensionHasTwoOwners(t *testing.T) {
	is := is.New(t)
	grant := func(sales ...sale) *terms.Grant {
		var set []terms.Purchase
		for _, s := range sales {
			p := s.purchase()
			p.Reason = "no payment"
			set = append(set, p)
		}
		return terms.GrantOf(set, "app")
	}
	active, paused, later := sale{reference: "a", plan: pro}, sale{reference: "a", plan: pro, paused: 5}, sale{reference: "a", plan: pro, paused: 9}
	other := sale{reference: "b", plan: pro, first: 1, paused: 6, joins: true}
	now := day(20)

	s := terms.Suspension{}.Follow(grant(paused), now)
	is.Equal(s, terms.Suspension{By: "a", ByReason: "no payment"})
	is.Equal(s.Reason(), "no payment")

	// The operator's hold is his own, also on a license that a payment has suspended.
	held := s.Hold("fraud")
	is.Equal(held.Reason(), "fraud")
	held = held.Follow(grant(active), now)
	is.True(held.Suspended())
	is.Equal(held, terms.Suspension{Held: true, HeldReason: "fraud"})
	is.Equal(terms.Suspension{}.Hold("").Follow(grant(paused), now).Reason(), "no payment")

	// Reinstate ends both, and the pause holds again when it is next paused after it was
	// something else.
	ended := held.Follow(grant(paused), now).Reinstate(grant(paused))
	is.Equal(ended.Suspended(), false)
	is.Equal(ended.Follow(grant(later), now).Suspended(), false)
	is.Equal(ended.Follow(grant(active), now).Suspended(), false)
	is.Equal(ended.Follow(grant(active), now).Follow(grant(later), now).By, "a")
	is.Equal(ended.Follow(grant(later, other), now).By, "b") // another one

	// While another purchase counts, no pause suspends, and the one that was lifted stays so.
	counts := sale{reference: "b", plan: pro, first: 1, joins: true}
	is.Equal(ended.Follow(grant(paused, counts), now).Follow(grant(paused), now).Suspended(), false)
	is.Equal(terms.Suspension{}.Follow(grant(paused, counts), now).Suspended(), false)
	is.Equal(terms.Suspension{}.Follow(grant(paused, other), now).By, "b")

	// Undo puts back the owner of before, as far as the purchases still say so.
	is.Equal(s.Hold("bulk").Suspended(), true)
	is.Equal(s.Follow(grant(paused), now), s)
	is.Equal(s.Follow(grant(active), now), terms.Suspension{})
}
