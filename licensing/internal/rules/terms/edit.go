package terms

import (
	"maps"
	"slices"
	"time"
)

// Edit returns the state after the fields of the license were set by hand to those of
// want. The state is that of [State.Pass] at now. If the purchase of [Own] counts, own is
// what it becomes: what was set comes back when a base purchase that takes the license
// over is refunded. Otherwise, own is nil.
func (s State) Edit(purchases []Purchase, want Terms, now time.Time) (next State, own *Purchase) {
	was := GrantOf(purchases, s.ProductID)
	given, ok := was.At(now)
	if !ok {
		s.Terms = want
		return s, nil
	}
	if i := slices.IndexFunc(purchases, func(p Purchase) bool { return p.isOwn() }); i >= 0 && was.has(purchases[i].Reference, now) {
		folded := purchases[i]
		folded.edit(s.Terms, want, &given)
		purchases = slices.Clone(purchases)
		purchases[i], own = folded, &folded
	}
	is := GrantOf(purchases, want.ProductID)
	then, _ := is.At(now)
	next.Hand, _ = s.Hand.follow(&given, &then)
	next.Hand.set(s.Terms, want, then)
	next.Terms = named(next.Hand.Over(then), want)
	next.Changes, next.Awaits = is.Changes(next.Hand, now), is.awaits()
	return next, own
}

// has reports whether a purchase has the part of a base at an instant.
func (g *Grant) has(reference string, now time.Time) bool {
	_, spans := g.view(now)
	return slices.ContainsFunc(spans, func(s span) bool { return s.Reference == reference && s.role == base })
}

// edit sets the fields of the license's own purchase that differ between two terms. Given
// is what the purchases give, with what add-ons add.
func (p *Purchase) edit(was, want Terms, given *Terms) {
	is := Terms{
		ProductID: p.Plan.ProductID, Name: p.Name, Metadata: maps.Clone(p.Metadata), PlanID: p.Plan.ID,
		ExpiresAt: p.Until, UpdatesUntil: p.UpdatesUntil, GraceSeconds: p.Plan.GraceSeconds,
		MaxActivations: count(p.Plan.MaxActivations), LeaseSeconds: count(p.Plan.LeaseSeconds), OfflineSeconds: count(p.Plan.OfflineSeconds),
		Entitlements: maps.Clone(p.Plan.Entitlements), Meters: maps.Clone(p.Plan.Meters),
	}
	if !p.UntilSaid && !(was.ExpiresAt.Equal(want.ExpiresAt) && was.UpdatesUntil.Equal(want.UpdatesUntil)) {
		// The ends are those set by hand from now on, whenever the license is activated.
		p.UntilSaid, p.Plan.UntilEnds = true, ""
		is.ExpiresAt, is.UpdatesUntil = was.ExpiresAt, was.UpdatesUntil
	}
	put(&is.ProductID, was.ProductID, want.ProductID)
	put(&is.Name, was.Name, want.Name)
	put(&is.PlanID, was.PlanID, want.PlanID)
	put(&is.GraceSeconds, was.GraceSeconds, want.GraceSeconds)
	put(&is.LeaseSeconds, was.LeaseSeconds, want.LeaseSeconds)
	put(&is.OfflineSeconds, was.OfflineSeconds, want.OfflineSeconds)
	if !was.ExpiresAt.Equal(want.ExpiresAt) {
		is.ExpiresAt = want.ExpiresAt
	}
	if !was.UpdatesUntil.Equal(want.UpdatesUntil) {
		is.UpdatesUntil = want.UpdatesUntil
	}
	if was.MaxActivations != want.MaxActivations {
		if is.MaxActivations = want.MaxActivations; want.MaxActivations >= 0 {
			is.MaxActivations = max(0, want.MaxActivations-given.addOns)
		}
	}
	for name, v := range differences(was.Entitlements, want.Entitlements, func(a, b any) bool { return a == b }) {
		is.Entitlements = placed(is.Entitlements, name, v, v == nil)
	}
	for name, m := range changedMeters(was.Meters, want.Meters) {
		if m == nil {
			delete(is.Meters, name)
			continue
		}
		part := given.part(name, *m)
		if part.Limit != nil {
			part.Limit = new(max(0, *part.Limit))
		}
		is.Meters = placed(is.Meters, name, part, false)
	}
	for name, v := range differences(was.Metadata, want.Metadata, sameText) {
		is.Metadata = placed(is.Metadata, name, v, v == nil)
	}
	p.take(is)
}

func put[T comparable](field *T, was, want T) {
	if was != want {
		*field = want
	}
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
