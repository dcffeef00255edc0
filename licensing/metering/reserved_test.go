package metering_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func (f *fixture) activate(l api.License, host string) error {
	_, err := f.rules.Activate(context.Background(), api.ActivateKeyParams{Key: l.Key, Fingerprint: host, TakeOver: api.TakeOverOldest})
	return err
}

// TestActivationsPerTime: the meter counts new activations, also on a freed seat and by a
// take-over; renewals are free, and a refused activation changes nothing.
func TestActivationsPerTime(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	l, err := f.rules.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{
		MaxActivations: limit(2), LeaseSeconds: limit(60), Meters: map[string]api.Meter{"activations": {Limit: limit(4), Per: api.PerMonth}},
	}})
	is.NoErr(err)
	used := func() int64 {
		v, err := f.rules.Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID})
		is.NoErr(err)
		return v.Meters[0].Used
	}
	is.NoErr(f.activate(l, "a"))
	is.NoErr(f.activate(l, "a"))
	is.Equal(used(), int64(1))
	f.now = f.now.Add(time.Second)
	is.NoErr(f.activate(l, "b"))
	is.NoErr(f.activate(l, "c")) // evicts a
	_, err = f.rules.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "c"})
	is.NoErr(err)
	is.NoErr(f.activate(l, "c"))
	is.Equal(used(), int64(4))
	before := f.activations(t, l)
	err = f.activate(l, "d")
	is.True(errors.Is(err, api.ErrUsageLimit))
	is.Equal(f.activations(t, l), before)
	is.NoErr(f.activate(l, "b")) // a renewal
	refusals, err := f.rules.Refusals(t.Context(), api.ListRefusalsParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(refusals.Data[0].Recent[0], api.RefusedCall{At: f.now, Action: "activate", Fingerprint: "d", Asked: "activations"})
	f.now = f.now.Add(day) // the next month, and the leases have ended
	is.NoErr(f.activate(l, "d"))
	is.Equal(used(), int64(1))
	f.countedAddsUp(t, l)
	entries, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "counted"})
	is.NoErr(err)
	is.Equal(len(entries), 0)
}

func (f *fixture) activations(t *testing.T, l api.License) string {
	t.Helper()
	page, err := f.rules.ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID, Ended: true})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(page.Data)
}

// TestActivationsPerTimeAreExact: a shared key gets exactly k activations.
func TestActivationsPerTimeAreExact(t *testing.T) {
	backends(t, func(t *testing.T, st store.Store) {
		f := newFixture(st)
		l := f.create(t, map[string]api.Meter{"activations": {Limit: limit(7), Per: api.PerDay}})
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for j := range 5 {
					if err := f.activate(l, fmt.Sprint(i, "-", j)); err == nil {
						admitted.Add(1)
					} else if !errors.Is(err, api.ErrUsageLimit) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		is.New(t).Equal(admitted.Load(), int64(7))
	})
}

// TestTransfersPerTime: a transfer counts one unit however many Updates it takes and
// wherever it is stopped, and a refused one changes nothing.
func TestTransfersPerTime(t *testing.T) {
	for stop := range 4 {
		is := is.New(t)
		st := &haltingStore{Store: memory.New(), left: 1 << 30}
		f := newFixture(st)
		l := f.create(t, map[string]api.Meter{"transfers": {Limit: limit(1), Per: api.PerYear}})
		for i := range 250 {
			is.NoErr(f.activate(l, fmt.Sprint("pc-", i)))
		}
		move := func(to string) error {
			_, err := f.rules.Transfer(t.Context(), api.TransferLicenseParams{ID: l.ID, CustomerID: to, KeepKey: true})
			return err
		}
		st.left = stop
		if err := move("bob"); err != nil {
			is.True(errors.Is(err, errHalted))
			st.left = 1 << 30
			is.NoErr(move("bob"))
		}
		st.left = 1 << 30
		is.NoErr(f.activate(l, "pc"))
		before := f.activations(t, l)
		is.True(errors.Is(move("carol"), api.ErrUsageLimit))
		is.Equal(f.activations(t, l), before)
		_, err := f.Service.CorrectUsage(t.Context(), api.CorrectUsageParams{LicenseID: l.ID, Meter: "transfers", Used: 0})
		is.NoErr(err)
		is.NoErr(f.rules.Atomically(t.Context(), func(in *license.Service) error {
			_, err := in.Transfer(t.Context(), api.TransferLicenseParams{ID: l.ID, CustomerID: "carol"})
			return err
		}))
		f.countedAddsUp(t, l)
	}
}
