package license_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestPlan(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	p := api.PutPlanParams{ID: "price_1", ProductID: "prod_editor", Duration: api.Duration{Days: 14}, Terms: api.Terms{MaxActivations: ptr[int64](3), Entitlements: map[string]any{"users": 5}}}
	plan, err := selling.New(s.Service).PutPlan(ctx, p)
	is.NoErr(err)
	is.Equal([]any{plan.Object, plan.Name, plan.Revision, plan.Version().String(), plan.Entitlements["users"]}, []any{"plan", "price_1", int64(1), "1", 5.0})
	before := s.events(t)
	same, err := selling.New(s.Service).PutPlan(ctx, p)
	is.NoErr(err)
	is.Equal(same, plan)
	is.Equal(s.events(t), before)
	plan, err = selling.New(s.Service).PutPlan(ctx, api.PutPlanParams{ID: "price_1", ProductID: "prod_editor", IfMatch: []api.Version{plan.Version()}})
	is.NoErr(err)
	is.Equal([]any{plan.Duration.IsZero(), plan.MaxActivations, len(plan.Entitlements), plan.Revision}, []any{true, (*int64)(nil), 0, int64(2)})
	_, err = selling.New(s.Service).PutPlan(ctx, api.PutPlanParams{ID: "price_1", ProductID: "prod_editor", IfMatch: []api.Version{same.Version()}})
	require.ErrorIs(t, err, api.ErrStale)
	_, err = selling.New(s.Service).PutPlan(ctx, api.PutPlanParams{ID: "price_2", ProductID: "prod_editor", IfMatch: []api.Version{same.Version()}})
	require.ErrorIs(t, err, api.ErrNotFound)
	require.ErrorIs(t, selling.New(s.Service).DeletePlan(ctx, api.DeletePlanParams{ID: "price_1", IfMatch: []api.Version{same.Version()}}), api.ErrStale)

	var ids []string
	for cursor, more := "", true; more; {
		page, err := selling.New(s.Service).ListPlans(ctx, api.ListPlansParams{ProductID: "prod_editor", Limit: 2, Cursor: cursor})
		is.NoErr(err)
		for _, p := range page.Data {
			ids = append(ids, p.ID)
		}
		cursor, more = page.NextCursor, page.HasMore
	}
	is.Equal(ids, []string{"basic", "extra", "forever", "maintained", "price_1", "pro", "trial"})

	other := s.As(license.Caller{Products: []string{"prod_other"}})
	page, err := selling.New(other).ListPlans(ctx, api.ListPlansParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
	_, err = selling.New(other).GetPlan(ctx, "price_1")
	require.ErrorIs(t, err, api.ErrNotFound)
	require.ErrorIs(t, selling.New(other).DeletePlan(ctx, api.DeletePlanParams{ID: "price_1"}), api.ErrNotFound)
	for _, p := range []api.PutPlanParams{{ID: "price_1", ProductID: "prod_other"}, {ID: "new", ProductID: "prod_editor"}} {
		_, err = selling.New(other).PutPlan(ctx, p)
		require.ErrorIs(t, err, api.ErrProductForbidden)
	}

	p = api.PutPlanParams{ID: "price_2", ProductID: "prod_editor", Name: "n", Duration: api.Duration{Days: 1}, Starts: api.StartsActivation}
	put := func(field string) {
		_, err = selling.New(s.Service).PutPlan(ctx, p)
		is.NoErr(err)
		newest, err := s.store.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
		is.NoErr(err)
		data := eventData(t, newest[0])
		if _, changed := data.Changes[field]; !changed && field != "" {
			t.Errorf("%s: %v", field, data.Changes)
		}
	}
	put("")
	for field, change := range map[string]func(){
		"product_id": func() { p.ProductID = "prod_other" },
		"name":       func() { p.Name = "new" },
		"kind":       func() { p.Kind, p.UntilEnds = api.PlanAddOn, "" },
		"line":       func() { p.Line = "line" },
		"duration":   func() { p.Duration.Days++ },
		"until_ends": func() { p.Kind, p.UntilEnds = "", api.UntilEndsUpdates },
		"starts":     func() { p.Starts = "" },
	} {
		change()
		put(field)
	}

	is.NoErr(selling.New(s.Service).DeletePlan(ctx, api.DeletePlanParams{ID: "price_1"}))
	_, err = selling.New(s.Service).GetPlan(ctx, "price_1")
	require.ErrorIs(t, err, api.ErrNotFound)
	events, err := s.Events(ctx, api.ListEventsParams{Subject: "price_1"})
	is.NoErr(err)
	var types []string
	for _, e := range events.Data {
		types = append(types, e.Type)
	}
	is.Equal(types, []string{"plan.created", "plan.updated", "plan.deleted"})

	for field, p := range map[string]api.PutPlanParams{
		"id":              {ID: "-", ProductID: "p"},
		"product_id":      {ID: "x"},
		"duration":        {ID: "x", ProductID: "p", Duration: api.Duration{Days: -1}},
		"duration ":       {ID: "x", ProductID: "p", Duration: api.Duration{Years: 9000}},
		"max_activations": {ID: "x", ProductID: "p", Terms: api.Terms{MaxActivations: ptr[int64](1_000_001)}},
		"entitlements/a":  {ID: "x", ProductID: "p", Terms: api.Terms{Entitlements: map[string]any{"a": false}}},
	} {
		_, err := selling.New(s.Service).PutPlan(ctx, p)
		invalid, _ := errors.AsType[*api.InvalidError](err)
		is.True(invalid != nil)
		is.Equal(invalid.Fields[0].Field+map[bool]string{true: " "}[field == "duration "], field)
	}
}

// TestCreateWithAPlan: the plan fills in what is left out, and nothing else.
func TestCreateWithAPlan(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	l, err := s.Create(ctx, api.CreateLicenseParams{Name: "n", CustomerID: "c", PlanID: "pro"})
	is.NoErr(err)
	is.Equal([]any{l.ProductID, *l.ExpiresAt, l.GraceSeconds, *l.MaxActivations, *l.LeaseSeconds, *l.OfflineSeconds, l.PlanID},
		[]any{"prod_editor", s.now.AddDate(1, 0, 0), int64(3600), int64(5), int64(600), int64(60), "pro"})
	l, err = s.Create(ctx, api.CreateLicenseParams{
		Name: "n", CustomerID: "c", PlanID: "basic",
		Terms: api.Terms{GraceSeconds: 7, Entitlements: map[string]any{}}, Explicit: []string{"max_activations", "expires_at"},
	})
	is.NoErr(err)
	is.Equal([]any{l.ExpiresAt == nil, l.GraceSeconds, l.MaxActivations == nil, len(l.Entitlements)}, []any{true, int64(7), true, 0})
	for days, ends := range map[int]int{-100: 0, 100: 100} {
		starts := s.now.AddDate(0, 0, days)
		l, err = s.Create(ctx, api.CreateLicenseParams{Name: "n", CustomerID: "c", PlanID: "pro", StartsAt: &starts})
		is.NoErr(err)
		is.Equal(*l.ExpiresAt, s.now.AddDate(0, 0, ends).AddDate(1, 0, 0)) // a start that has passed costs nothing
	}
	for _, p := range []api.CreateLicenseParams{
		{Name: "n", CustomerID: "c", PlanID: "nothing"},
		{Name: "n", CustomerID: "c", PlanID: "pro", ProductID: "prod_other"},
	} {
		_, err = s.Create(ctx, p)
		invalid, _ := errors.AsType[*api.InvalidError](err)
		is.True(invalid != nil)
		is.Equal(invalid.Fields[0].Field, "plan_id")
	}
	_, err = s.As(license.Caller{Products: []string{"prod_other"}}).Create(ctx, api.CreateLicenseParams{Name: "n", CustomerID: "c", PlanID: "pro"})
	require.ErrorIs(t, err, api.ErrInvalid)
}

// TestCountPlans: the count is exact, in a store with more licenses than one page and
// for a caller that sees some of them, and follows a change.
func TestCountPlans(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	var rows strings.Builder
	for i := range 1_201 {
		fmt.Fprintf(&rows, `{"key":"OLD-0001-0001-%04d","name":"n","product_id":%q,"customer_id":"c","plan_id":%q}`+"\n", i, []string{"prod_editor", "prod_other"}[i%2], []string{"price_1", "price_12"}[i%3%2])
	}
	is.NoErr(s.Import(t.Context(), strings.NewReader(rows.String()), func(api.RowResult) error { return nil }))
	_, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "price_1", ProductID: "prod_editor", CustomerID: "price_1"}) // has none
	is.NoErr(err)
	count := func(s *license.Service, plan string) int64 {
		c, err := inner.Of(s).Find().CountPlans(t.Context())
		is.NoErr(err)
		is.True(!c.AtLeast)
		return c.ByPlan[plan]
	}
	is.Equal([]int64{count(s.Service, "price_1"), count(s.Service, "price_12"), count(s.Service, "")}, []int64{801, 400, 0})
	other := s.As(license.Caller{Products: []string{"prod_other"}})
	is.Equal(count(other, "price_1")+count(other, "price_12"), int64(600))
	l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "n", CustomerID: "c", PlanID: "pro"})
	is.NoErr(err)
	is.Equal(count(s.Service, "pro"), int64(1))
	is.NoErr(s.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	is.Equal(count(s.Service, "pro"), int64(0))
}
