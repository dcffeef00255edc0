package terms

import (
	"cmp"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Terms are the fields of a license that its purchases set. Counts are negative
// where the license has none.
type Terms struct {
	ProductID, Name   string             // empty: no purchase says it
	Metadata          map[string]*string // nil, only of [Grant.At]: the entry is removed
	PlanID, Reference string             // of the purchase that governs; Reference is empty for that of [Own]

	ExpiresAt, UpdatesUntil time.Time // zero: never
	GraceSeconds            int64

	MaxActivations, LeaseSeconds, OfflineSeconds int64
	Entitlements                                 map[string]any // shared with plans; not to be changed
	Meters                                       map[string]api.Meter

	bases      int64                // the part of MaxActivations that is not of add-ons; negative: unlimited
	addOns     int64                // the part that add-ons add
	baseMeters map[string]api.Meter // without what add-ons add
	addedUnits map[string]int64     // the part of the limits of Meters that add-ons add
}

// maxSeats is the largest MaxActivations of a license.
const maxSeats = 1_000_000

// At returns the terms at an instant. Once no base counts any more, they stay those
// of the last millisecond in which one did. ok is false if no purchase has a part
// in the license, so that nothing is known.
func (g *Grant) At(now time.Time) (is Terms, ok bool) {
	o, spans := g.view(now)
	l := liveAt(o, spans, now)
	if is, ok = g.bare(&l, spans); ok {
		is.Entitlements = g.entitlements(&l, spans)
	}
	return is, ok
}

// bare returns the terms without entitlements.
func (g *Grant) bare(l *live, spans []span) (is Terms, ok bool) {
	is = Terms{ProductID: g.product, Name: g.name, Metadata: g.metadata}
	if l.governs == nil {
		return is, false
	}
	plan := &l.governs.Plan
	is.PlanID, is.LeaseSeconds, is.OfflineSeconds = plan.ID, count(plan.LeaseSeconds), count(plan.OfflineSeconds)
	if !l.governs.isOwn() {
		is.Reference = l.governs.Reference
	}
	is.ExpiresAt, is.GraceSeconds = l.outline.expires, l.outline.grace
	is.UpdatesUntil = updatesUntil(l, spans)
	is.setSeats(l, spans)
	is.setMeters(l, spans)
	return is, true
}

// updatesUntil returns until when the license includes updates: without limit unless
// the governing base has one; else until the latest end of those that have one,
// started or not.
func updatesUntil(l *live, spans []span) (until time.Time) {
	until = l.governs.updates()
	for i := range spans {
		s := &spans[i]
		if s.role == base && s.limitsUpdates() && s.never == l.outline.dead && !passed(s.over, l.at) && compareEnds(s.updates(), until) > 0 {
			until = s.updates()
		}
	}
	return until
}

func (s *span) limitsUpdates() bool { return s.perpetual() || !s.UpdatesUntil.IsZero() }

// updates returns the end of the updates of a purchase; zero: never.
func (s *span) updates() time.Time {
	if s.perpetual() {
		return s.end
	}
	return s.UpdatesUntil
}

// setSeats sets MaxActivations: the most of the bases, and what the add-ons add.
func (t *Terms) setSeats(l *live, spans []span) {
	for i := range spans {
		switch s := &spans[i]; {
		case l.has(s):
			if n := s.seats(); n < 0 || t.bases >= 0 && n > t.bases {
				t.bases = n
			}
		case s.role == addOn && s.counts(l.at):
			t.addOns += s.seats()
		}
	}
	t.MaxActivations = seats(t.bases, t.addOns, t.bases < 0)
}

// seats returns a number of activations with what add-ons add.
func seats(bases, addOns int64, unlimited bool) int64 {
	if unlimited {
		return -1
	}
	return min(max(0, bases+addOns), maxSeats)
}

// seats returns the activations that a purchase buys; negative: unlimited. An add-on
// whose plan names none adds none.
func (p *Purchase) seats() int64 {
	switch n := p.Plan.MaxActivations; {
	case n != nil:
		return min(*n, maxSeats) * min(p.units(), maxSeats)
	case p.isAddOn():
		return 0
	}
	return -1
}

// setTexts sets the name and the metadata of the license. They never change as time
// passes. Each entry is that of the first purchase that says it: bases before
// add-ons, not refunded before refunded, the latest in order first.
func (g *Grant) setTexts() {
	if len(g.spans) == 1 && g.spans[0].waits == "" {
		g.name, g.metadata = g.spans[0].Name, g.spans[0].Metadata
		return
	}
	for rank := range 4 {
		for i := len(g.spans) - 1; i >= 0; i-- {
			s := &g.spans[i]
			if s.waits == api.WaitingOtherProduct || s.textRank() != rank {
				continue
			}
			g.name = cmp.Or(g.name, s.Name)
			for name, v := range s.Metadata {
				if g.metadata == nil {
					g.metadata = map[string]*string{}
				}
				if _, said := g.metadata[name]; !said {
					g.metadata[name] = v
				}
			}
		}
	}
}

// textRank returns the place of a purchase among those that say a text.
func (p *Purchase) textRank() (rank int) {
	if p.isAddOn() {
		rank = 2
	}
	if !p.RefundedAt.IsZero() {
		rank++
	}
	return rank
}
