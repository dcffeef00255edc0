package license_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// changedMonth is the plan "month" of newShop after a change.
var changedMonth = api.PutPlanParams{
	ID: "month", ProductID: "prod_editor", Duration: api.Duration{Days: 60},
	Terms: api.Terms{GraceSeconds: 7200, MaxActivations: ptr[int64](3), Entitlements: map[string]any{"export": true}},
}

// putPlan changes a plan.
func (s *seller) putPlan(t *testing.T, p api.PutPlanParams) {
	t.Helper()
	_, err := selling.New(s.Service).PutPlan(t.Context(), p)
	is.New(t).NoErr(err)
}

// rollOut rolls out a plan, and returns how many licenses changed.
func (s *seller) rollOut(t *testing.T, id string) (changed int, err error) {
	t.Helper()
	p := api.RollOutPlanParams{ID: id}
	for {
		done, err := selling.New(s.Service).RollOutPlan(t.Context(), p)
		if changed += done.Changed; err != nil || done.NextCursor == "" {
			return changed, err
		}
		p.Cursor = done.NextCursor
	}
}

// monthly are histories of licenses with purchases of "month".
var monthly = [][]bought{
	{sold("a", "month", 0)},
	{sold("a", "month", 0), {"a", event{At: onDay(1), Quantity: ptr[int64](7)}}},
	{until(sold("a", "month", 0), 35)},
	{sold("a", "free", 0), sold("b", "month", 5)},
	{sold("a", "month", 0), sold("b", "month", 5), sold("c", "seats", 6)},
	{sold("a", "month", 0), sold("b", "year", 5)},
	{sold("a", "month", 0), said("a", 3, "paused")},
	{sold("a", "month", 0), said("a", 3, "ended")},
	{sold("a", "month", 0), sold("b", "month", 5), said("b", 6, "refunded")},
	{sold("a", "year", 0), sold("b", "month", 5), {"b", event{At: onDay(6), PlanID: "year2"}}},
}

// sellAll sells some licenses, and returns their IDs.
func (s *seller) sellAll(t *testing.T, each int) (ids []string) {
	t.Helper()
	for i := range each * len(monthly) {
		id := ""
		for _, b := range monthly[i%len(monthly)] {
			e := b.event
			if e.CustomerID = "cus_ada"; b.reference != "a" {
				e.LicenseID = id
			}
			if f := s.tell(t, fmt.Sprint(b.reference, ":", i), e); id == "" {
				id = f.LicenseID
			}
		}
		ids = append(ids, id)
	}
	return ids
}

// TestRollOut: after a roll-out, licenses are as if their purchases had been made with the
// plan as it is now, also if it was stopped after any of its Updates, and each has one event.
func TestRollOut(t *testing.T) {
	want := newShop(t, memory.New())
	want.putPlan(t, changedMonth)
	want.now = onDay(20)
	wanted := want.sellAll(t, 7)
	for n := 0; ; n++ {
		is := is.New(t)
		st := &haltingStore{Store: memory.New(), left: unhalted}
		s := newShop(t, st)
		s.now = onDay(20)
		ids := s.sellAll(t, 7)
		s.putPlan(t, changedMonth)
		before := s.mustGet(t, ids[0])
		began, err := st.Store.Events(t.Context(), store.EventQuery{Descending: true, Limit: 1})
		is.NoErr(err)
		use, err := selling.New(s.Service).GetPlanUse(t.Context(), "month")
		is.NoErr(err)
		is.Equal(use, api.PlanUse{Object: "plan_use", PlanID: "month", Purchases: 77})

		st.left = n
		changed, err := s.rollOut(t, "month")
		st.left = unhalted
		finished := err == nil
		if !finished {
			is.True(errors.Is(err, errHalted))
			for _, id := range ids {
				s.check(t, id)
			}
			rest, err := s.rollOut(t, "month")
			is.NoErr(err)
			changed += rest
		}
		events, err := st.Store.Events(t.Context(), store.EventQuery{After: began[0].Seq})
		is.NoErr(err)
		of := map[string]int{}
		for _, e := range events {
			of[e.Subject]++
		}
		is.Equal(len(events), changed)
		is.Equal(len(of), changed)
		is.Equal(changed, 56) // a better base hides the plan in one history, and another has left it
		for i, id := range ids {
			is.Equal(s.shown(t, id), want.shown(t, wanted[i]))
			is.Equal(s.mustGet(t, id).GraceSeconds, want.mustGet(t, wanted[i]).GraceSeconds)
			is.Equal(s.mustGet(t, id).Upcoming, want.mustGet(t, wanted[i]).Upcoming)
			s.check(t, id)
		}
		is.Equal(s.mustGet(t, ids[0]).Key, before.Key)
		changed, err = s.rollOut(t, "month")
		is.NoErr(err)
		is.Equal(changed, 0)
		if finished {
			is.True(n >= 2)
			return
		}
	}
}

// TestRollOutByHand: what was set by hand stays unless the plan changes it, and licenses
// that only have the ID of the plan are counted and stay.
func TestRollOutByHand(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	ctx, sell := t.Context(), selling.New(s.Service)
	id := s.sell(t, []bought{sold("a", "month", 0)}, []int{0})
	_, err := s.Update(ctx, api.UpdateLicenseParams{ID: id, MaxActivations: api.To[int64](50)})
	is.NoErr(err)
	p := plain()
	p.PlanID = "month"
	created, err := s.Create(ctx, p)
	is.NoErr(err)
	s.tell(t, "add", event{At: onDay(0), CustomerID: created.CustomerID, LicenseID: created.ID, PlanID: "sso", State: api.PurchaseActive}) // it has purchases now, and none of the plan
	applied := s.sellAs(t, "b", "year")
	_, err = sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: applied, PlanID: "month"})
	is.NoErr(err)
	revoked, deleted := s.sellAs(t, "c", "month"), s.sellAs(t, "d", "month")
	_, err = s.Revoke(ctx, api.ChangeStateParams{ID: revoked})
	is.NoErr(err)
	is.NoErr(s.Delete(ctx, api.DeleteLicenseParams{ID: deleted}))
	s.tell(t, "e", event{At: onDay(0), CustomerID: "cus_ada", PlanID: "month"}) // waits
	stay := []string{created.ID, applied, revoked}
	var before []api.License
	for _, id := range stay {
		before = append(before, s.mustGet(t, id))
	}

	use, err := sell.GetPlanUse(ctx, "month")
	is.NoErr(err)
	is.Equal(use, api.PlanUse{Object: "plan_use", PlanID: "month", Purchases: 3, Licenses: 2})
	for _, step := range []struct {
		change func(*api.PutPlanParams)
		want   []int64 // seats and grace
	}{
		{func(p *api.PutPlanParams) { p.MaxActivations = ptr[int64](2) }, []int64{50, 7200}},
		{func(p *api.PutPlanParams) { p.MaxActivations = ptr[int64](3) }, []int64{3, 7200}},
	} {
		p := changedMonth
		step.change(&p)
		s.putPlan(t, p)
		changed, err := s.rollOut(t, "month")
		is.NoErr(err)
		is.Equal(changed, 1)
		l := s.mustGet(t, id)
		is.Equal([]int64{*l.MaxActivations, l.GraceSeconds}, step.want)
		s.check(t, id)
	}
	for i, id := range stay {
		is.Equal(s.mustGet(t, id), before[i])
	}
}

// TestApplyPlanThatGoverns: it refreshes the purchase, so that nothing is set by hand.
func TestApplyPlanThatGoverns(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	ctx, sell := t.Context(), selling.New(s.Service)
	id, other := s.sellAs(t, "a", "month"), s.sellAs(t, "b", "month")
	_, err := s.Update(ctx, api.UpdateLicenseParams{ID: id, MaxActivations: api.To[int64](50)})
	is.NoErr(err)
	p := changedMonth
	p.MaxActivations = ptr[int64](2)
	s.putPlan(t, p)
	stale, before := s.mustGet(t, id).Version(), s.mustGet(t, other)
	l, err := sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: id, PlanID: "month", Reason: "Promised"})
	is.NoErr(err)
	is.Equal([]any{*l.MaxActivations, l.GraceSeconds, *l.ExpiresAt}, []any{int64(50), int64(7200), onDay(60)})
	s.check(t, id)
	events, err := s.store.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
	is.NoErr(err)
	data := eventData(t, events[0])
	is.Equal([]any{events[0].Type, events[0].Subject, data.Reason}, []any{api.EventLicenseRenewed, id, "Promised"})
	is.Equal(s.mustGet(t, other), before)
	again, err := sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: id, PlanID: "month"})
	is.NoErr(err)
	is.Equal(again, l)
	_, err = sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: id, PlanID: "month", IfMatch: []api.Version{stale}})
	require.ErrorIs(t, err, api.ErrStale)
	p.MaxActivations = ptr[int64](4)
	s.putPlan(t, p)
	changed, err := s.rollOut(t, "month")
	is.NoErr(err)
	is.Equal(changed, 2)
	is.Equal(*s.mustGet(t, id).MaxActivations, int64(4)) // no field of the plan is set by hand
	for _, plan := range []string{"year", "month"} {     // another one is set by hand, and then not any more
		seats := map[string]int64{"year": 5, "month": 4}[plan]
		l, err = sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: id, PlanID: plan})
		is.NoErr(err)
		is.Equal([]any{*l.MaxActivations, l.PlanID}, []any{seats, plan})
	}
	for _, seats := range []int64{8, 9} { // a plan that is set by hand governs no purchase, and its new terms are set again
		s.putPlan(t, api.PutPlanParams{ID: "team", ProductID: "prod_editor", Terms: api.Terms{MaxActivations: &seats}})
		l, err = sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: id, PlanID: "team"})
		is.NoErr(err)
		is.Equal([]any{*l.MaxActivations, l.PlanID}, []any{seats, "team"})
	}
}

// TestRollOutErrors: what RollOutPlan and GetPlanUse refuse, and whom.
func TestRollOutErrors(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	ctx, sell := t.Context(), selling.New(s.Service)
	id := s.sellAs(t, "a", "month")
	s.putPlan(t, changedMonth)
	_, err := sell.RollOutPlan(ctx, api.RollOutPlanParams{ID: "nothing"})
	require.ErrorIs(t, err, api.ErrNotFound)
	_, err = sell.GetPlanUse(ctx, "nothing")
	require.ErrorIs(t, err, api.ErrNotFound)
	_, err = sell.RollOutPlan(ctx, api.RollOutPlanParams{ID: "month", Cursor: "nonsense"})
	is.Equal(refusedField(err), "cursor")
	limited := selling.New(s.As(license.Caller{Products: []string{"prod_other"}}))
	_, err = limited.RollOutPlan(ctx, api.RollOutPlanParams{ID: "month"})
	require.ErrorIs(t, err, api.ErrNotFound)

	before := s.mustGet(t, id)
	is.NoErr(sell.DeletePlan(ctx, api.DeletePlanParams{ID: "month"})) // and then an add-on has its ID
	s.putPlan(t, api.PutPlanParams{ID: "month", ProductID: "prod_editor", Kind: api.PlanAddOn})
	changed, err := s.rollOut(t, "month")
	is.NoErr(err)
	is.Equal(changed, 0)
	is.Equal(s.mustGet(t, id), before)
}

// sellAs sells a plan on day 0 under a reference, and returns the ID of the license.
func (s *seller) sellAs(t *testing.T, reference, plan string) string {
	t.Helper()
	return s.tell(t, reference, event{At: onDay(0), CustomerID: "cus_ada", PlanID: plan, State: api.PurchaseActive}).LicenseID
}

// TestRollOutOfLicensesWithManyPurchases: a call looks at fewer licenses if they have many
// purchases, and all of them come.
func TestRollOutOfLicensesWithManyPurchases(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	for i := range 7 {
		id := s.sellAs(t, fmt.Sprint("a:", i), "month")
		for j := range 19 {
			s.tell(t, fmt.Sprint("x:", i, ":", j), event{At: onDay(0), CustomerID: "cus_ada", LicenseID: id, PlanID: "seats", State: api.PurchaseActive})
		}
	}
	s.putPlan(t, changedMonth)
	var got []int
	for p := (api.RollOutPlanParams{ID: "month"}); ; {
		done, err := selling.New(s.Service).RollOutPlan(t.Context(), p)
		is.NoErr(err)
		got = append(got, done.Changed)
		if p.Cursor = done.NextCursor; p.Cursor == "" {
			break
		}
	}
	is.Equal(got, []int{3, 3, 1}) // of 20 purchases each
}
