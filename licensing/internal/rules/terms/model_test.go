package terms_test

import (
	"math"
	"sort"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// A model is what the documentation says about a set of purchases, written down a
// second time: without any of the package's functions, and by asking about one
// instant after another rather than by computing when something changes. Instants are
// milliseconds since the epoch.
type model struct {
	all      []*bought
	product  string
	own      *bought
	maker    string // the product of the purchase that made the license
	hasMaker bool
	sheets   map[int64]sheet
	cast     *cast // that of every instant, if there are no more purchases than may count
}

const forever = math.MaxInt64

type bought struct {
	p                            *terms.Purchase
	fa, paused, ended, refunded  int64 // -1: not
	grace                        int64
	trial, own, addon, perpetual bool
	misfit, full                 bool
	startMemo, endMemo           int64
	measured                     bool
	units                        int64
	standsIn                     bool
}

func ms(t time.Time, none int64) int64 {
	if t.IsZero() {
		return none
	}
	return t.UnixMilli()
}

func modelOf(purchases []terms.Purchase, product string) *model {
	m := &model{product: product}
	for i := range purchases {
		p := &purchases[i]
		b := &bought{p: p, fa: ms(p.FirstActive, math.MinInt64), paused: ms(p.PausedAt, -1), ended: ms(p.EndedAt, -1), refunded: ms(p.RefundedAt, -1), grace: p.Plan.GraceSeconds * 1000, units: p.Quantity}
		b.trial, b.own = strings.HasPrefix(p.Reference, "trial:"), strings.HasPrefix(p.Reference, "license:")
		b.addon = p.Plan.Kind == api.PlanAddOn
		b.perpetual = p.Plan.UntilEnds == api.UntilEndsUpdates && !b.addon
		if b.units < 1 {
			b.units = 1
		}
		if b.ended >= 0 || b.refunded >= 0 {
			b.paused = -1 // final
		}
		if b.own {
			m.own = b
		}
		m.all = append(m.all, b)
	}
	sort.Slice(m.all, func(i, j int) bool { // earliest first
		a, b := m.all[i], m.all[j]
		if a.fa != b.fa {
			return a.fa < b.fa
		}
		return a.p.Reference < b.p.Reference
	})
	for _, b := range m.all {
		if b.p.Made && !m.hasMaker && b.p.Plan.ProductID != "" {
			m.maker, m.hasMaker = b.p.Plan.ProductID, true
		}
	}
	n := 0
	for _, b := range m.all {
		if !b.own {
			n++
		}
		b.full = n > 500 && !b.own
		switch {
		case b.p.Made || b.own || b.p.Plan.ProductID == product && product != "":
		case m.hasMaker && b.p.Plan.ProductID == m.maker:
		case !m.hasMaker && product == "" && b.p.Plan.ProductID == "":
		default:
			b.misfit = true
		}
	}
	return m
}

// takesPart reports whether a purchase belongs to the license.
func (b *bought) takesPart() bool { return !b.misfit && !b.full }

func (m *model) anyBase(in []*bought) bool {
	for _, b := range in {
		if !b.addon {
			return true
		}
	}
	return false
}

func (b *bought) line() string {
	if b.trial {
		return ""
	}
	if b.addon || b.p.Plan.Line != "" {
		return b.p.Plan.Line
	}
	return b.p.Plan.ID
}

// times returns start (MinInt64: none) and end (forever: never) of a purchase.
func (m *model) times(b *bought) (start, end int64) {
	if b.measured {
		return b.startMemo, b.endMemo
	}
	start, from := int64(math.MinInt64), b.fa
	byActivation := b.p.Plan.Starts == "activation" && !b.p.UntilSaid
	if byActivation && !b.p.Activated.IsZero() {
		from = max(from, b.p.Activated.UnixMilli())
	}
	if !b.own && !b.p.UntilSaid && !b.p.Plan.Duration.IsZero() && b.line() != "" && !b.standsIn {
		latest, paused, some := int64(math.MinInt64), true, false
		for _, e := range m.all {
			if e == b {
				break
			}
			if !e.takesPart() || e.own || e.addon != b.addon || e.line() != b.line() {
				continue
			}
			_, end := m.times(e)
			if end == forever {
				continue
			}
			if !some || end > latest {
				latest, paused, some = end, e.paused >= 0, true
			} else if end == latest && e.paused < 0 {
				paused = false
			}
		}
		if some && latest > from {
			from = latest
			if !paused {
				start = from
			}
		}
		if m.own != nil && m.continuesOwn(b) {
			if _, until := m.times(m.own); until != forever && until > from && !m.own.perpetual {
				from = until
			}
		}
	}
	switch {
	case b.p.UntilSaid:
		end = ms(b.p.Until, forever)
	case byActivation && b.p.Activated.IsZero():
		end = forever
	case !b.p.Plan.Duration.IsZero():
		end = b.p.Plan.Duration.AddTo(time.UnixMilli(from).UTC()).UnixMilli()
	default:
		end = forever
	}
	if b.ended >= 0 && b.ended < end {
		end = b.ended
	}
	if b.refunded >= 0 && b.refunded < end {
		end = b.refunded
	}
	b.startMemo, b.endMemo, b.measured = start, end, true
	return start, end
}

func (m *model) continuesOwn(b *bought) bool {
	for _, e := range m.all {
		if e.takesPart() && !e.own && !e.addon && e.refunded < 0 && !e.p.UntilSaid && !e.p.Plan.Duration.IsZero() && e.line() != "" {
			line := m.own.line()
			return e == b && (line == "" || line == b.line())
		}
	}
	return false
}

// licenseEnd is when the license would end if there were only this purchase.
func (m *model) licenseEnd(b *bought) int64 {
	_, end := m.times(b)
	if b.perpetual {
		end = forever
		if b.refunded >= 0 {
			end = b.refunded
		}
	}
	if b.standsIn && b.paused >= 0 && b.paused < end {
		end = b.paused
	}
	return end
}

func (m *model) graceEnd(b *bought) int64 {
	end := m.licenseEnd(b)
	if _, natural := m.times(b); end == forever || b.perpetual || b.ended >= 0 || b.refunded >= 0 {
		return end
	} else if b.standsIn && b.paused >= 0 {
		if natural != forever && natural+b.grace < b.paused {
			return natural + b.grace
		}
		return b.paused
	}
	return end + b.grace
}

func (m *model) neverCounts(b *bought) bool {
	start, _ := m.times(b)
	end := m.licenseEnd(b)
	return !b.own && end != forever && (end <= b.fa || end <= start)
}

func (m *model) countsByTime(b *bought, t int64) bool {
	start, _ := m.times(b)
	return !m.neverCounts(b) && t >= start && (m.graceEnd(b) == forever || t < m.graceEnd(b))
}

// A cast is the purchases in their parts at an instant.
type cast struct {
	bases, addons []*bought
	suspended     bool
	by            string
	full          map[*bought]bool
}

func (m *model) castAt(t int64) cast {
	if len(m.all) > 100 {
		return m.castOf(t)
	}
	if m.cast == nil {
		c := m.castOf(t)
		m.cast = &c
	}
	return *m.cast
}

func (m *model) castOf(t int64) cast {
	var in []*bought
	c := cast{full: map[*bought]bool{}}
	open := 0
	for _, b := range m.all {
		if !b.takesPart() {
			continue
		}
		if over := m.graceEnd(b); !b.own && !m.neverCounts(b) && (over == forever || t < over) {
			if open++; open > 100 {
				c.full[b] = true
				continue
			}
		}
		in = append(in, b)
	}
	if !m.anyBase(in) {
		for _, b := range in {
			if !b.standsIn {
				b.standsIn, b.measured = true, false
			}
		}
		c.bases = in
		return c
	}
	taken := false
	for _, b := range in {
		taken = taken || !b.addon && !b.own && b.refunded < 0
	}
	lastPause, somePaused := int64(-1), false
	for _, b := range in {
		switch {
		case b.addon:
			if b.paused < 0 {
				c.addons = append(c.addons, b)
			}
		case !b.own || !taken:
			c.bases = append(c.bases, b)
			if b.paused >= 0 {
				somePaused = true
				lastPause = max(lastPause, b.paused)
			}
		}
	}
	if somePaused {
		other := false
		for _, b := range c.bases {
			other = other || b.paused < 0 && !m.neverCounts(b) && (m.graceEnd(b) == forever || m.graceEnd(b) > lastPause)
		}
		if other {
			var rest []*bought
			for _, b := range c.bases {
				if b.paused < 0 {
					rest = append(rest, b)
				}
			}
			c.bases = rest
		} else {
			c.suspended = true
			for _, b := range c.bases {
				if b.paused >= 0 {
					c.by = b.p.Reference
				}
			}
		}
	}
	return c
}

func (m *model) valid(c cast, t int64) bool {
	for _, b := range c.bases {
		if m.countsByTime(b, t) {
			return true
		}
	}
	return false
}

// ever reports whether the license is valid at any time.
func (m *model) ever(c cast) bool {
	for _, b := range c.bases {
		if !m.neverCounts(b) {
			return true
		}
	}
	return false
}
