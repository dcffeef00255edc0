package terms_test

import (
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

func hundred(names int) []terms.Purchase {
	set := []terms.Purchase{sale{reference: "a", plan: pro}.purchase()}
	for i := range 99 {
		p := with(extra, func(p *api.Plan) {
			p.Entitlements[fmt.Sprintf("e%02d", i%names)], p.Entitlements["n"] = true, float64(i)
		})
		set = append(set, sale{reference: fmt.Sprintf("x%02d", i), plan: p, first: i % 30, until: 31 + i, joins: true}.purchase())
	}
	return set
}

func BenchmarkFollow(b *testing.B) {
	for name, set := range map[string][]terms.Purchase{
		"1": hundred(1)[:1], "3": hundred(1)[:3], "100": hundred(5), "100 with 99 entitlements": hundred(99),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := terms.State{Terms: terms.Terms{ProductID: "app"}}
			for b.Loop() {
				s = s.Follow(set, set, day(30))
			}
		})
	}
}

func BenchmarkAt(b *testing.B) {
	for name, set := range map[string][]terms.Purchase{"1": hundred(1)[:1], "100": hundred(5)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			g := terms.GrantOf(set, "app")
			for b.Loop() {
				g.At(day(30))
			}
		})
	}
}

func TestASinglePurchaseCostsOneAllocation(t *testing.T) {
	is := is.New(t)
	set := hundred(1)[:1]
	is.Equal(testing.AllocsPerRun(100, func() {
		g := terms.GrantOf(set, "app")
		g.At(day(30))
		g.Standing("a", day(30))
	}), 1.0)
	s := terms.State{}.Follow(nil, set, day(30))
	is.Equal(testing.AllocsPerRun(100, func() { s.Pass(day(200)) }), 0.0)
}
