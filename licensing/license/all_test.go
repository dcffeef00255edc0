package license_test

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// collect returns the records of an iterator.
func collect[T any](t *testing.T, seq iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for row, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// TestWaitingPurchasesPage: every page has the next of the purchases that wait, first those
// with a license, then those that expire first.
func TestWaitingPurchasesPage(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	var want []string
	for _, ref := range []string{"a1", "a2", "a3"} {
		s.tell(t, ref, event{At: s.now, State: "active", CustomerID: "cus_ada", PlanID: "basic"})
		is.Equal(s.tell(t, ref, event{At: s.now, PlanID: "unknown"}).Waiting, api.WaitingUnknownPlan)
	}
	for i := range 250 {
		s.now = s.now.Add(time.Second)
		e := event{CustomerID: "cus_bob", PlanID: "unknown", State: "active"}
		if i%3 == 2 {
			e = event{CustomerID: "cus_bob", PlanID: "other"} // waits until it is active
		}
		s.tell(t, fmt.Sprintf("shop:%d", i), e)
		want = append(want, fmt.Sprintf("shop:%d", i))
	}
	sales := selling.New(s.Service)
	var got []string
	for _, f := range collect(t, sales.AllPurchases(t.Context(), api.ListPurchasesParams{})) {
		got = append(got, f.Reference)
	}
	slices.Sort(got[:3])
	is.Equal(got, append([]string{"a1", "a2", "a3"}, want...))

	for _, limit := range []int{1, 2, 100, 0} {
		p := api.ListPurchasesParams{Limit: limit}
		var paged []string
		for {
			page, err := sales.ListPurchases(t.Context(), p)
			is.NoErr(err)
			is.True(len(page.Data) > 0 && len(page.Data) <= cmp.Or(limit, 50))
			for _, f := range page.Data {
				paged = append(paged, f.Reference)
			}
			is.Equal(page.HasMore, page.NextCursor != "")
			if p.Cursor = page.NextCursor; p.Cursor == "" {
				break
			}
		}
		slices.Sort(paged[:3])
		is.Equal(paged, got)
	}
	is.Equal(len(collect(t, sales.AllPurchases(t.Context(), api.ListPurchasesParams{Waiting: api.WaitingUnknownPlan}))), 3+167)

	limited := selling.New(s.As(license.Caller{Products: []string{"prod_other"}}))
	is.Equal(len(collect(t, limited.AllPurchases(t.Context(), api.ListPurchasesParams{}))), 83)
	page, err := sales.ListPurchases(t.Context(), api.ListPurchasesParams{Limit: 7})
	is.NoErr(err)
	for _, p := range []api.ListPurchasesParams{
		{Cursor: "x"}, {Cursor: page.NextCursor, Waiting: api.WaitingPlan}, {Limit: 201},
	} {
		_, err := sales.ListPurchases(t.Context(), p)
		require.ErrorIs(t, err, api.ErrInvalid)
	}
	_, err = limited.ListPurchases(t.Context(), api.ListPurchasesParams{Cursor: page.NextCursor})
	require.ErrorIs(t, err, api.ErrInvalid)
}

// TestAllEventsAndPlans: an iterator has what the pages have, and stops after an error.
func TestAllEventsAndPlans(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	sales := selling.New(s.Service)
	for i := range 205 {
		_, err := sales.PutPlan(t.Context(), api.PutPlanParams{ID: fmt.Sprintf("plan%03d", i), ProductID: "prod_all"})
		is.NoErr(err)
	}
	plans := collect(t, sales.AllPlans(t.Context(), api.ListPlansParams{ProductID: "prod_all", Cursor: "ignored", Limit: 1}))
	is.Equal([]any{len(plans), plans[0].ID, plans[204].ID}, []any{205, "plan000", "plan204"})

	created := api.ListEventsParams{Types: []string{api.EventPlanCreated}}
	events := collect(t, s.AllEvents(t.Context(), created))
	is.True(len(events) >= 205)
	page, err := s.Events(t.Context(), api.ListEventsParams{Types: []string{api.EventPlanCreated}, Limit: 200})
	is.NoErr(err)
	created.After = page.NextCursor
	is.Equal(collect(t, s.AllEvents(t.Context(), created)), events[200:])
	created.After = "x"
	n := 0
	for _, err := range s.AllEvents(t.Context(), created) {
		require.ErrorIs(t, err, api.ErrInvalid)
		n++
	}
	is.Equal(n, 1)
}
