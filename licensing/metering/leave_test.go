package metering_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// usageEvents returns the number of events of usage by customer, and how many were erased.
func (f *fixture) usageEvents(t *testing.T) (of map[string]int, erased int) {
	t.Helper()
	is := is.New(t)
	of = map[string]int{}
	for after := int64(0); ; {
		page, err := f.store.Events(t.Context(), store.EventQuery{After: after})
		is.NoErr(err)
		if len(page) == 0 {
			return of, erased
		}
		for _, e := range page {
			if after = e.Seq; e.Type != api.EventUsageCounted && e.Type != api.EventUsageThreshold {
				continue
			}
			data, err := api.Event{Data: e.Data}.Decode()
			is.NoErr(err)
			if of[e.CustomerID]++; data.Erased {
				is.True(data.Usage == nil && data.Reason == "" && data.License == nil)
				erased++
			}
		}
	}
}

// TestErasureBlanksUsage: nothing that events of usage say of a customer is left, also of a
// license that another customer has now or whose customer had another ID, and nothing is
// told later.
func TestErasureBlanksUsage(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	meters := map[string]api.Meter{"exports": {Limit: limit(10)}, "calls": {Per: api.PerDay}}
	kept, moved, corrected := f.create(t, meters), f.create(t, meters), f.create(t, meters)
	_, err := f.rules.Update(t.Context(), api.UpdateLicenseParams{ID: corrected.ID, CustomerID: new("adda")})
	is.NoErr(err)
	for _, l := range []api.License{kept, moved, corrected} {
		f.count(t, l, use("exports", "zaphod's job", 9), use("calls", "a", 3)) // and a threshold
		f.now = f.now.Add(time.Hour)
		f.tell(t)
		_, err := f.CorrectUsage(t.Context(), api.CorrectUsageParams{LicenseID: l.ID, Meter: "exports", Used: 4, Reason: "zaphod asked"})
		is.NoErr(err)
		f.count(t, l, use("calls", "b", 3))
	}
	_, err = f.rules.Transfer(t.Context(), api.TransferLicenseParams{ID: moved.ID, CustomerID: "bob"})
	is.NoErr(err)
	_, err = f.rules.Update(t.Context(), api.UpdateLicenseParams{ID: corrected.ID, CustomerID: new("ada")})
	is.NoErr(err)
	f.record(t, moved, use("exports", "c", 5))
	of, _ := f.usageEvents(t)
	is.Equal(of, map[string]int{"ada": 10, "adda": 4})

	_, err = f.rules.EraseCustomer(t.Context(), "ada")
	is.NoErr(err)
	for range 2 {
		of, erased := f.usageEvents(t)
		delete(of, "bob")
		is.Equal([]any{of, erased}, []any{map[string]int{"": 15}, 15}) // one more tells what was left
		f.now = f.now.Add(30 * day)
		f.tell(t)
	}
	entries, err := f.store.Entries(t.Context(), store.EntryQuery{})
	is.NoErr(err)
	for _, e := range entries {
		require.NotContains(t, e.Key+string(e.Data), "zaphod")
	}
}

// TestUsageOfAClockAhead: the event of usage that a process with a clock ahead has counted
// names the customer who used it, whether the license is transferred or deleted then.
//
// Fault: the new customer is billed for it, or no customer is.
func TestUsageOfAClockAhead(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	moved := f.create(t, map[string]api.Meter{"pack": {}, "daily": {Per: api.PerDay}})
	deleted := f.create(t, map[string]api.Meter{"pack": {}})
	f.now = start.Add(30 * time.Minute)
	f.count(t, moved, use("pack", "a", 2), use("daily", "a", 1))
	f.count(t, deleted, use("pack", "a", 4))
	f.now = start
	_, err := f.rules.Transfer(t.Context(), api.TransferLicenseParams{ID: moved.ID, CustomerID: "bob"})
	is.NoErr(err)
	is.NoErr(f.rules.Delete(t.Context(), api.DeleteLicenseParams{ID: deleted.ID}))
	f.now = start.Add(3 * time.Hour)
	f.tell(t)
	of, _ := f.usageEvents(t)
	is.Equal(of, map[string]int{"ada": 3})
}

// TestDeleteWithDueUsage: usage whose event was due is told with the deletion, and not again.
func TestDeleteWithDueUsage(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	l := f.create(t, map[string]api.Meter{"pack": {}, "daily": {Per: api.PerDay}})
	f.count(t, l, use("pack", "a", 2), use("daily", "a", 1))
	f.now = start.Add(3 * time.Hour) // both are due
	f.count(t, l, use("pack", "b", 3))
	is.NoErr(f.rules.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	for range 2 {
		var told []any
		for _, e := range f.events(t, l.ID, api.EventUsageCounted) {
			told = append(told, e.Meter, e.Counted, e.Used)
		}
		is.Equal(told, []any{"pack", int64(5), int64(5), "daily", int64(1), int64(1)})
		f.now = f.now.Add(500 * day)
		f.tell(t)
	}
	entries, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "meter"})
	is.NoErr(err)
	is.Equal(len(entries), 0)
}

// TestUsageOnce: a call that is repeated under its key replays the answer, and counts
// nothing, although its report has another ID.
func TestUsageOnce(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	l := f.create(t, exports(10))
	for i, id := range []string{"a", "b"} {
		reply, replayed, err := f.rules.Once(t.Context(), "key", "request", func(in *license.Service) ([]byte, error) {
			u, err := f.In(in).CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{use("exports", id, 3)}})
			if err != nil {
				return nil, err
			}
			return []byte{byte(u.Counted[0]), byte(u.Meters[0].Used)}, nil
		})
		is.NoErr(err)
		is.Equal([]any{reply, replayed}, []any{[]byte{3, 3}, i > 0})
	}
	counted, _ := f.count(t, l, use("exports", "a", 3), use("exports", "b", 3))
	is.Equal(counted, []int64{0, 3})
}

// TestManyLastingMeters: a license that has had a thousand meters whose periods do not end
// can be transferred, and leaves nothing when it is deleted.
//
// Fault: the transfer never returns, because it takes them for periods that have ended.
func TestManyLastingMeters(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	l := f.create(t, map[string]api.Meter{"pack": {}})
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		var rows []store.Entry
		for n := range store.MaxLimit {
			rows = append(rows, store.Entry{Kind: "meter", Key: fmt.Sprintf("%s//project-%d", l.ID, n), Owner: l.ID, Data: []byte(`{"used":1,"told":1}`), CreatedAt: start})
		}
		return tx.PutEntries(t.Context(), rows...)
	}))
	f.count(t, l, use("pack", "a", 2))
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	_, err := f.rules.Transfer(ctx, api.TransferLicenseParams{ID: l.ID, CustomerID: "bob"})
	is.NoErr(err)
	is.NoErr(f.rules.Delete(ctx, api.DeleteLicenseParams{ID: l.ID}))
	left, err := f.store.Entries(ctx, store.EntryQuery{Kind: "meter"})
	is.NoErr(err)
	is.Equal(len(left), 0)
}
