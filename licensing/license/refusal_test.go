package license_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// refusals returns the refusals of a license.
func refusals(t *testing.T, s *license.Service, id string) []api.Refusal {
	t.Helper()
	page, err := s.Refusals(t.Context(), api.ListRefusalsParams{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return page.Data
}

// entries returns the stored entries of a kind.
func entries(t *testing.T, r store.Reader, kind string) []store.Entry {
	t.Helper()
	list, err := r.Entries(t.Context(), store.EntryQuery{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// noSeats makes a license that admits no activation.
func noSeats(p *api.CreateLicenseParams) { p.MaxActivations = ptr(int64(0)) }

// deny makes an activation fail.
func deny(t *testing.T, s *license.Service, key, fingerprint string) {
	t.Helper()
	_, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: key, Fingerprint: fingerprint})
	if !errors.Is(err, api.ErrDenied) {
		t.Fatalf("Activate returned %v", err)
	}
}

func TestRefusals(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 0))
	is.Equal(len(refusals(t, f.Service, l.ID)), 0)
	f.activate(t, l.Key, "pc-1")
	f.validate(t, l.Key, "pc-1")
	is.Equal(len(refusals(t, f.Service, l.ID)), 0) // nothing was refused

	from := f.As(license.Caller{Address: "203.0.113.7"})
	deny(t, from, l.Key, "pc-2")
	f.now = start.AddDate(0, 0, 1)
	deny(t, f.Service, l.Key, "pc-3")
	v, err := from.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, ProductID: "other"})
	is.NoErr(err)
	is.True(!v.Valid)
	f.now = f.now.Add(time.Second)
	f.validate(t, license.NewKey(), "")
	deny(t, f.Service, license.NewKey(), "pc")
	deny(t, f.Service, l.Key, "pc-3")

	list := refusals(t, f.Service, l.ID)
	is.Equal(list, []api.Refusal{
		{
			Object: "refusal", Code: api.VerdictActivationLimit, Count: 3, LastAt: f.now,
			Days: []api.RefusalDay{{Date: "2026-03-02", Count: 2}, {Date: "2026-03-01", Count: 1}},
			Recent: []api.RefusedCall{
				{At: f.now, Action: "activate", Fingerprint: "pc-3"},
				{At: start.AddDate(0, 0, 1), Action: "activate", Fingerprint: "pc-3"},
				{At: start, Action: "activate", Fingerprint: "pc-2", Address: "203.0.113.7"},
			},
		},
		{
			Object: "refusal", Code: api.VerdictProductMismatch, Count: 1, LastAt: start.AddDate(0, 0, 1),
			Days:   []api.RefusalDay{{Date: "2026-03-02", Count: 1}},
			Recent: []api.RefusedCall{{At: start.AddDate(0, 0, 1), Action: "validate", Address: "203.0.113.7", Asked: "other"}},
		},
	})
	usage, err := inner.Of(f.Service).Refused().Usage(t.Context())
	is.NoErr(err)
	is.Equal(len(usage), 365)
	today := usage[365-1]
	is.Equal(today.From, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC))
	is.Equal(today.Validations, int64(2))
	is.Equal(today.Refused, map[api.VerdictCode]int64{
		api.VerdictActivationLimit: 2, api.VerdictProductMismatch: 1, api.VerdictNotFound: 2,
	})
	is.Equal(usage[365-2].Validations, int64(1))

	_, err = f.Refusals(t.Context(), api.ListRefusalsParams{ID: "lic_01kaxh3v9zq7w5m2r8t4y6b1cd"})
	require.ErrorIs(t, err, api.ErrNotFound)
	limited := f.As(license.Caller{Products: []string{"atlas"}})
	_, err = limited.Refusals(t.Context(), api.ListRefusalsParams{ID: l.ID})
	require.ErrorIs(t, err, api.ErrNotFound)
	_, err = inner.Of(limited).Refused().Usage(t.Context())
	require.ErrorIs(t, err, api.ErrProductForbidden)
}

// TestRefusalsWithoutRun: a refused call stores what waits, once a minute; a
// call that is not refused never writes.
func TestRefusalsWithoutRun(t *testing.T) {
	is := is.New(t)
	counting := &countingStore{Store: memory.New()}
	now := start
	s := license.New(counting, license.Options{Now: func() time.Time { return now }})
	l, err := s.Create(t.Context(), plain())
	is.NoErr(err)
	validate := func(key, product string) {
		_, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: key, ProductID: product})
		is.NoErr(err)
	}
	validate(l.Key, "other")
	counting.calls = nil
	now = start.Add(59 * time.Second)
	validate(l.Key, "other")
	now = start.Add(61 * time.Second)
	validate(l.Key, "")
	is.Equal(counting.count("Update"), 0)
	validate(license.NewKey(), "")
	is.Equal(counting.count("Update"), 1)
	validate(l.Key, "other")
	is.Equal(counting.count("Update"), 1)

	other := license.New(counting, license.Options{Now: func() time.Time { return now }}) // another process
	is.Equal(refusals(t, other, l.ID)[0].Count, int64(2))
	is.Equal(refusals(t, s, l.ID)[0].Count, int64(3))
	usage, err := inner.Of(other).Refused().Usage(t.Context())
	is.NoErr(err)
	is.Equal(usage[365-1].Validations, int64(4))
}

// TestRefusalsOfProcesses: processes add to the same records.
func TestRefusalsOfProcesses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, noSeats)
	var processes []*license.Service
	for range 3 {
		processes = append(processes, license.New(f.store, license.Options{Now: func() time.Time { return f.now }}))
	}
	for i := range 4 {
		for n, s := range processes {
			f.now = f.now.Add(time.Minute)
			deny(t, s, l.Key, fmt.Sprintf("pc-%d-%d", n, i))
		}
	}
	var wg sync.WaitGroup
	for _, s := range processes {
		wg.Go(func() { is.NoErr(s.StoreUsage(context.Background())) })
	}
	wg.Wait()
	got := refusals(t, f.Service, l.ID)[0]
	is.Equal(got.Count, int64(12))
	is.Equal(len(got.Recent), 12)
	for i := range got.Recent[1:] {
		is.True(got.Recent[i].At.After(got.Recent[i+1].At))
	}
}

// TestRefusalsAreBounded: neither refused calls nor unknown keys make records
// grow.
func TestRefusalsAreBounded(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, noSeats)
	var stored [2]int
	for round := range stored {
		for i := range 100 {
			deny(t, f.Service, l.Key, fmt.Sprint("pc-", i))
			deny(t, f.Service, license.NewKey(), fmt.Sprint("pc-", i))
		}
		is.NoErr(f.StoreUsage(t.Context()))
		for _, kind := range []string{"refusal", "usage"} {
			list := entries(t, f.store, kind)
			is.Equal(len(list), 1)
			stored[round] += len(list[0].Data)
		}
	}
	require.Less(t, stored[1]-stored[0], 10) // digits
	got := refusals(t, f.Service, l.ID)
	is.Equal(len(got[0].Recent), 20)
	is.Equal(got[0].Count, int64(200))
}

// TestRefusalsWaitInBoundedMemory: while the store fails, refusals wait, of at
// most 500 licenses. The usage of the day stays complete.
func TestRefusalsWaitInBoundedMemory(t *testing.T) {
	is := is.New(t)
	st := &failingStore{Store: memory.New()}
	s := license.New(st, license.Options{Now: func() time.Time { return start }, Logger: slog.New(slog.DiscardHandler)})
	var ids []string
	for range 510 {
		l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "A", ProductID: "p", CustomerID: "c", Terms: api.Terms{MaxActivations: ptr(int64(0))}})
		is.NoErr(err)
		ids = append(ids, l.ID)
		st.fail = true
		v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, ProductID: "other"})
		is.NoErr(err)
		is.True(!v.Valid)
		st.fail = false
	}
	require.Less(t, st.failed, 3) // calls do not wait for a store that has just failed
	st.fail = true
	is.True(s.StoreUsage(t.Context()) != nil)
	st.fail = false
	is.NoErr(s.StoreUsage(t.Context()))
	is.Equal(len(entries(t, st, "refusal")), 500)
	is.Equal(refusals(t, s, ids[0])[0].Count, int64(1))
	is.Equal(len(refusals(t, s, ids[509])), 0)
	usage, err := inner.Of(s).Refused().Usage(t.Context())
	is.NoErr(err)
	is.Equal(usage[365-1].Refused[api.VerdictProductMismatch], int64(510))
}

// A failingStore fails Updates while fail is set.
type failingStore struct {
	store.Store
	fail   bool
	failed int
}

func (f *failingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if f.fail {
		f.failed++
		return store.ErrUnavailable
	}
	return f.Store.Update(ctx, fn)
}

// TestRefusalsGoWithTheLicense: nothing about a deleted license or an erased
// customer is left or comes back.
func TestRefusalsGoWithTheLicense(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	one, two := f.create(t, noSeats), f.create(t, noSeats)
	for _, l := range []api.License{one, two} {
		deny(t, f.Service, l.Key, "pc")
	}
	is.NoErr(f.StoreUsage(t.Context()))
	is.Equal(len(entries(t, f.store, "refusal")), 2)
	for _, l := range []api.License{one, two} {
		deny(t, f.Service, l.Key, "pc") // waits in memory
	}
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: one.ID}))
	is.Equal(len(entries(t, f.store, "refusal")), 1)
	_, err := f.EraseCustomer(t.Context(), two.CustomerID)
	is.NoErr(err)
	is.Equal(len(entries(t, f.store, "refusal")), 0)
	is.NoErr(f.StoreUsage(t.Context()))
	is.Equal(len(entries(t, f.store, "refusal")), 0)
}

// TestRefusalsExpire: refusals are kept for 90 days.
func TestRefusalsExpire(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	once, often := f.create(t, noSeats), f.create(t, noSeats)
	deny(t, f.Service, once.Key, "pc")
	deny(t, f.Service, often.Key, "pc")
	is.NoErr(f.StoreUsage(t.Context()))
	f.now = start.AddDate(0, 0, 89)
	is.Equal(refusals(t, f.Service, once.ID)[0].Count, int64(1))
	_, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: often.Key, ProductID: "other"})
	is.NoErr(err)
	is.NoErr(f.StoreUsage(t.Context()))

	f.now = start.AddDate(0, 0, 90)
	is.Equal(len(refusals(t, f.Service, once.ID)), 0)
	got := refusals(t, f.Service, often.ID)
	is.Equal(len(got), 1)
	is.Equal(got[0].Code, api.VerdictProductMismatch)
	more, err := f.Purge(t.Context())
	is.NoErr(err)
	is.True(!more)
	left := entries(t, f.store, "refusal")
	is.Equal(len(left), 1)
	is.Equal(left[0].Key, often.ID)
	is.Equal(len(entries(t, f.store, "usage")), 2) // days are kept for longer
	f.now = start.AddDate(0, 0, 365+1)
	_, err = f.Purge(t.Context())
	is.NoErr(err)
	is.Equal(len(entries(t, f.store, "usage")), 1)
}

// TestRunStoresRefusals: Run stores them within a minute, earlier if many wait,
// and at its end.
func TestRunStoresRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		s := license.New(st, license.Options{})
		var keys []string
		for range 300 {
			l, err := s.Create(t.Context(), plain())
			is.NoErr(err)
			keys = append(keys, l.Key)
		}
		refuse := func(keys ...string) {
			for _, key := range keys {
				_, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: key, ProductID: "other"})
				is.NoErr(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		e := feed.New(feed.Config{Store: st, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Background: []feed.Background{inner.Of(s).Background()}})
		var wg sync.WaitGroup
		wg.Go(func() { _ = e.Run(ctx) })
		time.Sleep(time.Second)
		refuse(keys[0])
		time.Sleep(30 * time.Second)
		is.Equal(len(entries(t, st, "refusal")), 0)
		time.Sleep(35 * time.Second)
		is.Equal(len(entries(t, st, "refusal")), 1)
		refuse(keys[1:]...)
		time.Sleep(3 * time.Second)
		is.Equal(len(entries(t, st, "refusal")), 300)
		refuse(keys[0])
		time.Sleep(time.Second)
		stop()
		wg.Wait()
		stored := license.New(st, license.Options{})
		usage, err := inner.Of(stored).Refused().Usage(t.Context())
		is.NoErr(err)
		is.Equal(usage[365-1].Validations, int64(301))
	})
}

// TestRefusalsHaveNoKey: no record contains a license key.
func TestRefusalsHaveNoKey(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, noSeats)
	unknown := license.NewKey()
	deny(t, f.Service, l.Key, "pc")
	deny(t, f.Service, unknown, "pc")
	is.NoErr(f.StoreUsage(t.Context()))
	for _, kind := range []string{"refusal", "usage"} {
		for _, e := range entries(t, f.store, kind) {
			text := e.Key + string(e.Data)
			require.NotContains(t, text, l.Key, unknown)
		}
	}
}

// TestRefusalsInsideAtomically: a function that is repeated or undone leaves
// no refusals.
func TestRefusalsInsideAtomically(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, noSeats)
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
		_, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, ProductID: "other"})
		return err
	}))
	is.Equal(len(refusals(t, f.Service, l.ID)), 0)
}

func TestRefusedLicenses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	in := inner.Of(f.Service).Refused()
	ids := func(code api.VerdictCode, days int, open bool) (ids []string) {
		for cursor := ""; ; {
			page, err := in.RefusedLicenses(t.Context(), in.RefusedParams(code, days, open, cursor, 2))
			is.NoErr(err)
			for _, l := range page.Data {
				ids = append(ids, l.License.ID)
			}
			if cursor = page.NextCursor; !page.HasMore {
				return ids
			}
		}
	}
	is.Equal(len(ids("", 7, false)), 0)
	old, gone, one, two := f.create(t, noSeats), f.create(t, noSeats), f.create(t, noSeats), f.create(t, noSeats)
	other := f.create(t)
	refuse := func(hours int, l api.License) {
		f.now = start.Add(time.Duration(hours) * time.Hour)
		deny(t, f.Service, l.Key, "pc")
	}
	refuse(0, old)
	refuse(2*24, gone)
	refuse(3*24, two)
	refuse(3*24+1, one)
	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: other.Key, ProductID: "lumen"})
	is.NoErr(err)
	is.True(!v.Valid)
	is.NoErr(f.StoreUsage(t.Context()))
	is.Equal(refusals(t, f.Service, other.ID)[0].Recent[0].Asked, "lumen")
	refuse(7*24+1, two) // waits in memory
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: gone.ID}))
	is.Equal(ids(api.VerdictActivationLimit, 7, false), []string{two.ID, one.ID})
	is.Equal(ids(api.VerdictProductMismatch, 7, false), []string{other.ID})
	is.Equal(len(ids(api.VerdictProductMismatch, 7, true)), 0) // depends on the program
	all := ids("", 0, false)
	is.Equal(len(all), 4)
	is.Equal(all[0]+all[3], two.ID+old.ID) // by day
	page, err := in.RefusedLicenses(t.Context(), in.RefusedParams("", 7, false, "", 0))
	is.NoErr(err)
	is.Equal(page.Data[0].Refusals, refusals(t, f.Service, two.ID)) // of the memory and the store

	groups, more, err := in.RefusalGroups(t.Context(), 7)
	is.NoErr(err)
	is.True(!more)
	is.Equal(len(groups), 2)
	is.Equal(groups[0].Code, api.VerdictActivationLimit)
	is.Equal([]int{int(groups[0].Calls), groups[0].Licenses, groups[0].Open}, []int{3, 2, 2})
	is.Equal([]int{int(groups[1].Calls), groups[1].Licenses, groups[1].Open}, []int{1, 1, 0})

	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: one.ID, MaxActivations: api.To(int64(3))})
	is.NoErr(err)
	is.Equal(ids(api.VerdictActivationLimit, 7, true), []string{two.ID}) // a seat is free
	limited := inner.Of(f.As(license.Caller{Products: []string{"none"}})).Refused()
	page, err = limited.RefusedLicenses(t.Context(), in.RefusedParams("", 7, false, "", 0))
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
	_, err = in.RefusedLicenses(t.Context(), in.RefusedParams("", 7, false, "soon", 0))
	require.ErrorIs(t, err, api.ErrInvalid)
}
