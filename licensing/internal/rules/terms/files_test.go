package terms_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

func TestWhatFilesLose(t *testing.T) {
	is := is.New(t)
	has := func(name string, v any) terms.Terms { return terms.Terms{Entitlements: map[string]any{name: v}} }
	for _, test := range []struct {
		was, is terms.Terms
		loses   bool
	}{
		{has("n", 5.0), has("n", 6.0), false},
		{has("n", 5.0), has("n", 4.0), true},
		{has("n", 5.0), has("n", "five"), true},
		{has("n", "a"), has("n", "b"), true},
		{has("n", true), has("m", true), true},
		{terms.Terms{}, has("m", true), false},
		{terms.Terms{MaxActivations: -1}, terms.Terms{MaxActivations: 5}, true},
		{terms.Terms{MaxActivations: 5}, terms.Terms{MaxActivations: 1}, false},
		{terms.Terms{MaxActivations: 5}, terms.Terms{MaxActivations: -1}, false},
		{terms.Terms{UpdatesUntil: day(5)}, terms.Terms{UpdatesUntil: day(4)}, true},
		{terms.Terms{}, terms.Terms{UpdatesUntil: day(4)}, true},
		{terms.Terms{UpdatesUntil: day(4)}, terms.Terms{}, false},
		{terms.Terms{ProductID: "a"}, terms.Terms{ProductID: "b"}, true},
	} {
		is.Equal(terms.Loses(test.was, test.is), test.loses)
	}
}

func TestTheGenerationRisesOnlyIfAFilePromisesTooMuch(t *testing.T) {
	is := is.New(t)
	soon := func(until int) sale {
		return sale{reference: "b", plan: sso, first: 10, until: until, joins: true}
	}
	of := func(sales ...sale) (set []terms.Purchase) {
		for _, s := range sales {
			set = append(set, s.purchase())
		}
		return set
	}
	base := sale{reference: "a", plan: pro}
	now := day(12)
	alone := terms.State{}.Follow(nil, of(base), now)
	is.Equal(alone.PromisedUntil(), day(100))
	bought := alone.Follow(of(base), of(base, soon(50)), now)
	is.Equal(bought.PromisedUntil(), day(50))

	// A file that was issued before the add-on was bought does not promise it.
	is.True(!terms.Outdates(alone, bought))
	renewed := bought.Follow(of(base, soon(50)), of(base, soon(90)), now)
	is.Equal(renewed.PromisedUntil(), day(90))
	is.True(!terms.Outdates(bought, renewed))
	is.True(terms.Outdates(renewed, bought)) // it ends earlier than files say
	refunded := soon(50)
	refunded.refunded = 11
	is.True(terms.Outdates(bought, bought.Follow(of(base, soon(50)), of(base, refunded), now))) // it is gone

	// Numbers are compared at each instant: what an add-on adds and takes again is nothing
	// that an earlier file promises, but what a base has is.
	number := func(p api.Plan, n float64) api.Plan {
		return with(p, func(p *api.Plan) { p.Entitlements["n"] = n })
	}
	five, more := sale{reference: "a", plan: number(pro, 5)}, sale{reference: "b", plan: number(sso, 1), first: 10, until: 50, joins: true}
	before := terms.State{}.Follow(nil, of(five), now)
	six := before.Follow(of(five), of(five, more), now)
	is.True(!terms.Outdates(before, six))
	ends := sale{reference: "a", plan: number(planOf("pro", 5, 100, "export"), 4)}
	is.True(terms.Outdates(six, six.Follow(of(five, more), of(ends, more), now)))

	// Time takes away only what no file promises any more.
	is.Equal(len(bought.Changes), 1)
	is.True(bought.Changes[0].Loses)
	is.Equal(bought.Changes[0].At, bought.PromisedUntil())
}

func TestTheNextChangeIsThatOfWhatWasAsked(t *testing.T) {
	is := is.New(t)
	set := []terms.Purchase{
		sale{reference: "a", plan: kept}.purchase(),
		sale{reference: "b", plan: sso, first: 10, until: 40, joins: true}.purchase(),
		sale{reference: "c", plan: extra, first: 11, joins: true}.purchase(),
	}
	s := terms.State{}.Follow(nil, set, day(12))
	is.Equal(s.NextChange(terms.Asked{}), time.Time{})
	is.Equal(s.NextChange(terms.Asked{Entitlements: []string{"export"}}), time.Time{})
	is.Equal(s.NextChange(terms.Asked{Entitlements: []string{"export", "sso"}}), day(40))
	is.Equal(s.NextChange(terms.Asked{Activations: true}), day(41))
	is.Equal(s.NextChange(terms.Asked{Updates: true}), time.Time{})
}

// losesIn is Loses in the form of the model.
func losesIn(was, is sheet) bool {
	for key, v := range was {
		if !strings.HasPrefix(key, "entitlements/") {
			continue
		}
		a, number := v.(float64)
		b, still := is[key].(float64)
		if now, ok := is[key]; !ok || now != v && !(number && still && b > a) {
			return true
		}
	}
	return was["product"] != is["product"] || was["seats"] == int64(-1) && is["seats"] != int64(-1) || is["updates"].(int64) < was["updates"].(int64)
}

func endIn(is sheet) int64 {
	if end := is["expires"].(int64); end != forever {
		return end + 1000*is["grace"].(int64)
	}
	return forever
}

func TestRandomPromisesAreKept(t *testing.T) {
	for seed := range 600 {
		r := rand.New(rand.NewPCG(6, uint64(seed)))
		set, _ := randomSet(r, 1+r.IntN(4))
		changed := slices.Clone(set)
		i := r.IntN(len(set))
		if fresh := randomPurchase(r, "z"); r.IntN(2) == 0 {
			changed = append(changed, fresh)
		} else if !strings.HasPrefix(set[i].Reference, "license:") {
			fresh.Reference, fresh.Made = set[i].Reference, set[i].Made
			changed[i] = fresh
		}
		now := r.IntN(14)
		was := terms.State{Terms: terms.Terms{ProductID: "app"}}.Follow(nil, set, sec(now))
		is := was.Follow(set, changed, sec(now))
		a, b := modelOf(set, was.ProductID), modelOf(changed, is.ProductID)
		start := a.at(sec(now).UnixMilli())
		if start == nil || b.at(sec(now).UnixMilli()) == nil {
			continue
		}
		end := endIn(start)
		if end <= sec(now).UnixMilli() {
			continue // it has no files
		}
		promised, outdated := end, endIn(b.at(sec(now).UnixMilli())) < end
		for n := now; n < horizon && sec(n).UnixMilli() < end; n++ {
			then := a.at(sec(n).UnixMilli())
			if losesIn(start, then) {
				promised = min(promised, sec(n).UnixMilli())
			}
			outdated = outdated || losesIn(then, b.at(sec(n).UnixMilli()))
		}
		if got := ms(was.PromisedUntil(), forever); got != promised {
			t.Fatalf("seed %d: at %d, files promise until %d, want %d%s", seed, now, got, promised, show(set))
		}
		if outdated != terms.Outdates(was, is) {
			t.Fatalf("seed %d: at %d, outdates: %v%s%s", seed, now, !outdated, show(set), show(changed))
		}
	}
}
