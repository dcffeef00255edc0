package license_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// newStarter is newTwice with plans of 10 days that start with the first activation.
func newStarter(t *testing.T) *seller {
	t.Helper()
	s := newTwice(t)
	for _, p := range []api.PutPlanParams{
		{ID: "boxed", Terms: api.Terms{MaxActivations: ptr[int64](2)}},
		{ID: "boxed-updates", UntilEnds: api.UntilEndsUpdates},
		{ID: "boxed-seats", Kind: api.PlanAddOn, Terms: api.Terms{MaxActivations: ptr[int64](3)}},
	} {
		p.ProductID, p.Duration, p.Starts = "prod_editor", api.Duration{Days: 10}, api.StartsActivation
		if _, err := selling.New(s.Service).PutPlan(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// boughtPlan returns the event of a purchase of a plan.
func boughtPlan(plan string, day float64) event {
	return event{At: onDay(day), CustomerID: "cus_ada", PlanID: plan, State: "active"}
}

func (s *seller) activate(t *testing.T, l api.License, fingerprint string, day float64) api.Verdict {
	t.Helper()
	s.now = onDay(day)
	v, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint, File: days14})
	if err != nil {
		t.Fatal(err)
	}
	return v.Verdict
}

// ends returns the end of a license in days; -1: it has none.
func (s *seller) ends(t *testing.T, id string) float64 {
	t.Helper()
	l := s.mustGet(t, id)
	if (l.ExpiresAt == nil) != (l.Starts != "") && l.UpdatesUntil == nil {
		t.Fatalf("starts %q, expires at %v", l.Starts, l.ExpiresAt)
	}
	end := l.ExpiresAt
	if end == nil {
		end = l.UpdatesUntil
	}
	if end == nil {
		return -1
	}
	return end.Sub(start).Hours() / 24
}

// TestStartsWithTheFirstActivation: of a purchase, a trial and a license made by hand.
// Until then the license is valid, and has no end.
func TestStartsWithTheFirstActivation(t *testing.T) {
	for name, create := range map[string]func(*seller) (api.License, error){
		"purchase": func(s *seller) (api.License, error) {
			return *s.tell(t, "shop:1", boughtPlan("boxed", 0)).License, nil
		},
		"trial": func(s *seller) (api.License, error) {
			trial, err := selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: "boxed", CustomerID: "cus_ada"})
			return trial.License, err
		},
		"by hand": func(s *seller) (api.License, error) {
			return s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", CustomerID: "cus_ada", PlanID: "boxed"})
		},
		"updates by hand": func(s *seller) (api.License, error) {
			return s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", CustomerID: "cus_ada", PlanID: "boxed-updates"})
		},
		"updates": func(s *seller) (api.License, error) {
			return *s.tell(t, "shop:1", boughtPlan("boxed-updates", 0)).License, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newStarter(t)
			l, err := create(s)
			is.NoErr(err)
			is.Equal([]any{l.ExpiresAt, l.UpdatesUntil, l.Starts}, []any{(*time.Time)(nil), (*time.Time)(nil), api.StartsActivation})
			is.Equal(s.ends(t, l.ID), -1.0)
			s.now = onDay(100)
			v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, ProductID: "prod_editor"})
			is.NoErr(err)
			is.True(v.Valid) // and a check begins nothing
			is.Equal(s.ends(t, l.ID), -1.0)

			told := s.events(t)
			is.True(s.activate(t, l, "first", 100).License.Starts == "")
			is.Equal(s.ends(t, l.ID), 110.0)
			events, err := s.store.Events(t.Context(), store.EventQuery{After: told})
			is.NoErr(err)
			is.Equal(events[0].Type, api.EventLicenseUpdated)
			is.Equal(events[1].Type, api.EventActivationCreated)
			s.activate(t, l, "second", 105)
			s.activate(t, l, "first", 106)
			is.Equal(s.ends(t, l.ID), 110.0)

			is.NoErr(s.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
			left, err := s.store.Entries(t.Context(), store.EntryQuery{Kind: "purchase_license"})
			is.NoErr(err)
			is.Equal(len(left) == 0, strings.HasSuffix(name, "hand")) // the reference of a purchase was used
		})
	}
}

// TestStartsFile: the file of the first activation knows the end that it sets.
func TestStartsFile(t *testing.T) {
	is := is.New(t)
	s := newStarter(t)
	l := s.tell(t, "shop:1", boughtPlan("boxed", 0)).License
	s.now = onDay(50)
	v, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "first", File: days14})
	is.NoErr(err)
	is.Equal(v.FileClaims().LicenseExpiresAt, onDay(60))
	is.True(!v.FileClaims().ExpiresAt.After(onDay(60)))
	is.Equal(v.FileClaims().Generation, s.mustGet(t, l.ID).Generation)
}

// TestStartsRefused: an activation that is refused begins nothing.
func TestStartsRefused(t *testing.T) {
	is := is.New(t)
	s := newStarter(t)
	l := s.tell(t, "shop:1", boughtPlan("boxed", 0)).License
	_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To[int64](0)})
	is.NoErr(err)
	told := s.events(t)
	_, err = s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "first"})
	require.ErrorIs(t, err, api.ErrDenied)
	is.Equal(s.ends(t, l.ID), -1.0)
	is.Equal(s.events(t), told)
}

// TestStartsOrder: a purchase continues another one from its end on, whichever of the
// events and the first activation comes first; the end that an event says wins.
func TestStartsOrder(t *testing.T) {
	first, second, third := boughtPlan("boxed", 0), boughtPlan("boxed", 5), boughtPlan("boxed-seats", 6)
	steps := map[string]func(s *seller, l api.License){
		"second": func(s *seller, l api.License) { second.LicenseID = l.ID; s.tell(t, "shop:2", second) },
		"third":  func(s *seller, l api.License) { third.LicenseID = l.ID; s.tell(t, "shop:3", third) },
		"active": func(s *seller, l api.License) { s.activate(t, l, "first", 8) },
		"gone": func(s *seller, l api.License) {
			_, err := s.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "first"})
			is.New(t).NoErr(err)
		},
	}
	for _, order := range []string{"second third active gone", "active gone second third", "third active second gone", "active third gone second"} {
		t.Run(order, func(t *testing.T) {
			is := is.New(t)
			s := newStarter(t)
			s.now = onDay(8)
			l := *s.tell(t, "shop:1", first).License
			for _, step := range strings.Fields(order) {
				steps[step](s, l)
			}
			is.Equal(s.ends(t, l.ID), 28.0) // the second follows the first
			for reference, end := range map[string]float64{"shop:1": 18, "shop:2": 28, "shop:3": 18} {
				f, err := selling.New(s.Service).GetPurchase(t.Context(), reference)
				is.NoErr(err)
				is.Equal(*f.ActivatedAt, onDay(8))
				is.Equal(*f.EndsAt, onDay(end))
			}
			s.tell(t, "shop:2", event{At: onDay(9), Until: api.To(onDay(90))})
			is.Equal(s.ends(t, l.ID), 90.0)
		})
	}
}

// TestStartsByHand: an end that is set by hand ends the wait of a license that no
// purchase made, and comes back after a refund.
func TestStartsByHand(t *testing.T) {
	is := is.New(t)
	s := newStarter(t)
	l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", CustomerID: "cus_ada", PlanID: "boxed"})
	is.NoErr(err)
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, ExpiresAt: api.To(onDay(77))})
	is.NoErr(err)
	s.activate(t, l, "first", 50)
	is.Equal(s.ends(t, l.ID), 77.0)

	for _, p := range []api.CreateLicenseParams{
		{ExpiresAt: ptr(onDay(80))},
		{Explicit: []string{"expires_at"}},
	} {
		p.Name, p.CustomerID, p.PlanID = "Ada", "cus_ada", "boxed"
		l, err := s.Create(t.Context(), p)
		is.NoErr(err)
		is.Equal(l.Starts, api.Starts(""))
		s.activate(t, l, "first", 50)
		is.Equal(s.mustGet(t, l.ID).ExpiresAt, p.ExpiresAt)
	}
	_, err = selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "x", ProductID: "prod_editor", Starts: api.StartsActivation})
	is.Equal(refusedField(err), "starts") // without a duration
	_, err = selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "x", ProductID: "prod_editor", Starts: "later", Duration: api.Duration{Days: 1}})
	is.Equal(refusedField(err), "starts")
}

// TestStartsConcurrently: of activations at the same time, one begins the license.
func TestStartsConcurrently(t *testing.T) {
	is := is.New(t)
	s := newStarter(t)
	l := s.tell(t, "shop:1", boughtPlan("boxed", 0)).License
	told := s.events(t)
	done := make(chan error)
	for i := range 8 {
		go func() {
			_, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint(i)})
			done <- err
		}()
	}
	admitted := 0
	for range 8 {
		if err := <-done; err == nil {
			admitted++
		}
	}
	is.Equal(admitted, 2)
	is.Equal(s.ends(t, l.ID), 50.0)
	is.Equal(s.events(t)-told, int64(3)) // the license, and two activations
}

// TestStartsMoves: exported rows, as NDJSON and CSV, begin with the first activation in
// another service too, if it has the plan.
func TestStartsMoves(t *testing.T) {
	is := is.New(t)
	from := newStarter(t)
	l, err := from.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", CustomerID: "cus_ada", PlanID: "boxed"})
	is.NoErr(err)
	var ndjson, csv bytes.Buffer
	is.NoErr(from.Export(t.Context(), &ndjson, api.ListLicensesParams{}))
	is.NoErr(inner.Of(from.Service).MoveIn().ExportCSV(t.Context(), &csv, api.ListLicensesParams{}))
	for _, format := range []string{"ndjson", "csv"} {
		to := newStarter(t)
		rows := ndjson.Bytes()
		if format == "csv" {
			p, err := inner.Of(to.Service).MoveIn().PreviewCSV(t.Context(), csv.Bytes())
			is.NoErr(err)
			rows = p.NDJSON
		}
		is.NoErr(to.Import(t.Context(), bytes.NewReader(rows), func(r api.RowResult) error {
			is.Equal(r.Result, api.ImportCreated)
			return nil
		}))
		is.Equal(to.mustGet(t, l.ID).Starts, api.StartsActivation)
		to.activate(t, l, "first", 60)
		is.Equal(to.ends(t, l.ID), 70.0)
	}
	without := newSeller(t, memory.New())
	is.NoErr(without.Import(t.Context(), bytes.NewReader([]byte(`{"key":"OLD-0001-0001-0001","name":"n","product_id":"prod_editor","customer_id":"cus_ada","plan_id":"pro","starts":"activation"}`)), func(r api.RowResult) error {
		is.Equal(r.Result, api.ImportRefused)
		is.Equal(r.Errors[0].Field, "starts")
		return nil
	}))
}

// TestStartsIsRolledOut: a plan that starts with the first activation from now on gives a
// license that is activated already the end that it has from then.
func TestStartsIsRolledOut(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	l := *s.tell(t, "shop:1", boughtPlan("month", 0)).License
	s.activate(t, l, "pc-1", 2)
	other := *s.tell(t, "shop:2", boughtPlan("month", 2)).License
	s.putPlan(t, api.PutPlanParams{ID: "month", ProductID: "prod_editor", Duration: api.Duration{Days: 60}, Starts: api.StartsActivation})
	_, err := s.rollOut(t, "month")
	is.NoErr(err)
	is.Equal(s.ends(t, l.ID), 62.0)
	is.Equal(s.ends(t, other.ID), -1.0)
	s.check(t, l.ID)
}
