package terms_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// A modelHand is the fields set by hand, in the form of a sheet. That of seats is the
// part of the bases, and so is that of a limit of a meter, which is a handMeter.
type modelHand sheet

// step applies what the purchases change from was to is, and returns the sheet of the
// license.
func (hand modelHand) step(was, is sheet) sheet {
	for key, v := range hand {
		switch {
		case key == "seats" && was["bases"] == is["bases"]:
		case key == "seats":
			delete(hand, key)
		case strings.HasPrefix(key, "meters/"):
			if was["base "+key] != is["base "+key] {
				delete(hand, key)
			}
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
		case strings.HasPrefix(key, "meters/"):
			shown[key] = v.(handMeter).with(is.addsTo(key, v.(handMeter).per))
		default:
			shown[key] = v
		}
	}
	return shown
}

// A handMeter is a meter set by hand, without what add-ons add.
type handMeter struct {
	limit int64
	none  bool
	soft  bool
	per   api.MeterPeriod
}

func (m handMeter) with(adds int64) string {
	limit := max(0, min(m.limit+adds, 1e12))
	if m.none {
		limit = -1
	}
	return meterText(limit, m.soft, m.per)
}

// addsTo returns what add-ons add to a meter with a period.
func (is sheet) addsTo(key string, per api.MeterPeriod) int64 {
	shown, _ := is[key].(string)
	if adds, ok := is["adds "+key].(int64); ok && strings.HasSuffix(shown, fmt.Sprintf(" %q", per)) {
		return adds
	}
	return 0
}

const unlimitedByHand = int64(-1 << 40)

// edit changes a field of a license as an operator does, in the terms and in the model.
func edit(r *rand.Rand, want *terms.Terms, hand modelHand, given sheet) {
	want.Entitlements, want.Metadata, want.Meters = maps.Clone(want.Entitlements), maps.Clone(want.Metadata), maps.Clone(want.Meters)
	switch r.IntN(11) {
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
		if hand["seats"] = want.MaxActivations - given["adds"].(int64); want.MaxActivations < 0 {
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
	case 7, 8:
		name := pick(r, "calls", "pack", "gift")
		was, had := want.Meters[name]
		if r.IntN(4) == 0 {
			if delete(want.Meters, name); had {
				hand["meters/"+name] = nil
			}
			return
		}
		m := api.Meter{Limit: pick(r, nil, counts(0), counts(50), counts(7)), Soft: r.IntN(3) == 0, Per: pick(r, "", api.PerMonth, was.Per)}
		if had && meterText(counted(m.Limit), m.Soft, m.Per) == meterText(counted(was.Limit), was.Soft, was.Per) {
			return
		}
		key := "meters/" + name
		if want.Meters == nil {
			want.Meters = map[string]api.Meter{}
		}
		want.Meters[name] = m
		hand[key] = handMeter{counted(m.Limit) - given.addsTo(key, m.Per), m.Limit == nil, m.Soft, m.Per}
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
	edits := 0
	for seed := range numSeeds(800) {
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
				edit(r, &want, hand, given)
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
