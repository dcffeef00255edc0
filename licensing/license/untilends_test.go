package license_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A purchase of a perpetual license with maintenance ends the updates and nothing else.
func TestUntilEndsUpdates(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	never := (*time.Time)(nil)
	e := paid()
	e.PlanID = "maintained"
	l := *s.tell(t, "shop:1", e).License
	is.Equal([]any{l.ExpiresAt, *l.UpdatesUntil, l.GraceSeconds}, []any{never, onDay(0).AddDate(1, 0, 0), int64(7)})

	told := s.events(t)
	l = *s.tell(t, "shop:1", event{At: onDay(1), Until: api.To(onDay(500))}).License
	is.Equal([]any{l.ExpiresAt, *l.UpdatesUntil}, []any{never, onDay(500)})
	events, err := s.store.Events(t.Context(), store.EventQuery{After: told})
	is.NoErr(err)
	is.Equal(events[0].Type, api.EventLicenseRenewed)

	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, UpdatesUntil: api.To(onDay(900)), ExpiresAt: api.To(onDay(901))}) // by hand
	is.NoErr(err)
	l = *s.tell(t, "shop:1", event{At: onDay(2), Quantity: ptr[int64](2)}).License
	is.Equal([]any{*l.ExpiresAt, *l.UpdatesUntil, *l.MaxActivations}, []any{onDay(901), onDay(900), int64(6)})
	l = *s.tell(t, "shop:1", event{At: onDay(30), State: "ended"}).License
	is.Equal([]any{*l.ExpiresAt, *l.UpdatesUntil, l.GraceSeconds, l.Status}, []any{onDay(901), onDay(30), int64(7), api.LicenseActive})

	// A plan that ends the license ends it, and the way back as well.
	l = *s.tell(t, "shop:1", event{At: onDay(31), PlanID: "basic"}).License
	is.Equal([]any{*l.ExpiresAt, l.UpdatesUntil, l.GraceSeconds, l.Status}, []any{onDay(30), never, int64(0), api.LicenseExpired})
	l = *s.tell(t, "shop:1", event{At: onDay(32), PlanID: "maintained"}).License
	is.Equal([]any{l.ExpiresAt, *l.UpdatesUntil, l.GraceSeconds, l.Status}, []any{never, onDay(30), int64(7), api.LicenseActive})

	l, err = s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", CustomerID: "cus_ada", PlanID: "maintained"})
	is.NoErr(err)
	is.Equal([]any{l.ExpiresAt, *l.UpdatesUntil}, []any{never, s.now.AddDate(1, 0, 0)})
	l, err = s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", CustomerID: "cus_ada", PlanID: "maintained", Explicit: []string{"updates_until"}})
	is.NoErr(err)
	is.Equal([]any{l.ExpiresAt, l.UpdatesUntil}, []any{never, never})
	_, err = selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: "maintained", CustomerID: "cus_ada"})
	require.ErrorIs(t, err, api.ErrInvalid)
	_, err = selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "maintained", ProductID: "prod_editor", UntilEnds: "seats"})
	require.ErrorIs(t, err, api.ErrInvalid)
	require.Contains(t, err.Error(), "until_ends")
}

// A row of an import says when updates end, until an event says what the purchase is of. What is
// exported as CSV is imported unchanged.
func TestImportOfMaintenance(t *testing.T) {
	is := is.New(t)
	never := (*time.Time)(nil)
	rows := []byte(`{"key":"OLD-0001-0001-0001","name":"n","product_id":"prod_editor","customer_id":"cus_ada","reference":"shop:1","plan_id":"maintained","updates_until":"2027-01-09T00:00:00Z"}
{"key":"OLD-0001-0001-0002","name":"n","product_id":"prod_editor","customer_id":"cus_ada","reference":"shop:2","plan_id":"later","updates_until":"2027-01-09T00:00:00Z"}
`)
	until := time.Date(2027, 1, 9, 0, 0, 0, 0, time.UTC)
	for _, renewed := range []time.Time{onDay(700), onDay(800)} {
		s := newTwice(t)
		is.NoErr(s.Import(t.Context(), bytes.NewReader(rows), func(r api.RowResult) error {
			is.Equal(r.Result, api.ImportCreated)
			return nil
		}))
		for _, reference := range []string{"shop:1", "shop:2"} {
			l := s.tell(t, reference, event{At: onDay(1), Quantity: ptr[int64](1), State: "active"}).License
			is.Equal([]any{l.ExpiresAt, *l.UpdatesUntil}, []any{never, until})
			l = s.tell(t, reference, event{At: onDay(2), PlanID: "maintained", Until: api.To(renewed)}).License
			is.Equal([]any{l.ExpiresAt, *l.UpdatesUntil}, []any{never, renewed})
		}
		var file bytes.Buffer
		is.NoErr(inner.Of(s.Service).MoveIn().ExportCSV(t.Context(), &file, api.ListLicensesParams{}))
		preview, err := inner.Of(newTwice(t).Service).MoveIn().PreviewCSV(t.Context(), file.Bytes())
		is.NoErr(err)
		rows, until = preview.NDJSON, renewed
	}
}
