package terms

import (
	"math"
	"slices"
)

// maxEntitlements is how many entitlements a license has at most.
const maxEntitlements = 100

// A cell is one entitlement of a purchase, or of a license.
type cell struct {
	name     int // its index in the names of the grant
	value    any // nil: none
	number   float64
	isNumber bool
}

// setCells indexes the entitlements of several purchases by name, so that the terms
// of many instants need no map each.
func (g *Grant) setCells() {
	if len(g.spans) < 2 {
		return
	}
	n := 0
	for i := range g.spans {
		n += len(g.spans[i].Plan.Entitlements)
	}
	g.names = make([]string, 0, n)
	for i := range g.spans {
		for name := range g.spans[i].Plan.Entitlements {
			g.names = append(g.names, name)
		}
	}
	slices.Sort(g.names)
	g.names = slices.Compact(g.names)
	cells := make([]cell, 0, n)
	for i := range g.spans {
		from := len(cells)
		for name, v := range g.spans[i].Plan.Entitlements {
			index, _ := slices.BinarySearch(g.names, name)
			number, isNumber := v.(float64)
			cells = append(cells, cell{index, v, number, isNumber})
		}
		g.spans[i].cells = cells[from:]
		slices.SortFunc(g.spans[i].cells, func(a, b cell) int { return a.name - b.name })
	}
}

// entitlements returns the entitlements of a license by name.
func (g *Grant) entitlements(l *live, spans []span) map[string]any {
	if g.names == nil {
		return l.governs.Plan.Entitlements
	}
	row := make([]cell, len(g.names))
	g.fill(row, l, spans)
	return g.named(row)
}

// named returns the entitlements of a row.
func (g *Grant) named(row []cell) map[string]any {
	named := map[string]any{}
	for i, c := range row {
		if v := c.any(); v != nil {
			named[g.names[i]] = v
		}
	}
	return named
}

// any returns the value of a cell; nil: none.
func (c cell) any() any {
	if c.isNumber {
		return c.number
	}
	return c.value
}

// compare returns the entitlements that differ between two rows, as they are in the
// second one, and whether one is lost; see [Loses].
func (g *Grant) compare(was, is []cell) (changed map[string]any, loses bool) {
	for i := range was {
		a, b := &was[i], &is[i]
		if a.isNumber && b.isNumber {
			if a.number == b.number {
				continue
			}
			loses = loses || b.number < a.number
		} else {
			if a.isNumber == b.isNumber && a.value == b.value {
				continue
			}
			loses = loses || a.value != nil
		}
		changed = placed(changed, g.names[i], b.any(), false)
	}
	return changed, loses
}

// fill sets a row to the entitlements of the bases, the governing one first, and of
// the add-ons. The first purchase that has a name keeps it, but of two numbers, bases
// give the greater one, and add-ons add theirs for each unit.
func (g *Grant) fill(row []cell, l *live, spans []span) {
	clear(row)
	n := 0
	for i := len(spans) - 1; i >= 0; i-- {
		if s := &spans[i]; l.has(s) {
			for _, c := range s.cells {
				n += row[c.name].include(c, max(row[c.name].number, c.number), n)
			}
		}
	}
	for i := len(spans) - 1; i >= 0; i-- {
		if s := &spans[i]; s.role == addOn && s.counts(l.at) {
			for _, c := range s.cells {
				c.number *= float64(s.units())
				sum := row[c.name].number + c.number
				c.number = finite(c.number)
				n += row[c.name].include(c, finite(sum), n)
			}
		}
	}
}

// include adds an entitlement to a cell of a row that has n: a new name, or both
// numbers. It returns how many names that adds.
func (to *cell) include(c cell, both float64, n int) int {
	switch {
	case to.value == nil && n < maxEntitlements:
		*to = c
		return 1
	case to.isNumber && c.isNumber:
		to.number = both
	}
	return 0
}

// finite returns a number that JSON can represent.
func finite(n float64) float64 { return min(max(n, -math.MaxFloat64), math.MaxFloat64) }
