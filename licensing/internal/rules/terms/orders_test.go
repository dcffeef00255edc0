package terms_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// A said is an event about a purchase, at an instant in seconds.
type said struct {
	reference string
	at        int
	state     string // active, paused, ended, refunded; empty: not said
	until     int    // 0: not said; -1: never
	quantity  int64  // 0: not said
}

// plansOf are the plans of the purchases in a history, by reference.
type plansOf map[string]api.Plan

// purchasesOf returns the purchases that a set of events makes, in no order: of each
// field, what was said last. A purchase is granted once it was active, an add-on only if
// there is a license.
func (plans plansOf) purchasesOf(events []said) []terms.Purchase {
	byReference := map[string][]said{}
	for _, e := range events {
		byReference[e.reference] = append(byReference[e.reference], e)
	}
	var all []terms.Purchase
	license := false
	for reference, events := range byReference {
		p := terms.Purchase{Reference: reference, Plan: plans[reference]}
		last := map[string]int{}
		newest := func(field string, at int) bool {
			if has, ok := last[field]; ok && has > at {
				return false
			}
			last[field] = at
			return true
		}
		for _, e := range events {
			switch e.state {
			case "active":
				if first := sec(e.at); p.FirstActive.IsZero() || first.Before(p.FirstActive) {
					p.FirstActive = first
				}
				if newest("state", e.at) {
					p.PausedAt = time.Time{}
				}
			case "paused":
				if newest("state", e.at) {
					p.PausedAt = sec(e.at)
				}
			case "ended":
				if p.EndedAt.IsZero() || sec(e.at).Before(p.EndedAt) {
					p.EndedAt = sec(e.at)
				}
			case "refunded":
				if p.RefundedAt.IsZero() || sec(e.at).Before(p.RefundedAt) {
					p.RefundedAt = sec(e.at)
				}
			}
			if e.until != 0 && newest("until", e.at) {
				p.UntilSaid, p.Until = true, sec(e.until)
			}
			if e.quantity != 0 && newest("quantity", e.at) {
				p.Quantity = e.quantity
			}
		}
		if p.FirstActive.IsZero() {
			continue
		}
		license = license || p.Plan.Kind != api.PlanAddOn
		all = append(all, p)
	}
	if !license {
		return nil
	}
	return all
}

// told returns the state after events arrived in an order, from an instant on, gap
// seconds apart.
func (plans plansOf) told(events []said, from, gap int) (s terms.State, now int) {
	var was []terms.Purchase
	s.ProductID, now = "app", from
	for i := range events {
		if i > 0 {
			now += gap
		}
		is := plans.purchasesOf(events[:i+1])
		s, _ = s.Pass(sec(now))
		s = s.Follow(was, is, sec(now))
		was = is
	}
	return s, now
}

// compareLater compares what a state becomes with the model at each later instant.
func compareLater(s terms.State, m *model, now, until int) error {
	var last sheet
	visible := 0
	for t := now; t < until; t++ {
		next, passed := s.Pass(sec(t))
		want := m.at(sec(t).UnixMilli()).shown()
		if wrong := differ(sheetOf(next.Terms), want); wrong != "" {
			return fmt.Errorf("from %d on, at %d: %s", now, t, wrong)
		}
		if last != nil && differ(last, want) != "" {
			visible++
		}
		n := 0
		for _, c := range passed {
			if c.Visible() {
				n++
			}
		}
		if last = want; n != visible {
			return fmt.Errorf("from %d on, up to %d: %d changes, want %d", now, t, n, visible)
		}
	}
	return nil
}

func permutations(n int, use func([]int)) {
	order := make([]int, 0, n)
	var step func()
	step = func() {
		if len(order) == n {
			use(order)
		}
		for i := range n {
			if !slices.Contains(order, i) {
				order = append(order, i)
				step()
				order = order[:len(order)-1]
			}
		}
	}
	step()
}

// lives are what happens to a purchase, in up to two more events.
var lives = [][]said{
	{{at: 2, state: "active"}},
	{{at: 3, state: "active"}, {at: 6, state: "ended"}},
	{{at: 4, state: "active"}, {at: 5, state: "refunded"}},
	{{at: 3, state: "active"}, {at: 5, state: "paused"}},
	{{at: 2, state: "active", until: 7, quantity: 2}, {at: 6, until: 9, quantity: 3}},
	{{at: 5, state: "active"}, {at: 4, state: "paused"}},
}

func plansForOrders() []api.Plan {
	plan := func(id string, seats int64, seconds int, change func(*api.Plan)) api.Plan {
		p := api.Plan{ID: id, ProductID: "app", Duration: api.Duration{Seconds: seconds}}
		p.MaxActivations, p.Entitlements = counts(seats), map[string]any{id: true, "n": float64(seats)}
		p.Meters = map[string]api.Meter{"calls": {Limit: counts(10 * seats), Per: api.PerMonth}}
		if change != nil {
			change(&p)
		}
		return p
	}
	return []api.Plan{
		plan("pro", 5, 4, nil),
		plan("pro", 5, 4, func(p *api.Plan) { p.GraceSeconds = 2 }),
		plan("free", 1, 0, nil),
		plan("kept", 3, 4, func(p *api.Plan) { p.UntilEnds = api.UntilEndsUpdates }),
		plan("extra", 2, 3, func(p *api.Plan) { p.Kind, p.Meters["pack"] = api.PlanAddOn, api.Meter{Limit: counts(7)} }),
	}
}

// TestEveryOrderOfSmallHistoriesEndsTheSame tries every fourth without -all.
func TestEveryOrderOfSmallHistoriesEndsTheSame(t *testing.T) {
	plans, n := plansForOrders(), 0
	for i, a := range plans {
		for j, b := range plans[i:] {
			for k, first := range lives {
				for l, second := range lives {
					of := plansOf{"a": a, "b": b}
					events := append(named("a", first), named("b", second)...)
					final := of.purchasesOf(events)
					if len(final) == 0 {
						continue
					}
					m := modelOf(final, "app")
					permutations(len(events), func(order []int) {
						if n++; !*all && n%4 != 0 {
							return
						}
						some := make([]said, len(order))
						for i, x := range order {
							some[i] = events[x]
						}
						s, now := of.told(some, 6, n%3)
						if err := compareLater(s, m, now, 25); err != nil {
							t.Fatalf("plans %d and %d after it, lives %d and %d, order %v: %v%s", i, j, k, l, order, err, show(final))
						}
					})
				}
			}
		}
	}
	t.Logf("%d orders", n)
}

func named(reference string, events []said) []said {
	events = slices.Clone(events)
	for i := range events {
		events[i].reference = reference
	}
	return events
}

func TestRandomOrdersOfLargeHistoriesEndTheSame(t *testing.T) {
	n := numSeeds(600)
	for seed := range n {
		r := rand.New(rand.NewPCG(2, uint64(seed)))
		of := plansOf{}
		var events []said
		for _, reference := range []string{"a", "b", "c"} {
			of[reference] = randomPurchase(r, reference).Plan
			for _, at := range r.Perm(12)[:1+r.IntN(5)] {
				events = append(events, said{reference, 1 + at, pick(r, "", "active", "active", "active", "paused", "ended", "refunded"), pick(r, 0, 0, -1, 6, 9), pick[int64](r, 0, 1, 2)})
			}
		}
		final := of.purchasesOf(events)
		if len(final) == 0 {
			continue
		}
		r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		repeated := append(slices.Clone(events), events[r.IntN(len(events))])
		s, now := of.told(repeated, r.IntN(15), r.IntN(3))
		product := s.ProductID
		if err := compareLater(s, modelOf(final, product), now, horizon); err != nil && s.PlanID != "" {
			t.Fatalf("seed %d: %v\n%v%s", seed, err, events, show(final))
		}
	}
}

func TestEveryOrderOfThreePurchasesEndsTheSame(t *testing.T) {
	n, plans := numSeeds(6), plansForOrders()
	for seed := range n {
		r := rand.New(rand.NewPCG(9, uint64(seed)))
		of := plansOf{"a": pick(r, plans[:4]...), "b": pick(r, plans...), "c": pick(r, plans...)}
		events := slices.Concat(named("a", pick(r, lives...)), named("b", pick(r, lives[1:]...)), named("c", pick(r, lives[1:]...)))
		final := of.purchasesOf(events)
		m := modelOf(final, "app")
		permutations(len(events), func(order []int) {
			some := make([]said, len(order))
			for i, x := range order {
				some[i] = events[x]
			}
			some = append(some, some[r.IntN(len(some))]) // one arrives twice
			s, now := of.told(some, 4, r.IntN(3))
			if err := compareLater(s, m, now, 20); err != nil {
				t.Fatalf("seed %d, order %v: %v%s", seed, order, err, show(final))
			}
		})
	}
}
