package terms

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// The limits of one license. Of more purchases, those count that were first active
// first; the others wait.
const (
	MaxCounting  = 100 // purchases that are not over
	MaxPurchases = 500 // with those that are
)

// setFull marks the purchases beyond MaxPurchases.
func (g *Grant) setFull() {
	n := 0
	for i := range g.spans {
		s := &g.spans[i]
		if s.isOwn() {
			continue
		}
		if n++; n > MaxPurchases && s.waits == "" {
			s.waits = api.WaitingLicenseFull
		}
	}
}

// view returns the outline and the purchases with their roles at an instant.
func (g *Grant) view(at time.Time) (outline, []span) {
	if !g.crowded {
		return g.outline, g.spans
	}
	spans := slices.Clone(g.spans)
	n := 0
	for i := range spans {
		s := &spans[i]
		if s.waits != "" || s.isOwn() || s.never || passed(s.over, at) {
			continue
		}
		if n++; n > MaxCounting {
			s.waits = api.WaitingLicenseFull
		}
	}
	return outlineOf(spans), spans
}

// setProduct sets the product of the license: that of the plan of the purchase that
// made it, or else what was set by hand. Purchases of other products wait.
func (g *Grant) setProduct() {
	byHand := g.product
	if made := productOf(g.spans); made != "" {
		g.product = made
	}
	for i := range g.spans {
		s := &g.spans[i]
		if product := s.Plan.ProductID; !s.Made && !s.isOwn() && product != g.product && product != cmp.Or(byHand, g.product) {
			s.waits = api.WaitingOtherProduct
		}
	}
}

// productOf returns the product of the purchase that made the license; empty: none did.
func productOf(spans []span) string {
	for i := range spans {
		if spans[i].Made {
			return spans[i].Plan.ProductID
		}
	}
	return ""
}
