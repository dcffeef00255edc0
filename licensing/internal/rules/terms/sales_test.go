package terms_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// day returns a day of 2026; more than 365: later.
func day(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

// A sale is a purchase in the words of a table.
type sale struct {
	reference string
	plan      api.Plan
	quantity  int64
	first     int // the day on which it was first active
	until     int // 0: not said; -1: never
	paused    int // 0: not
	ended     int
	refunded  int
	joins     bool // its events name the license
}

func (s sale) purchase() terms.Purchase {
	at := func(n int) (t time.Time) {
		if n > 0 {
			t = day(n)
		}
		return t
	}
	return terms.Purchase{
		Reference: s.reference, Plan: s.plan, Quantity: s.quantity, FirstActive: day(s.first), Made: !s.joins,
		UntilSaid: s.until != 0, Until: at(s.until), PausedAt: at(s.paused), EndedAt: at(s.ended), RefundedAt: at(s.refunded),
	}
}

// planOf returns a plan of the product "app"; seats negative: unlimited; days 0: forever.
func planOf(id string, seats int64, days int, entitlements ...string) api.Plan {
	p := api.Plan{ID: id, ProductID: "app", Duration: api.Duration{Days: days}, UntilEnds: api.UntilEndsLicense}
	if seats >= 0 {
		p.MaxActivations = &seats
	}
	p.Entitlements = map[string]any{}
	for _, name := range entitlements {
		p.Entitlements[name] = true
	}
	return p
}

func with(p api.Plan, change func(*api.Plan)) api.Plan {
	p.Entitlements = maps.Clone(p.Entitlements)
	change(&p)
	return p
}

var (
	pro    = planOf("pro", 5, 100, "export")
	proToo = with(planOf("pro-2027", 5, 100, "export"), func(p *api.Plan) { p.Line = "pro" })
	team   = planOf("team", 20, 100, "export", "sso")
	free   = planOf("free", 1, 0)
	sso    = with(planOf("sso", -1, 0, "sso"), func(p *api.Plan) { p.Kind = api.PlanAddOn })
	extra  = with(planOf("extra", 2, 30), func(p *api.Plan) { p.Kind = api.PlanAddOn })
	trial  = planOf("trial", 3, 14, "export")
	kept   = with(planOf("kept", 5, 100, "export"), func(p *api.Plan) { p.UntilEnds = api.UntilEndsUpdates })
	grace  = with(pro, func(p *api.Plan) { p.GraceSeconds = 10 * 86400 })
)

// tell writes terms in short: reference, seats, entitlements, and the days of the end and
// of the end of updates.
func tell(t terms.Terms, suspended string) string {
	ends := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return fmt.Sprint(int(t.Sub(day(0)).Hours() / 24))
	}
	names := slices.Sorted(maps.Keys(t.Entitlements))
	text := fmt.Sprintf("%s %d [%s] %s", cmp.Or(t.Reference, "own"), t.MaxActivations, strings.Join(names, " "), ends(t.ExpiresAt))
	if !t.UpdatesUntil.IsZero() {
		text += " updates " + ends(t.UpdatesUntil)
	}
	if suspended != "" {
		text += " suspended by " + suspended
	}
	return text
}
