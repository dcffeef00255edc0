package terms

import (
	"maps"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// The limits of the meters of a license.
const (
	MaxMeters = 20
	// MaxUnits is the largest limit of a meter.
	MaxUnits = 1_000_000_000_000
)

// MetersOf returns the meters of a number of units of a plan, which share no memory with
// the plan, and whether a limit is less than it should be, because no meter has as many;
// nil: there are none.
func MetersOf(plan api.Plan, units int64) (meters map[string]api.Meter, clamped bool) {
	if len(plan.Meters) == 0 {
		return nil, false
	}
	meters = maps.Clone(plan.Meters)
	for name, m := range meters {
		if m.Limit != nil {
			n := *m.Limit
			all := min(units, MaxUnits/max(1, n)+1) * n
			m.Limit = new(min(all, MaxUnits))
			meters[name], clamped = m, clamped || all > MaxUnits
		}
	}
	return meters, clamped
}

// setMeters sets Meters: of each name, the greatest limit of the bases, and what the
// add-ons add. The first purchase that has a name, the governing base before all,
// determines Soft and Per. A purchase with another Per does not count for that meter.
func (t *Terms) setMeters(l *live, spans []span) {
	for i := len(spans) - 1; i >= 0; i-- {
		if s := &spans[i]; len(s.Plan.Meters) > 0 && l.has(s) {
			t.include(s, func(_ string, has, m api.Meter) *int64 {
				if has.Limit == nil || m.Limit == nil {
					return nil
				}
				return new(max(*has.Limit, *m.Limit))
			})
		}
	}
	t.baseMeters = maps.Clone(t.Meters)
	for i := len(spans) - 1; i >= 0; i-- {
		if s := &spans[i]; len(s.Plan.Meters) > 0 && s.role == addOn && s.counts(l.at) {
			t.include(s, t.added)
		}
	}
}

// include adds the meters of a purchase, in the order of their names. Both returns the
// limit of a meter that an earlier purchase has, too.
func (t *Terms) include(s *span, both func(name string, has, m api.Meter) *int64) {
	meters, _ := MetersOf(s.Plan, s.units())
	for _, name := range slices.Sorted(maps.Keys(meters)) {
		m := meters[name]
		if has, ok := t.Meters[name]; ok && has.Per == m.Per {
			m.Limit, m.Soft = both(name, has, m), has.Soft
		} else if ok || len(t.Meters) == MaxMeters {
			continue
		}
		if s.role == addOn && meters[name].Limit != nil {
			t.addedUnits = placed(t.addedUnits, name, t.addedUnits[name]+*meters[name].Limit, false)
		}
		t.Meters = placed(t.Meters, name, m, false)
	}
}

// added returns the limit of a meter with what an add-on adds. An add-on without a limit
// adds nothing to a base; of add-ons alone, one without a limit leaves the meter none.
func (t *Terms) added(name string, has, m api.Meter) *int64 {
	if has.Limit != nil && m.Limit != nil {
		return new(min(*has.Limit+*m.Limit, MaxUnits))
	}
	if _, ofBase := t.baseMeters[name]; ofBase {
		return has.Limit
	}
	return nil
}

// addsTo returns the units that add-ons add to a meter that bases or an operator set.
func (t *Terms) addsTo(name string, m api.Meter) int64 {
	if m.Per != t.Meters[name].Per {
		return 0
	}
	return t.addedUnits[name]
}

// whole returns a meter with what add-ons add.
func (t *Terms) whole(name string, m api.Meter) api.Meter {
	if m.Limit != nil {
		m.Limit = new(min(max(0, *m.Limit+t.addsTo(name, m)), MaxUnits))
	}
	return m
}

// part returns a meter without what add-ons add, which may be less than zero.
func (t *Terms) part(name string, m api.Meter) api.Meter {
	if m.Limit != nil {
		m.Limit = new(*m.Limit - t.addsTo(name, m))
	}
	return m
}

// WithAddOns returns the terms of a plan with the activations and the meters that add-ons
// of the license add.
func (t Terms) WithAddOns(plan api.Terms) api.Terms {
	if n := plan.MaxActivations; n != nil {
		plan.MaxActivations = new(seats(*n, t.addOns, false))
	}
	var given Hand
	for name, m := range plan.Meters {
		given.Meters = placed(given.Meters, name, &m, false)
	}
	for name := range t.baseMeters {
		if _, ok := plan.Meters[name]; !ok {
			given.Meters = placed(given.Meters, name, nil, false)
		}
	}
	plan.Meters = given.meters(&t)
	return plan
}

// meters returns the meters that the purchases give, with those that were set by hand. If
// there are too many, those set by hand are kept.
func (h Hand) meters(given *Terms) map[string]api.Meter {
	if len(h.Meters) == 0 {
		return given.Meters
	}
	all := make(map[string]api.Meter, len(h.Meters)+len(given.Meters))
	for name, m := range h.Meters {
		if m != nil {
			all[name] = given.whole(name, *m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given.Meters)) {
		if _, ok := h.Meters[name]; !ok && len(all) < MaxMeters {
			all[name] = given.Meters[name]
		}
	}
	return all
}

// setMeters records the meters that differ between was and want as set by hand, as far
// as the purchases do not give them.
func (h *Hand) setMeters(was, want, given *Terms) {
	h.Meters = maps.Clone(h.Meters)
	for name, m := range changedMeters(was.Meters, want.Meters) {
		is, ok := given.Meters[name]
		switch {
		case m == nil && !ok || m != nil && ok && sameMeter(is, *m):
			delete(h.Meters, name)
		case m == nil:
			h.Meters = placed(h.Meters, name, nil, false)
		default:
			part := given.part(name, *m)
			h.Meters = placed(h.Meters, name, &part, false)
		}
	}
}

// changedMeters returns the meters that differ, as they are in is; nil: removed.
func changedMeters(was, is map[string]api.Meter) (changed map[string]*api.Meter) {
	for name, m := range differences(was, is, sameMeter) {
		var now *api.Meter
		if _, ok := is[name]; ok {
			now = &m
		}
		changed = placed(changed, name, now, false)
	}
	return changed
}

func sameMeter(a, b api.Meter) bool {
	return count(a.Limit) == count(b.Limit) && a.Soft == b.Soft && a.Per == b.Per
}
