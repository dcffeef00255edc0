package terms_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// A modelHand is the fields set by hand, in the form of a sheet. That of seats is the
// part of the bases.
type modelHand sheet

// step applies what the purchases change from was to is, and returns the sheet of the
// license.
func (hand modelHand) step(was, is sheet) sheet {
	for key, v := range hand {
		switch {
		case key == "seats" && was["bases"] == is["bases"]:
		case key == "seats":
			delete(hand, key)
		case key == "name" && is["name"] == "":
		case was[key] == is[key]:
		case (key == "expires" || key == "updates") && is[key].(int64) > was[key].(int64) && is[key].(int64) <= v.(int64):
		default:
			delete(hand, key)
		}
	}
	shown := is.shown()
	for key, v := range hand {
		switch {
		case v == nil:
			delete(shown, key)
		case key == "seats":
			shown[key] = modelSeats(v.(int64), v.(int64) == unlimitedByHand, is["adds"].(int64))
		default:
			shown[key] = v
		}
	}
	return shown
}

const unlimitedByHand = int64(-1 << 40)

// edit changes a field of a license as an operator does, in the terms and in the model.
func edit(r *rand.Rand, want *terms.Terms, hand modelHand, adds int64) {
	want.Entitlements, want.Metadata = maps.Clone(want.Entitlements), maps.Clone(want.Metadata)
	switch r.IntN(9) {
	case 0:
		was := want.ExpiresAt
		if want.ExpiresAt = pick(r, sec(-1), sec(3+r.IntN(15))); !was.Equal(want.ExpiresAt) {
			hand["expires"] = ms(want.ExpiresAt, forever)
		}
	case 1:
		was := want.MaxActivations
		if want.MaxActivations = pick[int64](r, -1, 0, 2, 7); was == want.MaxActivations {
			return
		}
		if hand["seats"] = want.MaxActivations - adds; want.MaxActivations < 0 {
			hand["seats"] = unlimitedByHand
		}
	case 2:
		if was := want.GraceSeconds; was != 3 {
			want.GraceSeconds, hand["grace"] = 3, int64(3)
		}
	case 3:
		was := want.UpdatesUntil
		if want.UpdatesUntil = pick(r, sec(-1), sec(3+r.IntN(15))); !was.Equal(want.UpdatesUntil) {
			hand["updates"] = ms(want.UpdatesUntil, forever)
		}
	case 4:
		if want.LeaseSeconds != 77 {
			want.LeaseSeconds, hand["lease"] = 77, int64(77)
		}
	case 5:
		was := want.Name
		if want.Name = pick(r, "one", "two"); was != want.Name {
			hand["name"] = want.Name
		}
	case 6:
		name := pick(r, "a", "b", "c")
		was, had := want.Metadata[name]
		switch v := pick(r, nil, text("y"), text("z")); {
		case v == nil && had:
			hand["metadata/"+name] = nil
			delete(want.Metadata, name)
		case v != nil && (!had || *was != *v):
			hand["metadata/"+name] = "=" + *v
			if want.Metadata == nil {
				want.Metadata = map[string]*string{}
			}
			want.Metadata[name] = v
		}
	default:
		name := pick(r, "export", "sso", "mine")
		was, had := want.Entitlements[name]
		v := pick[any](r, nil, true, 4.0)
		if v == nil && !had || v == was {
			return
		}
		if hand["entitlements/"+name] = v; v == nil {
			delete(want.Entitlements, name)
			return
		}
		if want.Entitlements == nil {
			want.Entitlements = map[string]any{}
		}
		want.Entitlements[name] = v
	}
}

func TestFieldsSetByHandStayUntilTheirValueInThePurchasesChanges(t *testing.T) {
	n := 800
	if testing.Short() {
		n = 300
	}
	edits := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(3, uint64(seed)))
		fresh := func(reference string) terms.Purchase {
			p := randomPurchase(r, reference)
			p.Reference, p.Plan.ProductID = reference, "app"
			return p
		}
		set := []terms.Purchase{fresh("a"), fresh("b"), fresh("c")}
		set[0].Made = true
		now := 1 + r.IntN(4)
		s := terms.State{}.Follow(nil, set, sec(now))
		hand, log := modelHand{}, ""
		m := modelOf(set, "app")
		given := m.at(sec(now).UnixMilli())
		for range 6 {
			for range r.IntN(4) { // time passes
				now++
				next := m.at(sec(now).UnixMilli())
				hand.step(given, next)
				given = next
			}
			s, _ = s.Pass(sec(now))
			if r.IntN(2) == 0 {
				want := s.Terms
				edit(r, &want, hand, given["adds"].(int64))
				log += fmt.Sprintf("\nat %d by hand: %s", now, differ(sheetOf(want), sheetOf(s.Terms)))
				s, _ = s.Edit(set, want, sec(now))
				edits++
			} else {
				is := slices.Clone(set)
				i := r.IntN(3)
				changed := fresh(is[i].Reference)
				changed.FirstActive, changed.Made = is[i].FirstActive, is[i].Made
				is[i] = changed
				log += fmt.Sprintf("\nat %d changed:%s", now, show(is[i:i+1]))
				s = s.Follow(set, is, sec(now))
				set, m = is, modelOf(is, "app")
			}
			next := m.at(sec(now).UnixMilli())
			shown := hand.step(given, next)
			if given = next; next["name"] == "" && hand["name"] == nil {
				shown["name"] = s.Name
			}
			if wrong := differ(sheetOf(s.Terms), shown); wrong != "" {
				t.Fatalf("seed %d, at %d: %s%s%s", seed, now, wrong, show(set), log)
			}
		}
		for later := now + 1; later < horizon; later++ {
			next := m.at(sec(later).UnixMilli())
			shown := hand.step(given, next)
			if given = next; next["name"] == "" && hand["name"] == nil {
				shown["name"] = s.Name
			}
			is, _ := s.Pass(sec(later))
			if wrong := differ(sheetOf(is.Terms), shown); wrong != "" {
				t.Fatalf("seed %d, passed from %d to %d: %s%s%s", seed, now, later, wrong, show(set), log)
			}
		}
	}
	t.Logf("%d edits", edits)
}
