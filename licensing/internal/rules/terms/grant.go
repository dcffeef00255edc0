package terms

import (
	"slices"
	"time"
)

// A Grant is what the purchases of a license make of it. It may be used
// concurrently.
type Grant struct {
	spans    []span // in order
	single   [1]span
	product  string
	name     string             // empty: no purchase says one
	metadata map[string]*string // nil: the entry is removed
	names    []string           // of all entitlements, sorted; nil: there is one purchase
	crowded  bool               // which purchases wait for others to end depends on the instant
	outline                     // unless crowded
}

// An outline is what does not change as time passes.
type outline struct {
	expires time.Time // zero: never
	over    time.Time // when the last base stops counting; zero: never
	grace   int64     // in seconds
	// suspends reports that the license is suspended because its bases are paused.
	suspends bool
	dead     bool // no base counts at any time
	empty    bool // no purchase has a part in the license
}

// GrantOf returns the grant of the purchases of a license. The product is the one
// that was set by hand; empty: none was. It is the product of the license if no
// purchase made it. Otherwise, purchases of that product fit too.
func GrantOf(purchases []Purchase, product string) *Grant {
	g := &Grant{product: product}
	if g.spans = g.single[:]; len(purchases) != 1 {
		g.spans = make([]span, len(purchases))
	}
	var own *Purchase
	for i := range purchases {
		g.spans[i].Purchase = &purchases[i]
		if purchases[i].isOwn() {
			own = &purchases[i]
		}
	}
	if len(g.spans) > 1 {
		slices.SortFunc(g.spans, func(a, b span) int { return order(a.Purchase, b.Purchase) })
	}
	g.setProduct()
	g.setFull()
	measure(g.spans, own)
	g.setTexts()
	g.setCells()
	g.crowded = len(g.spans) > MaxCounting
	if !g.crowded {
		g.outline = outlineOf(g.spans)
	}
	return g
}

// outlineOf gives purchases their roles and returns their outline.
func outlineOf(spans []span) (o outline) {
	hasBase, taken := false, false
	for i := range spans {
		hasBase = hasBase || spans[i].waits == "" && !spans[i].isAddOn()
		taken = taken || spans[i].takesOver()
	}
	for i := range spans {
		s := &spans[i]
		switch {
		case s.waits != "" || s.isOwn() && taken:
			s.role = out
		case !s.isAddOn():
			s.role = base
		case !hasBase:
			s.role = base
			s.standIn()
		case s.paused():
			s.role = out
		default:
			s.role = addOn
		}
	}
	if hasBase {
		o.setPause(spans)
	}
	o.setEnds(spans)
	return o
}

// standIn makes an add-on stand for a base. It is not stacked, and does not suspend
// the license: when it is paused, it ends.
func (s *span) standIn() {
	s.start = time.Time{}
	s.setEnd(s.begins())
	if !s.paused() {
		return
	}
	s.end, s.over = cut(s.end, s.PausedAt), cut(s.over, s.PausedAt)
	s.never = s.never || !s.over.After(s.FirstActive)
}

// setPause removes base purchases that are paused, if one that is not paused counts
// beyond the latest report of a pause. Otherwise, the paused ones suspend the license.
func (o *outline) setPause(spans []span) {
	var at time.Time
	for i := range spans {
		if s := &spans[i]; s.role == base && s.paused() {
			if o.suspends = true; s.PausedAt.After(at) {
				at = s.PausedAt
			}
		}
	}
	if !o.suspends {
		return
	}
	other := slices.ContainsFunc(spans, func(s span) bool {
		return s.role == base && !s.paused() && !s.never && compareEnds(s.over, at) > 0
	})
	if !other {
		return
	}
	o.suspends = false
	for i := range spans {
		if s := &spans[i]; s.role == base && s.paused() {
			s.role = out
		}
	}
}

// setEnds sets when the license ends: it is valid as long as a base counts. If none
// ever does, it ended when the last of them did.
func (o *outline) setEnds(spans []span) {
	o.empty, o.dead = true, true
	for i := range spans {
		if s := &spans[i]; s.role == base {
			o.empty, o.dead = false, o.dead && s.never
		}
	}
	first := true
	for i := len(spans) - 1; i >= 0; i-- {
		s := &spans[i]
		if s.role != base || s.never != o.dead {
			continue
		}
		end, over := s.ends(), s.over
		if o.dead {
			over = end
		}
		if first || compareEnds(end, o.expires) > 0 {
			o.expires, o.grace = end, s.Plan.GraceSeconds
		}
		if first || compareEnds(over, o.over) > 0 {
			o.over = over
		}
		first = false
	}
	if !o.expires.IsZero() {
		o.grace = int64((o.over.Sub(o.expires) + time.Second - 1) / time.Second)
	}
}
