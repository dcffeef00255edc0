package license_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestListWhere(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	day := 24 * time.Hour
	named := func(name string, seats int64, updates time.Duration) api.License {
		f.now = f.now.Add(time.Second)
		return f.create(t, func(p *api.CreateLicenseParams) {
			p.Name = name
			if seats >= 0 {
				p.MaxActivations = &seats
			}
			if updates != 0 {
				at := f.now.Add(updates)
				p.UpdatesUntil = &at
			}
		})
	}
	four, three := named("4 of 5", 5, -day), named("3 of 5", 5, 10*day)
	named("0 of 5", 5, 60*day)
	for i := range 4 {
		f.activate(t, four.Key, fmt.Sprint("pc-", i))
		if i < 3 {
			f.activate(t, three.Key, fmt.Sprint("pc-", i))
		}
	}
	many := named("unlimited", -1, 0)
	f.activate(t, many.Key, "pc-1")
	f.now = f.now.Add(40 * day)
	named("new", 5, 0)
	list := func(p api.ListLicensesParams, condition string) string {
		t.Helper()
		p.Only = condition
		page, err := f.List(t.Context(), p)
		is.NoErr(err)
		is.True(!page.HasMore)
		var names []string
		for _, l := range page.Data {
			names = append(names, l.Name)
		}
		return strings.Join(names, ", ")
	}
	is.Equal(list(api.ListLicensesParams{}, "near_limit"), "") // nothing is counted
	for more := true; more; {
		var err error
		_, more, err = inner.Of(f.Service).Sales().Count(t.Context())
		is.NoErr(err)
	}
	is.Equal(list(api.ListLicensesParams{}, "near_limit"), "4 of 5")
	is.Equal(list(api.ListLicensesParams{Status: api.LicenseSuspended}, "near_limit"), "")
	is.Equal(list(api.ListLicensesParams{Search: "4 of 5"}, "near_limit"), "4 of 5")
	is.Equal(list(api.ListLicensesParams{NewestFirst: true}, "updates_ended"), "3 of 5, 4 of 5")
	is.Equal(list(api.ListLicensesParams{}, "updates_end_soon"), "0 of 5")
	is.Equal(list(api.ListLicensesParams{}, "due"), "0 of 5")
	is.Equal(list(api.ListLicensesParams{Search: "3 of"}, "updates_ended"), "3 of 5")
	_, err := f.As(license.Caller{Products: []string{"prod_editor"}}).List(t.Context(), api.ListLicensesParams{PlanID: "x"})
	require.ErrorIs(t, err, api.ErrProductForbidden)
	_, err = f.List(t.Context(), api.ListLicensesParams{Only: "mislaid"})
	require.ErrorIs(t, err, api.ErrInvalid)
	for _, p := range []api.ListLicensesParams{{PlanID: "x"}, {Only: "due"}} {
		_, err = f.Count(t.Context(), p)
		require.ErrorIs(t, err, api.ErrInvalid)
	}
}

// TestListWhereContinues: the pages of a list that stop within a batch, at its end, or after
// 10,000 licenses have each match once.
func TestListWhereContinues(t *testing.T) {
	is := is.New(t)
	f := newTwice(t)
	var rows strings.Builder
	for i := range 20_450 {
		plan := "rare"
		if i >= 250 && i < 20_400 {
			plan = "common"
		}
		fmt.Fprintf(&rows, `{"key":"OLD-0001-0001-%05d","name":"n","product_id":"p","customer_id":"c","plan_id":%q}`+"\n", i, plan)
	}
	is.NoErr(f.Import(t.Context(), strings.NewReader(rows.String()), func(api.RowResult) error { return nil }))
	for plan, want := range map[string]int{"rare": 300, "none": 0} {
		seen, found, examined, pages := map[string]bool{}, 0, 0, 0
		for p := (api.ListLicensesParams{Limit: 100, PlanID: plan}); ; {
			page, n, err := inner.Of(f.Service).Find().ListWhere(t.Context(), p)
			is.NoErr(err)
			for _, l := range page.Data {
				is.Equal(l.PlanID, plan)
				seen[l.ID] = true
			}
			require.AtMost(t, n, 10_000)
			require.AtMost(t, len(page.Data), 100)
			pages, found, examined = pages+1, found+len(page.Data), examined+n
			if p.Cursor = page.NextCursor; !page.HasMore {
				break
			}
		}
		is.Equal(len(seen), want)
		is.Equal(found, want)
		require.Greater(t, pages, 1)
		if want == 0 {
			is.Equal(examined, 20_450)
		}
	}
}

// TestNearAfterARefusedSeat: a license of two seats is not near its limit while both are used,
// but is for 30 days after an activation was refused, unless it has ended since.
func TestNearAfterARefusedSeat(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	two := f.create(t, func(p *api.CreateLicenseParams) { p.Name, p.MaxActivations = "Two", new(int64(2)) })
	f.activate(t, two.Key, "pc-1")
	f.activate(t, two.Key, "pc-2")
	near := func() (n int) {
		for more := true; more; {
			var err error
			_, more, err = inner.Of(f.Service).Sales().Count(t.Context())
			is.NoErr(err)
		}
		page, err := f.List(t.Context(), api.ListLicensesParams{Only: "near_limit"})
		is.NoErr(err)
		soon, err := inner.Of(f.Service).Sales().Soon(t.Context())
		is.NoErr(err)
		is.Equal(soon.NearN, len(page.Data)) // one rule
		return len(page.Data)
	}
	is.Equal(near(), 0)
	deny(t, f.Service, two.Key, "pc-3")
	is.NoErr(inner.Of(f.Service).StoreUsage(t.Context()))
	is.Equal(near(), 1)
	f.now = f.now.Add(29 * 24 * time.Hour)
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: two.ID, Name: new("Two seats")}) // it is counted again
	is.NoErr(err)
	is.Equal(near(), 1)
	f.now = f.now.Add(2 * 24 * time.Hour)
	is.Equal(near(), 0)
}
