package terms_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

func TestEntitlementsAreTheUnionByName(t *testing.T) {
	is := is.New(t)
	give := func(p api.Plan, name string, v any) api.Plan {
		return with(p, func(p *api.Plan) { p.Entitlements[name] = v })
	}
	for _, test := range []struct {
		a, b, c any // of two bases, the second of which governs, and of 3 units of an add-on
		want    any
	}{
		{5.0, 7.0, nil, 7.0}, {7.0, 5.0, nil, 7.0}, {5.0, nil, 2.0, 11.0}, {nil, nil, 2.0, 6.0},
		{5.0, "some", nil, "some"}, {"some", 5.0, 2.0, 11.0}, {-3.0, nil, nil, -3.0}, {true, nil, 2.0, true}, {nil, nil, "all", "all"},
		{1e308, nil, 1e308, 1.7976931348623157e308},
	} {
		set := []terms.Purchase{
			sale{reference: "a", plan: give(pro, "x", test.a)}.purchase(),
			sale{reference: "b", plan: give(team, "x", test.b), first: 1, joins: true}.purchase(),
			sale{reference: "c", plan: give(extra, "x", test.c), first: 2, quantity: 3, joins: true}.purchase(),
		}
		for i := range set {
			maps.DeleteFunc(set[i].Plan.Entitlements, func(_ string, v any) bool { return v == nil })
		}
		at, _ := terms.GrantOf(set, "app").At(day(3))
		is.Equal(at.Entitlements["x"], test.want)
	}
}

func TestNamesAndMetadataNeverChangeByTime(t *testing.T) {
	is := is.New(t)
	a, b, c := sale{reference: "a", plan: pro}.purchase(), sale{reference: "b", plan: pro, first: 5, refunded: 6, joins: true}.purchase(), sale{reference: "c", plan: extra, first: 7, joins: true}.purchase()
	a.Name, b.Name, c.Name = "A", "B", "C"
	b.Metadata, c.Metadata = map[string]*string{"k": nil}, map[string]*string{"k": text("c"), "l": text("c")}
	g := terms.GrantOf([]terms.Purchase{a, b, c}, "")
	for _, n := range []int{0, 5, 7, 50, 200} {
		at, _ := g.At(day(n))
		is.Equal(at.Name, "A")
		is.True(at.Metadata["k"] == nil)
		is.Equal(*at.Metadata["l"], "c")
	}
}

func TestTheProductIsThatOfThePurchaseThatMadeTheLicense(t *testing.T) {
	is := is.New(t)
	other := func(p api.Plan) api.Plan { return with(p, func(p *api.Plan) { p.ProductID = "other" }) }
	a, b := sale{reference: "a", plan: pro}.purchase(), sale{reference: "b", plan: other(extra), first: 1, joins: true}.purchase()
	was := []terms.Purchase{a, b}
	s := terms.State{}.Follow(nil, was, day(2))
	is.Equal(s.ProductID, "app")
	is.Equal(s.MaxActivations, int64(5))
	is.Equal(terms.GrantOf(was, "app").Standing("b", day(2)).Waiting, api.WaitingOtherProduct)

	a.Plan = other(pro)
	moved := []terms.Purchase{a, b}
	next := s.Follow(was, moved, day(2))
	is.Equal(next.ProductID, "other")
	is.Equal(next.MaxActivations, int64(7)) // the add-on fits now
	is.True(terms.Outdates(s, next))

	// While the plan of that purchase is not known, it fits any product.
	a.Plan.ProductID = ""
	unknown, ok := terms.GrantOf([]terms.Purchase{a}, "app").At(day(2))
	is.True(ok)
	is.Equal(unknown.ProductID, "app")

	// A product that was set by hand stays until the purchase says another one.
	want := s.Terms
	want.ProductID = "third"
	s, _ = s.Edit(was, want, day(2))
	is.Equal(s.ProductID, "third")
	is.Equal(s.MaxActivations, int64(5)) // the purchase that made it still fits
	is.Equal(s.Follow(was, moved, day(3)).ProductID, "other")
}

func TestSeatsHaveALimit(t *testing.T) {
	is := is.New(t)
	set := []terms.Purchase{
		sale{reference: "a", plan: pro, quantity: 1_000_000_000}.purchase(),
		sale{reference: "b", plan: extra, quantity: 1_000_000_000, first: 1, joins: true}.purchase(),
	}
	at, _ := terms.GrantOf(set[:1], "app").At(day(2))
	is.Equal(at.MaxActivations, int64(1_000_000))
	at, _ = terms.GrantOf(set, "app").At(day(2))
	is.Equal(at.MaxActivations, int64(1_000_000))
	set[0].Plan.MaxActivations = nil
	at, _ = terms.GrantOf(set, "app").At(day(2))
	is.Equal(at.MaxActivations, int64(-1))
}

func TestGraceIsRoundedUpToWholeSeconds(t *testing.T) {
	is := is.New(t)
	a, b := sale{reference: "a", plan: grace, until: 100}.purchase(), sale{reference: "b", plan: pro, first: 1, until: 100, joins: true}.purchase()
	b.Until = b.Until.Add(time.Millisecond)
	at, _ := terms.GrantOf([]terms.Purchase{a, b}, "app").At(day(2))
	is.Equal(at.ExpiresAt, b.Until)
	is.Equal(at.GraceSeconds, int64(10*86400)) // a millisecond less, rounded up
}

func TestOnlyTheFirstPurchaseThatTakesALicenseOverContinuesIt(t *testing.T) {
	is := is.New(t)
	own := terms.Own("lic_1", "pro", day(0), terms.Terms{ProductID: "app", MaxActivations: 3, ExpiresAt: day(300)})
	set := []terms.Purchase{own, sale{reference: "a", plan: team, first: 5, joins: true}.purchase(), sale{reference: "b", plan: pro, first: 10, joins: true}.purchase()}
	at, _ := terms.GrantOf(set, "app").At(day(11))
	is.Equal(at.ExpiresAt, day(110)) // the first one is of another line
	set[1].RefundedAt = day(11)
	at, _ = terms.GrantOf(set, "app").At(day(11))
	is.Equal(at.ExpiresAt, day(400)) // one that was refunded does not take it over
}

func TestAnAddOnThatEndsWithinAMillisecondOfItsBase(t *testing.T) {
	is := is.New(t)
	for _, early := range []time.Duration{0, time.Millisecond} {
		a, b := sale{reference: "a", plan: pro}.purchase(), sale{reference: "b", plan: extra, first: 1, until: 100, joins: true}.purchase()
		b.Until = b.Until.Add(-early)
		at, _ := terms.GrantOf([]terms.Purchase{a, b}, "app").At(day(200))
		is.Equal(at.MaxActivations, 7-2*int64(early/time.Millisecond))
	}
}

func TestALicenseHasAtMostAHundredEntitlements(t *testing.T) {
	is := is.New(t)
	many := func(p api.Plan, prefix string) api.Plan {
		return with(p, func(p *api.Plan) {
			p.Entitlements = map[string]any{}
			for i := range 60 {
				p.Entitlements[fmt.Sprintf("%s%02d", prefix, i)] = true
			}
		})
	}
	set := []terms.Purchase{
		sale{reference: "a", plan: many(pro, "a")}.purchase(),
		sale{reference: "b", plan: many(team, "b"), first: 1, until: 50, joins: true}.purchase(),
		sale{reference: "c", plan: many(extra, "c"), first: 2, until: 60, joins: true}.purchase(),
	}
	names := func(s terms.State) (all []int) {
		for _, prefix := range []string{"a", "b", "c", "z"} {
			n := 0
			for name := range s.Entitlements {
				if strings.HasPrefix(name, prefix) {
					n++
				}
			}
			all = append(all, n)
		}
		return all
	}
	s := terms.State{}.Follow(nil, set, day(3))
	is.Equal(names(s), []int{40, 60, 0, 0}) // those of the governing base come first
	want := s.Terms
	want.Entitlements = map[string]any{"z": true}
	for name := range s.Entitlements {
		if name != "b00" {
			want.Entitlements[name] = true
		}
	}
	s, _ = s.Edit(set, want, day(3))
	is.Equal(names(s), []int{40, 59, 0, 1})
	later, _ := s.Pass(day(51))
	is.Equal(names(later), []int{60, 0, 39, 1}) // what was set by hand comes first
	later, _ = s.Pass(day(61))
	is.Equal(names(later), []int{60, 0, 0, 1})
}

func TestAPurchaseOfAnotherProductNamesNothing(t *testing.T) {
	is := is.New(t)
	a, b := sale{reference: "a", plan: pro}.purchase(), sale{reference: "b", plan: with(pro, func(p *api.Plan) { p.ProductID = "other" }), first: 1, joins: true}.purchase()
	b.Name = "b"
	at, _ := terms.GrantOf([]terms.Purchase{a, b}, "app").At(day(2))
	is.Equal(at.Name, "")
}

func TestRenewals(t *testing.T) {
	is := is.New(t)
	of := func(sales ...sale) *terms.Grant {
		var set []terms.Purchase
		for _, s := range sales {
			set = append(set, s.purchase())
		}
		return terms.GrantOf(set, "app")
	}
	a, longer := sale{reference: "a", plan: pro, until: 50}, sale{reference: "a", plan: pro, until: 60}
	never, next := sale{reference: "f", plan: free, joins: true}, sale{reference: "b", plan: pro, first: 10, joins: true}
	other, shorter := sale{reference: "t", plan: team, first: 11, joins: true}, sale{reference: "s", plan: pro, until: 55, joins: true}
	paid := sale{reference: "trial:a", plan: trial}
	add := sale{reference: "x", plan: extra, first: 1, joins: true}
	for _, test := range []struct {
		was, is *terms.Grant
		want    bool
	}{
		{of(a), of(longer), true},
		{of(longer), of(a), false},
		{of(a, never), of(longer, never), true}, // the license never ends
		{of(a), of(a, next), true},              // another one continues it
		{of(a, never), of(a, next, never), true},
		{of(never), of(never, next), false},                                   // the first of its line
		{of(a, next, never), of(a, next, never, other), false},                // of another line
		{of(longer, never), of(longer, shorter, never), false},                // ends earlier than that one
		{of(paid, never), of(paid, sale{reference: "b", plan: trial}), false}, // a trial continues nothing
		{of(a), of(a, add), false},
		{of(), of(a), false},
	} {
		is.Equal(terms.Renews(test.was, test.is, day(12)), test.want)
	}
}
