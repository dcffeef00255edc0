package terms_test

import (
	"fmt"
	"maps"
	"math"
	"sort"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// A sheet is the terms of a license by field; a field that is missing is not known.
// Instants are milliseconds, forever for never; counts are -1 for none.
type sheet map[string]any

// at returns the terms at an instant; nil: nothing is known. The sheet is shared.
func (m *model) at(t int64) sheet {
	is, ok := m.sheets[t]
	if !ok {
		if m.sheets == nil {
			m.sheets = map[int64]sheet{}
		}
		is = m.sheetAt(t)
		m.sheets[t] = is
	}
	return is
}

func (m *model) sheetAt(t int64) sheet {
	c := m.castAt(t)
	if len(c.bases) == 0 {
		return nil
	}
	is := sheet{"product": m.product}
	if m.hasMaker {
		is["product"] = m.maker
	}
	ever := m.ever(c)
	expires, over, grace := int64(math.MinInt64), int64(math.MinInt64), int64(0)
	for i := len(c.bases) - 1; i >= 0; i-- {
		b := c.bases[i]
		if ever == m.neverCounts(b) {
			continue
		}
		e, o := m.licenseEnd(b), m.graceEnd(b)
		if !ever {
			o = e
		}
		if e > expires {
			expires, grace = e, b.grace/1000
		}
		over = max(over, o)
	}
	if expires != forever {
		grace = (over - expires) / 1000
		if (over-expires)%1000 > 0 {
			grace++
		}
	}
	is["expires"], is["grace"] = expires, grace

	// Once nothing counts, the last millisecond of validity is what counts.
	if !m.valid(c, t) && ever {
		var last int64 = math.MinInt64
		for _, b := range c.bases {
			if o := m.graceEnd(b); o != forever && o <= t && m.valid(c, o-1) {
				last = max(last, o-1)
			}
		}
		t = last
	}
	if !ever {
		t = min(t, expires-1)
	}
	var now []*bought
	for _, b := range c.bases {
		if ever && m.countsByTime(b, t) || !ever && m.licenseEnd(b) == expires {
			now = append(now, b)
		}
	}
	paid := false
	for _, b := range now {
		paid = paid || !b.trial
	}
	if paid {
		var rest []*bought
		for _, b := range now {
			if !b.trial {
				rest = append(rest, b)
			}
		}
		now = rest
	}
	governs := now[len(now)-1]
	is["plan"], is["reference"] = governs.p.Plan.ID, governs.p.Reference
	if governs.own {
		is["reference"] = ""
	}
	is["lease"], is["offline"] = counted(governs.p.Plan.LeaseSeconds), counted(governs.p.Plan.OfflineSeconds)
	is["updates"] = int64(forever)
	limit := func(b *bought) (int64, bool) {
		if b.perpetual {
			_, end := m.times(b)
			return end, true
		}
		if b.p.UpdatesUntil.IsZero() {
			return 0, false
		}
		return b.p.UpdatesUntil.UnixMilli(), true
	}
	if u, limited := limit(governs); limited {
		for _, b := range c.bases {
			if x, ok := limit(b); ok && ever != m.neverCounts(b) && (m.graceEnd(b) == forever || t < m.graceEnd(b)) {
				u = max(u, x)
			}
		}
		is["updates"] = u
	}
	bases, unlimited, added := int64(0), false, int64(0)
	for _, b := range now {
		switch n := b.p.Plan.MaxActivations; {
		case n == nil && !b.addon:
			unlimited = true
		case n != nil:
			bases = max(bases, *n*b.units)
		}
	}
	var adding []*bought
	for _, b := range c.addons {
		if m.countsByTime(b, t) {
			adding = append(adding, b)
			if n := b.p.Plan.MaxActivations; n != nil {
				added += *n * b.units
			}
		}
	}
	if unlimited {
		bases = -1
	}
	is["bases"], is["adds"] = bases, added
	is["seats"] = modelSeats(bases, unlimited, added)

	for i := len(now) - 1; i >= 0; i-- {
		m.entitle(is, now[i], func(has, v float64) float64 { return math.Max(has, v) })
	}
	for i := len(adding) - 1; i >= 0; i-- {
		m.entitle(is, adding[i], func(has, v float64) float64 { return has + v })
	}

	m.measure(is, now, adding)

	var say []*bought
	for pass := range 4 {
		for i := len(m.all) - 1; i >= 0; i-- {
			if b := m.all[i]; !b.misfit && b.addon == (pass > 1) && (b.refunded >= 0) == (pass%2 == 1) {
				say = append(say, b)
			}
		}
	}
	is["name"] = ""
	for i := len(say) - 1; i >= 0; i-- { // the first one says it last
		if say[i].p.Name != "" {
			is["name"] = say[i].p.Name
		}
		for name, v := range say[i].p.Metadata {
			if is["metadata/"+name] = "removed"; v != nil {
				is["metadata/"+name] = "=" + *v
			}
		}
	}
	return is
}

func modelSeats(bases int64, unlimited bool, added int64) int64 {
	if unlimited {
		return -1
	}
	return max(0, min(bases+added, 1_000_000))
}

func counted(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

func (m *model) entitle(is sheet, b *bought, both func(has, v float64) float64) {
	var names []string
	for name := range b.p.Plan.Entitlements {
		names = append(names, name)
	}
	sort.Strings(names)
	n := 0
	for key := range is {
		if strings.HasPrefix(key, "entitlements/") {
			n++
		}
	}
	for _, name := range names {
		v := b.p.Plan.Entitlements[name]
		number, isNumber := v.(float64)
		if b.addon && !b.standsIn && isNumber {
			number *= float64(b.units)
			v = number
		}
		has, ok := is["entitlements/"+name]
		old, oldNumber := has.(float64)
		switch {
		case !ok && n < 100:
			is["entitlements/"+name] = v
			n++
		case ok && isNumber && oldNumber:
			is["entitlements/"+name] = both(old, number)
		}
	}
}

// measure writes the meters: of each name "limit soft per", where limit is -1 for none;
// "base meters/" is what bases give, "adds meters/" the units that add-ons add.
func (m *model) measure(is sheet, bases, addons []*bought) {
	type meter struct {
		per            api.MeterPeriod
		soft, ofBase   bool
		base, adds     int64
		baseNone, none bool
	}
	meters := map[string]*meter{}
	for kind, some := range [][]*bought{bases, addons} {
		for i := len(some) - 1; i >= 0; i-- {
			var names []string
			for name := range some[i].p.Plan.Meters {
				names = append(names, name)
			}
			sort.Strings(names)
			for _, name := range names {
				x := some[i].p.Plan.Meters[name]
				if meters[name] == nil {
					if len(meters) >= 20 {
						continue
					}
					meters[name] = &meter{per: x.Per, soft: x.Soft, ofBase: kind == 0}
				}
				is := meters[name]
				if is.per != x.Per {
					continue
				}
				var n int64
				if x.Limit != nil {
					if product := float64(*x.Limit) * float64(some[i].units); product < 1e12 {
						n = *x.Limit * some[i].units
					} else {
						n = 1e12
					}
				}
				if kind == 0 {
					is.baseNone, is.base = is.baseNone || x.Limit == nil, max(is.base, n)
				} else {
					is.none, is.adds = is.none || x.Limit == nil, is.adds+n
				}
			}
		}
	}
	for name, x := range meters {
		limit := min(x.base+x.adds, 1e12)
		if x.baseNone || x.none && !x.ofBase {
			limit = -1
		}
		is["meters/"+name] = meterText(limit, x.soft, x.per)
		if is["adds meters/"+name] = x.adds; x.ofBase {
			if x.baseNone {
				x.base = -1
			}
			is["base meters/"+name] = meterText(x.base, x.soft, x.per)
		}
	}
}

func meterText(limit int64, soft bool, per api.MeterPeriod) string {
	return fmt.Sprintf("%d %v %q", limit, soft, per)
}

// sheetOf returns terms in the form of the model.
func sheetOf(t terms.Terms) sheet {
	is := sheet{
		"product": t.ProductID, "name": t.Name, "plan": t.PlanID, "reference": t.Reference, "grace": t.GraceSeconds,
		"expires": ms(t.ExpiresAt, forever), "updates": ms(t.UpdatesUntil, forever),
		"seats": t.MaxActivations, "lease": t.LeaseSeconds, "offline": t.OfflineSeconds,
	}
	for name, v := range t.Entitlements {
		is["entitlements/"+name] = v
	}
	for name, m := range t.Meters {
		is["meters/"+name] = meterText(counted(m.Limit), m.Soft, m.Per)
	}
	for name, v := range t.Metadata {
		if is["metadata/"+name] = "removed"; v != nil {
			is["metadata/"+name] = "=" + *v
		}
	}
	return is
}

// shown returns the sheet of a license without the entries that its purchases removed.
func (is sheet) shown() sheet {
	is = maps.Clone(is)
	maps.DeleteFunc(is, func(key string, v any) bool { return v == "removed" && strings.HasPrefix(key, "metadata/") })
	return is
}

// differ lists the fields in which two sheets differ, but for those that only the
// model has.
func differ(got, want sheet) string {
	keys := map[string]bool{}
	for k := range got {
		keys[k] = true
	}
	for k := range want {
		keys[k] = true
	}
	var all []string
	for k := range keys {
		if k != "bases" && k != "adds" && !strings.Contains(k, " ") && got[k] != want[k] {
			all = append(all, fmt.Sprintf("%s: got %v, want %v", k, got[k], want[k]))
		}
	}
	sort.Strings(all)
	return strings.Join(all, "; ")
}
