package terms

import (
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Change is what time will change in the terms of a license at an instant. A field
// that is nil stays. It can be stored as JSON.
type Change struct {
	At    time.Time `json:"at"`
	Ended []string  `json:"ended,omitempty"` // references of the purchases that stop counting
	Ends  time.Time `json:"ends,omitzero"`   // the end, without grace, of a base that ends and that no other of its line continues
	Loses bool      `json:"loses,omitempty"` // see [Loses]

	PlanID         *string               `json:"plan,omitempty"`
	Reference      *string               `json:"reference,omitempty"`
	ExpiresAt      *time.Time            `json:"expires,omitempty"` // only of a license with too many purchases
	GraceSeconds   *int64                `json:"grace,omitempty"`   // as ExpiresAt
	UpdatesUntil   *time.Time            `json:"updates,omitempty"`
	MaxActivations *int64                `json:"seats,omitempty"`
	LeaseSeconds   *int64                `json:"lease,omitempty"`
	OfflineSeconds *int64                `json:"offline,omitempty"`
	Entitlements   map[string]any        `json:"entitlements,omitempty"` // nil: removed
	Meters         map[string]*api.Meter `json:"meters,omitempty"`       // nil: removed

	GivesWay []string `json:"gives_way,omitempty"` // the fields set by hand that end; see [Hand]
}

// Visible reports whether the change changes a field of the license.
func (c Change) Visible() bool {
	return c.PlanID != nil || c.Reference != nil || c.ExpiresAt != nil || c.GraceSeconds != nil || c.UpdatesUntil != nil ||
		c.MaxActivations != nil || c.LeaseSeconds != nil || c.OfflineSeconds != nil || c.Entitlements != nil || c.Meters != nil
}

// between returns the change from was to is.
func between(was, is *Terms) (c Change) {
	set(&c.PlanID, was.PlanID == is.PlanID, is.PlanID)
	set(&c.Reference, was.Reference == is.Reference, is.Reference)
	set(&c.ExpiresAt, was.ExpiresAt.Equal(is.ExpiresAt), is.ExpiresAt)
	set(&c.GraceSeconds, was.GraceSeconds == is.GraceSeconds, is.GraceSeconds)
	set(&c.UpdatesUntil, was.UpdatesUntil.Equal(is.UpdatesUntil), is.UpdatesUntil)
	set(&c.MaxActivations, was.MaxActivations == is.MaxActivations, is.MaxActivations)
	set(&c.LeaseSeconds, was.LeaseSeconds == is.LeaseSeconds, is.LeaseSeconds)
	set(&c.OfflineSeconds, was.OfflineSeconds == is.OfflineSeconds, is.OfflineSeconds)
	c.Entitlements = differences(was.Entitlements, is.Entitlements, func(a, b any) bool { return a == b })
	c.Meters = changedMeters(was.Meters, is.Meters)
	return c
}

func set[T any](field **T, same bool, v T) {
	if !same {
		*field = &v
	}
}

// apply makes the change in the terms of a license, whose maps are its own.
func (c Change) apply(t *Terms) {
	give(&t.PlanID, c.PlanID)
	give(&t.Reference, c.Reference)
	give(&t.ExpiresAt, c.ExpiresAt)
	give(&t.GraceSeconds, c.GraceSeconds)
	give(&t.UpdatesUntil, c.UpdatesUntil)
	give(&t.MaxActivations, c.MaxActivations)
	give(&t.LeaseSeconds, c.LeaseSeconds)
	give(&t.OfflineSeconds, c.OfflineSeconds)
	for name, v := range c.Entitlements {
		if v == nil {
			delete(t.Entitlements, name)
		} else {
			t.Entitlements[name] = v
		}
	}
	for name, m := range c.Meters {
		if m == nil {
			delete(t.Meters, name)
		} else {
			t.Meters = placed(t.Meters, name, *m, false)
		}
	}
}

func give[T any](field *T, v *T) {
	if v != nil {
		*field = *v
	}
}

// Changes returns what time will change in a license after an instant, the earliest
// first. The fields in hand were set by hand.
func (g *Grant) Changes(hand Hand, now time.Time) (changes []Change) {
	o, spans := g.view(now)
	times := boundaries(g, o, spans, now)
	if len(times) == 0 {
		return nil
	}
	rows := g.names != nil && len(hand.Entitlements) == 0
	is := g.moment(now, o, spans, rows)
	was := hand.Over(is.Terms)
	for _, t := range times {
		ended, ends := endedAt(spans, t)
		o, spans = g.view(t)
		then := g.moment(t, o, spans, rows)
		var gives []string
		hand, gives = hand.follow(&is.Terms, &then.Terms)
		next := hand.Over(then.Terms)
		c := between(&was, &next)
		c.Loses = Loses(was, next)
		if rows {
			loses := false
			c.Entitlements, loses = g.compare(is.row, then.row)
			c.Loses = c.Loses || loses
		}
		c.At, c.Ended, c.GivesWay = t, ended, gives
		switch {
		case c.Visible() || len(gives) > 0:
			c.Ends = ends
			changes = append(changes, c)
		case len(ended) > 0: // sales count what ends without changing anything
			changes = append(changes, c)
		}
		is, was = then, next
	}
	return changes
}

// A moment is the terms at an instant. Entitlements are in row, which takes less to
// compare, unless some were set by hand.
type moment struct {
	Terms
	row []cell
}

func (g *Grant) moment(at time.Time, o outline, spans []span, rows bool) (m moment) {
	l := liveAt(o, spans, at)
	m.Terms, _ = g.bare(&l, spans)
	if !rows {
		m.Entitlements = g.entitlements(&l, spans)
		return m
	}
	m.row = make([]cell, len(g.names))
	g.fill(m.row, &l, spans)
	return m
}

// boundaries returns the instants after now at which purchases start or stop counting,
// as long as the license is valid. At the last of all instants, nothing changes any more.
func boundaries(g *Grant, o outline, spans []span, now time.Time) []time.Time {
	var times []time.Time
	add := func(t time.Time) {
		if t.After(now) && !IsLast(t) && (g.crowded || !passed(o.over, t)) {
			times = append(times, t)
		}
	}
	for i := range spans {
		if s := &spans[i]; !s.never && (s.role != out || g.crowded) {
			add(s.start)
			add(s.over)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return slices.CompactFunc(times, time.Time.Equal)
}

// endedAt returns the purchases that stop counting at an instant, and when the last base
// of them ends that no other of its line continues; zero: there is none.
func endedAt(spans []span, t time.Time) (references []string, ends time.Time) {
	for i := range spans {
		s := &spans[i]
		if s.role == out || s.never || !s.over.Equal(t) {
			continue
		}
		references = append(references, s.Reference)
		if s.role == base && s.end.After(ends) && !s.continued(spans, t) {
			ends = s.end
		}
	}
	return references, ends
}

// continued reports whether another base of its line counts when a purchase has ended.
func (s *span) continued(spans []span, at time.Time) bool {
	return slices.ContainsFunc(spans, func(e span) bool {
		return e.role == base && e.Reference != s.Reference && e.counts(at) && e.line() != "" && e.line() == s.line()
	})
}

// Continued reports whether another base of its line counts when the purchase with a
// reference has ended.
func (g *Grant) Continued(reference string, at time.Time) bool {
	_, spans := g.view(at)
	i := slices.IndexFunc(spans, func(s span) bool { return s.Reference == reference })
	return i >= 0 && spans[i].continued(spans, at)
}
