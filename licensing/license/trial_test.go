package license_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestTrial(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	start := func(customer string, subjects ...string) (api.Trial, error) {
		return selling.New(s.Service).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: customer, Subjects: subjects})
	}
	first, err := start("cus_ada", "device:1", "mail:ada@example.com")
	is.NoErr(err)
	is.Equal([]any{first.Started, *first.License.ExpiresAt, first.License.Reference}, []any{true, onDay(54), "trial:" + first.License.ID})
	again, err := start("cus_ada", "device:2") // a second device
	is.NoErr(err)
	is.Equal([]any{again.Started, again.License.ID}, []any{false, first.License.ID})
	_, err = start("cus_bob", "device:1", "device:3")
	require.ErrorIs(t, err, api.ErrTrialTaken)
	_, err = start("cus_bob", "device:2")
	require.ErrorIs(t, err, api.ErrTrialTaken)
	bob, err := start("cus_bob", "device:3", "device:3")
	is.NoErr(err)
	is.True(bob.Started)
	again, err = start("cus_ada", "device:3", "device:4") // device:3 keeps the trial that it has
	is.NoErr(err)
	is.Equal(again.License.ID, first.License.ID)
	require.NotContains(t, archiveOf(t, s.store), "device:")

	e := paid() // the trial becomes a purchase, whatever its instant
	e.LicenseID, e.Until = first.License.ID, api.To(onDay(60))
	f := s.tell(t, "shop:1", e)
	is.Equal([]any{f.LicenseID, f.Governs, f.License.Key, *f.License.MaxActivations}, []any{first.License.ID, true, first.License.Key, int64(2)})

	_, err = s.Revoke(ctx, api.ChangeStateParams{ID: bob.License.ID})
	is.NoErr(err)
	_, err = start("cus_bob")
	require.ErrorIs(t, err, api.ErrTrialTaken)
	is.NoErr(selling.New(s.Service).AllowTrial(ctx, api.AllowTrialParams{LicenseID: bob.License.ID, Reason: "asked"}))
	require.ErrorIs(t, selling.New(s.Service).AllowTrial(ctx, api.AllowTrialParams{LicenseID: bob.License.ID}), api.ErrNotFound)
	bob, err = start("cus_bob", "device:3")
	is.NoErr(err)
	is.True(bob.Started)
	_, err = s.EraseCustomer(ctx, "cus_bob")
	is.NoErr(err)
	_, err = start("cus_eve", "device:3")
	require.ErrorIs(t, err, api.ErrTrialTaken)
	is.NoErr(selling.New(s.Service).AllowTrial(ctx, api.AllowTrialParams{LicenseID: bob.License.ID}))
	_, err = start("cus_eve", "device:3")
	is.NoErr(err)

	for field, p := range map[string]api.StartTrialParams{
		"plan_id":     {PlanID: "forever", CustomerID: "c"},
		"customer_id": {PlanID: "trial"},
		"subjects/0":  {PlanID: "trial", CustomerID: "c", Subjects: []string{""}},
	} {
		_, err := selling.New(s.Service).StartTrial(ctx, p)
		require.ErrorIs(t, err, api.ErrInvalid)
		require.Contains(t, err.Error(), field)
	}
	_, err = selling.New(s.As(license.Caller{Products: []string{"prod_other"}})).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "c"})
	require.ErrorIs(t, err, api.ErrInvalid) // no plan of its products
}

// TestARepeatedTrialBindsSubjects: at most 20 in all, and five more than the first call named. All
// of them are free again when another trial is allowed.
func TestARepeatedTrialBindsSubjects(t *testing.T) {
	devices := func(from, n int) (subjects []string) {
		for i := range n {
			subjects = append(subjects, fmt.Sprint("device:", from+i))
		}
		return subjects
	}
	for _, test := range []struct{ first, bound int }{{1, 6}, {0, 5}, {17, 20}, {20, 20}} {
		is := is.New(t)
		s := newTwice(t)
		start := func(customer string, subjects ...string) (api.Trial, error) {
			return selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: "trial", CustomerID: customer, Subjects: subjects})
		}
		first, err := start("cus_ada", devices(0, test.first)...)
		is.NoErr(err)
		events := s.events(t)
		for from := range 30 { // some in each call, and again
			_, err = start("cus_ada", devices(from, 2)...)
			is.NoErr(err)
		}
		is.Equal(s.events(t), events)
		for n := range 32 {
			_, err := start(fmt.Sprint("cus_", n), devices(n, 1)...)
			if n < test.bound {
				require.ErrorIs(t, err, api.ErrTrialTaken)
			} else {
				is.NoErr(err)
			}
		}
		is.NoErr(selling.New(s.Service).AllowTrial(t.Context(), api.AllowTrialParams{LicenseID: first.License.ID}))
		again, err := start("cus_ada", devices(0, test.bound)...)
		is.NoErr(err)
		is.True(again.Started)
	}
}

// TestTrialIsWhole: a crash at any call of the store leaves nothing half.
func TestTrialIsWhole(t *testing.T) {
	is := is.New(t)
	st := &crashingStore{Store: memory.New(), left: 1 << 30}
	s := newSeller(t, st)
	crash := func(call func() error) {
		t.Helper()
		for n := 0; ; n++ {
			before := archiveOf(t, st.Store)
			st.left = n
			err := call()
			st.left = 1 << 30
			if err == nil {
				require.AtLeast(t, n, 4)
				return
			}
			require.ErrorIs(t, err, errHalted)
			is.Equal(archiveOf(t, st.Store), before)
		}
	}
	var trial api.Trial
	crash(func() (err error) {
		trial, err = selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: "trial", CustomerID: "cus_ada", Subjects: []string{"device:1"}})
		return err
	})
	is.True(trial.Started)
	crash(func() error {
		return selling.New(s.Service).AllowTrial(t.Context(), api.AllowTrialParams{LicenseID: trial.License.ID})
	})
}

// TestImportedTrials: a trial of another service that has only a reference is the one of its
// customer. One that is bound to a later license stays when the earlier is allowed another.
func TestImportedTrials(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	var ids []string
	for i := range 2 {
		id := store.NewID("lic", s.now.Add(time.Duration(i)*time.Second))
		row := fmt.Sprintf(`{"id":%q,"key":"OLD-SYSTEM-0000-000%d","name":"n","product_id":"prod_editor","customer_id":"cus_ada","plan_id":"trial","reference":"trial:%[1]s"}`, id, i)
		is.NoErr(s.Import(t.Context(), strings.NewReader(row), func(r api.RowResult) error {
			is.Equal(r.Errors, []api.RowError(nil))
			return nil
		}))
		trial, err := selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: "trial", CustomerID: "cus_ada"})
		is.NoErr(err)
		is.Equal([]any{trial.Started, trial.License.ID}, []any{false, id})
		ids = append(ids, id)
	}
	for i, started := range []bool{false, true} {
		is.NoErr(selling.New(s.Service).AllowTrial(t.Context(), api.AllowTrialParams{LicenseID: ids[i]}))
		trial, err := selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: "trial", CustomerID: "cus_ada"})
		is.NoErr(err)
		is.Equal(trial.Started, started)
	}
}

// TestTrialThatIsRefused uses up no trial, even if the function of Atomically continues.
func TestTrialThatIsRefused(t *testing.T) {
	is := is.New(t)
	key := ""
	s := newTwice(t, func(o *license.Options) {
		o.BeforeCreate = func(_ context.Context, p *api.CreateLicenseParams) error {
			p.Key = key
			return nil
		}
	})
	taken := s.tell(t, "shop:1", paid())
	key = taken.License.Key
	start := api.StartTrialParams{PlanID: "trial", CustomerID: "cus_eve", Subjects: []string{"device:1"}}
	is.NoErr(s.Atomically(t.Context(), func(in *license.Service) error {
		_, err := selling.New(in).StartTrial(t.Context(), start)
		require.ErrorIs(t, err, api.ErrKeyTaken)
		return nil
	}))
	key = ""
	trial, err := selling.New(s.Service).StartTrial(t.Context(), start)
	is.NoErr(err)
	is.True(trial.Started)
}

// TestTrialsInParallel: of two customers with a subject in common, one gets a trial.
func TestTrialsInParallel(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	var wg sync.WaitGroup
	trials, errs := make([]api.Trial, 100), make([]error, 100)
	for i := range trials {
		wg.Go(func() {
			trials[i], errs[i] = selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{
				PlanID: "trial", CustomerID: fmt.Sprint("cus_", i%2), Subjects: []string{fmt.Sprint("device:", i), "mail:common"},
			})
		})
	}
	wg.Wait()
	started, refused := 0, 0
	for i, trial := range trials {
		if errs[i] != nil {
			require.ErrorIs(t, errs[i], api.ErrTrialTaken)
			refused++
		} else if trial.Started {
			started++
		}
	}
	is.Equal([]int{started, refused}, []int{1, 50})
	page, err := s.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
}

// TestTrialConvertedOnce: a trial counts as converted once, with the first purchase that
// governs its license.
//
// Fault: an add-on and a base that are bought in the same checkout convert two trials.
func TestTrialConvertedOnce(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	trial, err := selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: "trial", CustomerID: "cus_ada"})
	is.NoErr(err)
	day := sales.Period{From: onDay(39), To: onDay(42)}
	for i, want := range []int64{0, 1, 1} {
		plan := []string{"extra", "pro", "extra"}[i]
		s.tell(t, fmt.Sprint("shop:", i), event{At: s.now, CustomerID: "cus_ada", LicenseID: trial.License.ID, PlanID: plan, State: "active"})
		rep, err := inner.Of(s.Service).Sales().Report(t.Context(), day, day)
		is.NoErr(err)
		is.Equal([]int64{rep.Total.Trials, rep.Total.New, rep.Total.Converted}, []int64{1, int64(i + 1), want})
	}
}

// TestRevokedLicenseEndsOnce: the end of an add-on of a revoked license is no further
// end, because nothing keeps the license valid.
//
// Fault: customers who left once are counted as ended again, month after month.
func TestRevokedLicenseEndsOnce(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	l := s.tell(t, "shop:1", event{At: s.now, CustomerID: "cus_ada", PlanID: "pro", State: "active"}).License
	s.tell(t, "shop:2", event{At: s.now, CustomerID: "cus_ada", LicenseID: l.ID, PlanID: "extra", State: "active"})
	_, err := s.Revoke(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	s.now = onDay(100) // the add-on has ended
	_, err = inner.Of(s.Service).Licenses().ApplyDue(t.Context())
	is.NoErr(err)
	year := sales.Period{From: onDay(39), To: onDay(101)}
	rep, err := inner.Of(s.Service).Sales().Report(t.Context(), year, year)
	is.NoErr(err)
	is.Equal([]int64{rep.Total.New, rep.Total.Ended, rep.Active}, []int64{2, 1, 0})
}
