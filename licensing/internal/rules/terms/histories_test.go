package terms_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

func TestHistories(t *testing.T) {
	own := func(end int) *terms.Purchase {
		expires := day(end)
		if end < 0 {
			expires = time.Time{}
		}
		p := terms.Own("lic_1", "", day(0), terms.Terms{ProductID: "app", MaxActivations: 3, LeaseSeconds: -1, OfflineSeconds: -1, ExpiresAt: expires})
		return &p
	}
	ofPlan := func(p *terms.Purchase, id, line string) *terms.Purchase {
		p.Plan.ID, p.Plan.Line = id, line
		return p
	}
	for _, test := range []struct {
		name  string
		own   *terms.Purchase
		sales []sale
		days  []int
		want  []string
	}{
		// What today ends wrong.
		{"a renewal 65 days early adds all its days", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: pro, first: 35, joins: true}},
			[]int{36, 150, 201}, []string{"a 5 [export] 200", "b 5 [export] 200", "b 5 [export] 200"}},
		{"a refunded renewal leaves what the first one pays for", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: pro, first: 35, refunded: 40, joins: true}},
			[]int{41}, []string{"a 5 [export] 100"}},
		{"a refunded first purchase moves the renewal forward", nil,
			[]sale{{reference: "a", plan: pro, refunded: 40}, {reference: "b", plan: pro, first: 35, joins: true}},
			[]int{41}, []string{"b 5 [export] 140"}},
		{"a refunded add-on takes only what it added", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: extra, first: 10, refunded: 20, joins: true}},
			[]int{15, 20}, []string{"a 7 [export] 100", "a 5 [export] 100"}},
		{"a refunded upgrade gives the cheaper plan back", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: team, first: 10, refunded: 20, joins: true}},
			[]int{15, 20}, []string{"b 20 [export sso] 100", "a 5 [export] 100"}},
		{"an add-on keeps seats and entitlements", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: sso, first: 10, joins: true}},
			[]int{11}, []string{"a 5 [export sso] 100"}},
		{"a paused second purchase does not suspend", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: team, first: 10, paused: 20, joins: true}},
			[]int{21}, []string{"a 5 [export] 100"}},
		{"a free plan outlives a subscription", nil,
			[]sale{{reference: "a", plan: free}, {reference: "b", plan: pro, first: 10, ended: 40, joins: true}},
			[]int{20, 40}, []string{"b 5 [export] never", "a 1 [] never"}},
		{"a cheaper purchase beside a greater one takes nothing", nil,
			[]sale{{reference: "a", plan: team, until: 90}, {reference: "b", plan: pro, first: 10, joins: true}},
			[]int{20, 90}, []string{"b 20 [export sso] 110", "b 5 [export] 110"}},
		{"the only purchase that is paused suspends", nil,
			[]sale{{reference: "a", plan: pro, paused: 20}},
			[]int{21}, []string{"a 5 [export] 100 suspended by a"}},
		{"two purchases that are paused suspend, and both count", nil,
			[]sale{{reference: "a", plan: team, paused: 20}, {reference: "b", plan: pro, first: 10, paused: 21, joins: true}},
			[]int{22}, []string{"b 20 [export sso] 110 suspended by b"}},
		{"a paused add-on adds nothing", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: extra, first: 10, paused: 12, joins: true}},
			[]int{13}, []string{"a 5 [export] 100"}},
		{"an add-on ends on its day", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: extra, quantity: 3, first: 10, joins: true}},
			[]int{39, 40}, []string{"a 11 [export] 100", "a 5 [export] 100"}},
		{"an add-on never prolongs", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: sso, first: 10, joins: true}},
			[]int{101}, []string{"a 5 [export sso] 100"}},
		{"a trial turns into a purchase", nil,
			[]sale{{reference: "trial:lic_1", plan: trial}, {reference: "b", plan: pro, first: 10, joins: true}},
			[]int{9, 11}, []string{"b 5 [export] 110", "b 5 [export] 110"}},
		{"a new subscription after the end", nil,
			[]sale{{reference: "a", plan: pro, ended: 50}, {reference: "b", plan: pro, first: 70, joins: true}},
			[]int{71}, []string{"b 5 [export] 170"}},
		{"an end of one that was paused", nil,
			[]sale{{reference: "a", plan: pro, paused: 20, ended: 30}},
			[]int{31}, []string{"a 5 [export] 30"}},

		// Kinds.
		{"add-ons alone stand for bases", nil,
			[]sale{{reference: "a", plan: extra}, {reference: "b", plan: sso, first: 1, joins: true}},
			[]int{2, 31}, []string{"b 2 [sso] never", "b 0 [sso] never"}},
		{"an add-on that stands for a base does not suspend", nil,
			[]sale{{reference: "a", plan: extra, paused: 5}},
			[]int{6}, []string{"a 2 [] 5"}},

		// The end of a purchase.
		{"a refund ends a perpetual license", nil,
			[]sale{{reference: "a", plan: kept, refunded: 20}},
			[]int{19, 21}, []string{"a 5 [export] 20 updates 20", "a 5 [export] 20 updates 20"}},
		{"a refund after the end of updates ends a perpetual license", nil,
			[]sale{{reference: "a", plan: kept, ended: 10, refunded: 20}},
			[]int{19}, []string{"a 5 [export] 20 updates 10"}},
		{"an end of updates is no end of the license", nil,
			[]sale{{reference: "a", plan: kept, ended: 10}},
			[]int{200}, []string{"a 5 [export] never updates 10"}},
		{"a dispute that is lost after the end", nil,
			[]sale{{reference: "a", plan: pro, ended: 30, refunded: 40}, {reference: "b", plan: free, first: 1, joins: true}},
			[]int{35}, []string{"b 1 [] never"}},
		{"a purchase that ends before it was active never counts", nil,
			[]sale{{reference: "a", plan: free}, {reference: "b", plan: team, first: 20, ended: 10, joins: true}},
			[]int{21}, []string{"a 1 [] never"}},
		{"a renewal that is refunded before its start never counts", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: with(pro, func(p *api.Plan) { p.MaxActivations = counts(50) }), first: 10, refunded: 20, joins: true}},
			[]int{15}, []string{"a 5 [export] 100"}},
		{"no grace after an end", nil,
			[]sale{{reference: "a", plan: grace, ended: 30}},
			[]int{29}, []string{"a 5 [export] 30"}},

		// Lines.
		{"next year's plan continues the line", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: proToo, first: 90, joins: true}},
			[]int{95}, []string{"a 5 [export] 200"}},
		{"three plans in three years, and one skipped", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: proToo, first: 90, joins: true},
				{reference: "d", plan: with(proToo, func(p *api.Plan) { p.ID = "pro-2029" }), first: 250, joins: true}},
			[]int{251}, []string{"d 5 [export] 350"}},
		{"another line begins immediately", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: team, first: 90, joins: true}},
			[]int{95}, []string{"b 20 [export sso] 190"}},
		{"a trial is in no line", nil,
			[]sale{{reference: "trial:lic_1", plan: with(trial, func(p *api.Plan) { p.Line = "pro" })}, {reference: "b", plan: pro, first: 10, joins: true}},
			[]int{11}, []string{"b 5 [export] 110"}},
		{"add-ons without a line add up", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: extra, first: 10, joins: true}, {reference: "c", plan: extra, first: 11, joins: true}},
			[]int{12, 40, 41}, []string{"a 9 [export] 100", "a 7 [export] 100", "a 5 [export] 100"}},
		{"add-ons of a line follow each other", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: with(extra, func(p *api.Plan) { p.Line = "extra" }), first: 10, joins: true},
				{reference: "c", plan: with(extra, func(p *api.Plan) { p.Line = "extra" }), first: 11, joins: true}},
			[]int{12, 41, 70}, []string{"a 7 [export] 100", "a 7 [export] 100", "a 5 [export] 100"}},
		{"a purchase with an end can be stacked upon", nil,
			[]sale{{reference: "a", plan: pro, until: 60}, {reference: "b", plan: pro, first: 10, joins: true}},
			[]int{11}, []string{"a 5 [export] 160"}},
		{"a purchase that never ends cannot", nil,
			[]sale{{reference: "a", plan: pro, until: -1}, {reference: "b", plan: pro, first: 10, joins: true}},
			[]int{11}, []string{"b 5 [export] never"}},
		{"a renewal counts while what it continues is paused", nil,
			[]sale{{reference: "a", plan: pro, paused: 60}, {reference: "b", plan: proToo, first: 50, joins: true}},
			[]int{61}, []string{"b 5 [export] 200"}},
		{"a renewal of one that ended while it was paused begins at its end", nil,
			[]sale{{reference: "a", plan: pro, paused: 60, ended: 70}, {reference: "b", plan: proToo, first: 50, joins: true}},
			[]int{61, 71}, []string{"a 5 [export] 170", "b 5 [export] 170"}},

		// Validity, seats and updates.
		{"the latest grace period counts", nil,
			[]sale{{reference: "a", plan: grace}, {reference: "b", plan: team, first: 5, joins: true}},
			[]int{104, 107}, []string{"b 20 [export sso] 105", "a 5 [export] 105"}},
		{"the governing base limits updates", nil,
			[]sale{{reference: "a", plan: kept}, {reference: "b", plan: pro, first: 10, joins: true}},
			[]int{11, 111}, []string{"b 5 [export] never", "a 5 [export] never updates 100"}},
		{"updates end with the latest, started or not", nil,
			[]sale{{reference: "a", plan: kept}, {reference: "b", plan: kept, first: 10, joins: true}},
			[]int{11}, []string{"a 5 [export] never updates 200"}},
		{"an add-on that ends with its base stays", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: extra, first: 70, joins: true}},
			[]int{99, 100, 300}, []string{"a 7 [export] 100", "a 7 [export] 100", "a 7 [export] 100"}},

		// A license that no purchase made.
		{"an add-on adds to a license that no purchase made", own(80),
			[]sale{{reference: "b", plan: extra, first: 10, joins: true}},
			[]int{11, 40}, []string{"own 5 [] 80", "own 3 [] 80"}},
		{"a base takes the license over, and its refund gives it back", own(80),
			[]sale{{reference: "b", plan: with(pro, func(p *api.Plan) { p.Duration = api.Duration{} }), first: 10, until: 50, refunded: 20, joins: true}},
			[]int{15, 21}, []string{"b 5 [export] 80", "own 3 [] 80"}},
		{"a base with a duration continues the license and counts immediately", own(80),
			[]sale{{reference: "b", plan: pro, first: 10, joins: true}},
			[]int{11}, []string{"b 5 [export] 180"}},
		{"only the first base continues the license", own(80),
			[]sale{{reference: "b", plan: pro, first: 10, joins: true}, {reference: "c", plan: team, first: 11, joins: true}},
			[]int{12}, []string{"c 20 [export sso] 180"}},
		{"a license of another plan is not continued", ofPlan(own(80), "old", ""),
			[]sale{{reference: "b", plan: pro, first: 10, joins: true}},
			[]int{11}, []string{"b 5 [export] 110"}},
		{"a license of the line is continued", ofPlan(own(80), "old", "pro"),
			[]sale{{reference: "b", plan: pro, first: 10, joins: true}},
			[]int{11}, []string{"b 5 [export] 180"}},
		{"a perpetual license does not come back after a subscription", own(-1),
			[]sale{{reference: "b", plan: pro, first: 10, joins: true}},
			[]int{11, 111}, []string{"b 5 [export] 110", "b 5 [export] 110"}},

		// Products.
		{"a purchase of another product waits", nil,
			[]sale{{reference: "a", plan: pro}, {reference: "b", plan: with(team, func(p *api.Plan) { p.ProductID = "other" }), first: 10, joins: true}},
			[]int{11}, []string{"a 5 [export] 100"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			var set []terms.Purchase
			if test.own != nil {
				set = append(set, *test.own)
			}
			for _, s := range test.sales {
				s.joins = s.joins || test.own != nil
				set = append(set, s.purchase())
			}
			permutations(len(set), func(order []int) {
				some := make([]terms.Purchase, len(set))
				for i, x := range order {
					some[i] = set[x]
				}
				for i, n := range test.days {
					g := terms.GrantOf(some, "app")
					at, ok := g.At(day(n))
					is.True(ok)
					is.Equal(tell(at, terms.Suspension{}.Follow(g, day(n)).By), test.want[i])
				}
			})
		})
	}
}
