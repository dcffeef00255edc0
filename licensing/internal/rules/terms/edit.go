package terms

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// Edit returns the state after the fields of the license were set by hand to those of
// want. The state is that of [State.Pass] at now. If the purchase of [Own] counts and awaits
// the first activation, an end that was set is its end from now on: own is what it becomes.
// Otherwise, own is nil.
func (s State) Edit(purchases []Purchase, want Terms, now time.Time) (next State, own *Purchase) {
	was := GrantOf(purchases, s.ProductID)
	given, ok := was.At(now)
	if !ok {
		s.Terms = want
		return s, nil
	}
	sets := !s.ExpiresAt.Equal(want.ExpiresAt) || !s.UpdatesUntil.Equal(want.UpdatesUntil)
	if i := slices.IndexFunc(purchases, func(p Purchase) bool { return p.isOwn() }); sets && i >= 0 && purchases[i].awaits() && was.has(purchases[i].Reference, now) {
		purchases = slices.Clone(purchases)
		own = &purchases[i]
		own.UntilSaid, own.Plan.UntilEnds, own.Until, own.UpdatesUntil = true, "", want.ExpiresAt, want.UpdatesUntil
	}
	is := GrantOf(purchases, want.ProductID)
	then, _ := is.At(now)
	next.Hand, _ = s.Hand.follow(&given, &then)
	next.Hand.set(s.Terms, want, then)
	next.Terms = named(next.Hand.Over(then), want)
	next.Changes, next.Awaits = is.Changes(next.Hand, now), is.awaits()
	return next, own
}

// EditTexts returns the state after the name was set by hand and entries of the metadata
// were added or changed, which stay until the purchases give them another value. These need
// not be known: time never changes what they give. ok is false if want has another change.
func (s State) EditTexts(want Terms) (next State, ok bool) {
	rest := want
	rest.Name, rest.Metadata = s.Name, s.Metadata
	if !reflect.DeepEqual(rest, s.Terms) {
		return s, false
	}
	next = s
	next.Terms, next.Hand.Metadata = want, maps.Clone(s.Hand.Metadata)
	override(&next.Hand.Name, s.Name == want.Name, false, want.Name)
	for name, v := range differences(s.Metadata, want.Metadata, sameText) {
		if v == nil { // only the purchases say whether Hand must keep that it is removed
			return s, false
		}
		next.Hand.Metadata = placed(next.Hand.Metadata, name, v, false)
	}
	return next, true
}

// has reports whether a purchase has the part of a base at an instant.
func (g *Grant) has(reference string, now time.Time) bool {
	_, spans := g.view(now)
	return slices.ContainsFunc(spans, func(s span) bool { return s.Reference == reference && s.role == base })
}

// differences returns the entries that differ, as they are in want; zero: removed.
func differences[V any](was, want map[string]V, same func(a, b V) bool) map[string]V {
	var changed map[string]V
	for name, v := range want {
		if has, ok := was[name]; !ok || !same(has, v) {
			changed = placed(changed, name, v, false)
		}
	}
	for name := range was {
		if _, ok := want[name]; !ok {
			changed = placed(changed, name, *new(V), false)
		}
	}
	return changed
}

// placed sets or removes an entry.
func placed[V any](m map[string]V, name string, v V, removed bool) map[string]V {
	switch {
	case removed:
		delete(m, name)
	case m == nil:
		m = map[string]V{name: v}
	default:
		m[name] = v
	}
	return m
}

// set records the fields that differ between was and want as set by hand, as far as
// the purchases do not give them.
func (h *Hand) set(was, want, given Terms) {
	override(&h.ProductID, was.ProductID == want.ProductID, given.ProductID == want.ProductID, want.ProductID)
	override(&h.Name, was.Name == want.Name, given.Name == want.Name, want.Name)
	override(&h.PlanID, was.PlanID == want.PlanID, given.PlanID == want.PlanID, want.PlanID)
	override(&h.ExpiresAt, was.ExpiresAt.Equal(want.ExpiresAt), given.ExpiresAt.Equal(want.ExpiresAt), want.ExpiresAt)
	override(&h.UpdatesUntil, was.UpdatesUntil.Equal(want.UpdatesUntil), given.UpdatesUntil.Equal(want.UpdatesUntil), want.UpdatesUntil)
	override(&h.GraceSeconds, was.GraceSeconds == want.GraceSeconds, given.GraceSeconds == want.GraceSeconds, want.GraceSeconds)
	override(&h.LeaseSeconds, was.LeaseSeconds == want.LeaseSeconds, given.LeaseSeconds == want.LeaseSeconds, want.LeaseSeconds)
	override(&h.OfflineSeconds, was.OfflineSeconds == want.OfflineSeconds, given.OfflineSeconds == want.OfflineSeconds, want.OfflineSeconds)
	if was.MaxActivations != want.MaxActivations {
		part := want.MaxActivations - given.addOns
		h.Seats, h.Unlimited = &part, want.MaxActivations < 0
		if given.MaxActivations == want.MaxActivations {
			h.Seats, h.Unlimited = nil, false
		}
	}
	same := func(a, b any) bool { return a == b }
	h.Entitlements = overrideEntries(h.Entitlements, was.Entitlements, want.Entitlements, given.Entitlements, same)
	h.setMeters(&was, &want, &given)
	h.Metadata = overrideEntries(h.Metadata, was.Metadata, want.Metadata, given.Metadata, sameText)
}

func override[T any](field **T, unchanged, isGiven bool, want T) {
	switch {
	case unchanged:
	case isGiven:
		*field = nil
	default:
		*field = &want
	}
}

func overrideEntries[V any](hand, was, want, given map[string]V, same func(a, b V) bool) map[string]V {
	hand = maps.Clone(hand)
	for name, v := range differences(was, want, same) {
		if has := given[name]; same(has, v) {
			delete(hand, name)
		} else {
			hand = placed(hand, name, v, false)
		}
	}
	return hand
}
