package terms_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

func TestSeatsSetByHandAreTheWholeAtThatMoment(t *testing.T) {
	is := is.New(t)
	a, b := sale{reference: "a", plan: pro}.purchase(), sale{reference: "b", plan: extra, first: 10, joins: true}.purchase()
	set := []terms.Purchase{a, b}
	s := terms.State{}.Follow(nil, set, day(12))
	is.Equal(s.MaxActivations, int64(7))
	want := s.Terms
	want.MaxActivations = 50
	s, _ = s.Edit(set, want, day(12))
	is.Equal(s.MaxActivations, int64(50))

	ended, passed := s.Pass(day(40))
	is.Equal(ended.MaxActivations, int64(48)) // the add-on ends
	is.Equal(passed[0].Ended, []string{"b"})
	is.True(passed[0].Ends.IsZero())

	c := sale{reference: "c", plan: extra, quantity: 2, first: 13, joins: true}.purchase()
	more := s.Follow(set, []terms.Purchase{a, b, c}, day(13))
	is.Equal(more.MaxActivations, int64(54)) // another one adds

	a.Quantity = 2
	is.Equal(s.Follow(set, []terms.Purchase{a, b}, day(13)).MaxActivations, int64(12)) // the purchases say another number
}

func TestSeatsSetByHandBelowWhatAddOnsAdd(t *testing.T) {
	is := is.New(t)
	a, b := sale{reference: "a", plan: pro}.purchase(), sale{reference: "b", plan: extra, quantity: 5, first: 10, joins: true}.purchase()
	set := []terms.Purchase{a, b}
	s := terms.State{}.Follow(nil, set, day(12))
	want := s.Terms
	want.MaxActivations = 0
	s, _ = s.Edit(set, want, day(12))
	s, _ = s.Pass(day(40))
	is.Equal(s.MaxActivations, int64(0))
	c := sale{reference: "c", plan: extra, quantity: 6, first: 41, joins: true}.purchase()
	is.Equal(s.Follow(set, []terms.Purchase{a, b, c}, day(41)).MaxActivations, int64(2)) // 0 - 10 + 12
}

func TestAnEndSetByHandGivesWayOnlyToALaterOneOrWhenThatOfThePurchasesBecomesEarlier(t *testing.T) {
	is := is.New(t)
	for _, test := range []struct{ hand, until, want int }{
		{300, 150, 300}, {300, 301, 301}, {300, 90, 90}, {50, 150, 150}, {-1, 150, -1}, {-1, 90, 90}, {50, -1, -1}, {300, 100, 300},
	} {
		set := []terms.Purchase{sale{reference: "a", plan: pro}.purchase()}
		s := terms.State{}.Follow(nil, set, day(1))
		want := s.Terms
		if want.ExpiresAt = day(test.hand); test.hand < 0 {
			want.ExpiresAt = time.Time{}
		}
		s, _ = s.Edit(set, want, day(1))
		s = s.Follow(set, []terms.Purchase{sale{reference: "a", plan: pro, until: test.until}.purchase()}, day(2))
		end := day(test.want)
		if test.want < 0 {
			end = time.Time{}
		}
		is.Equal(s.ExpiresAt, end)
	}
}

func TestTimeChangesFieldsSetByHand(t *testing.T) {
	is := is.New(t)
	set := []terms.Purchase{sale{reference: "a", plan: free}.purchase(), sale{reference: "b", plan: team, first: 10, joins: true}.purchase()}
	s := terms.State{}.Follow(nil, set, day(12))
	want := s.Terms
	want.Entitlements = map[string]any{"mine": true, "export": true}
	want.LeaseSeconds = 60
	s, _ = s.Edit(set, want, day(12))
	is.Equal(s.Entitlements, map[string]any{"mine": true, "export": true})
	is.Equal(len(s.Changes), 1)
	is.Equal(s.Changes[0].Ends, day(110))
	s, _ = s.Pass(day(110))
	is.Equal(s.Entitlements, map[string]any{"mine": true}) // export ended, mine is no purchase's
	is.Equal(s.LeaseSeconds, int64(60))
	is.Equal(slices.Sorted(maps.Keys(s.Hand.Entitlements)), []string{"mine"})
	is.Equal(len(s.Changes), 0)
}

func TestAnImportedOrNewLicenseKeepsWhatTheCallerChanged(t *testing.T) {
	is := is.New(t)
	set := []terms.Purchase{sale{reference: "a", plan: pro}.purchase()}
	s := terms.State{Terms: terms.Terms{Name: "customer"}}.Follow(nil, set, day(1))
	is.Equal(s.Name, "customer") // no purchase says one
	want := s.Terms
	want.Name, want.MaxActivations = "hook", 8
	s, _ = s.Edit(set, want, day(1))
	s = s.Follow(set, set, day(2))
	is.Equal(s.Name, "hook")
	is.Equal(s.MaxActivations, int64(8))
}

func TestEveryFieldCanBeSetByHand(t *testing.T) {
	is := is.New(t)
	own := terms.Own("lic_1", "", day(0), terms.Terms{ProductID: "app", Name: "own", MaxActivations: 3, LeaseSeconds: -1, OfflineSeconds: -1, ExpiresAt: day(80)})
	a, x := sale{reference: "a", plan: kept}.purchase(), sale{reference: "x", plan: extra, first: 1, joins: true}.purchase()
	a.Name, a.Metadata = "a", map[string]*string{"k": text("a"), "gone": nil}
	for _, set := range [][]terms.Purchase{{a, x}, {own, x}, {a}, {own}} {
		for name, change := range map[string]func(*terms.Terms){
			"product":  func(t *terms.Terms) { t.ProductID = "other" },
			"name":     func(t *terms.Terms) { t.Name = "mine" },
			"plan":     func(t *terms.Terms) { t.PlanID = "mine" },
			"expires":  func(t *terms.Terms) { t.ExpiresAt = day(55) },
			"updates":  func(t *terms.Terms) { t.UpdatesUntil = day(55) },
			"grace":    func(t *terms.Terms) { t.GraceSeconds = 55 },
			"seats":    func(t *terms.Terms) { t.MaxActivations = 55 },
			"lease":    func(t *terms.Terms) { t.LeaseSeconds = 55 },
			"offline":  func(t *terms.Terms) { t.OfflineSeconds = 55 },
			"added":    func(t *terms.Terms) { t.Metadata = map[string]*string{"k": text("b"), "l": text("c")} },
			"removed":  func(t *terms.Terms) { t.Metadata = nil },
			"numbered": func(t *terms.Terms) { t.Entitlements = map[string]any{"n": 5.0} },
		} {
			s := terms.State{Terms: terms.Terms{ProductID: "app"}}.Follow(nil, set, day(2))
			want := s.Terms
			change(&want)
			next, _ := s.Edit(set, want, day(2))
			got, wanted := sheetOf(next.Terms), sheetOf(want)
			if name == "product" { // the add-on is of the other product then
				got, wanted = sheet{"product": next.ProductID}, sheet{"product": "other"}
			}
			is.Equal(differ(got, wanted), "") // it has effect

			more := slices.Clone(set)
			more[0].Reason = "said again"
			is.Equal(differ(sheetOf(next.Follow(set, more, day(3)).Terms), sheetOf(next.Terms)), "") // and stays
			is.Equal(differ(sheetOf(s.Terms), sheetOf(terms.State{Terms: terms.Terms{ProductID: "app"}}.Follow(nil, set, day(2)).Terms)), "")
		}
	}
}
