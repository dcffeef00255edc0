package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The benchmarks work on 20,000 licenses of 1,000 customers. Compare figures
// of one run: those of the disk change from hour to hour.
//
//	go test -run '^$' -bench . -benchtime 3s ./store/sqlite

const (
	benchRows      = 20_000
	benchCustomers = 1_000
)

func benchLicense(i int) store.License {
	at := time.UnixMilli(1_800_000_000_000).Add(time.Duration(i) * time.Second)
	id := fmt.Sprintf("lic_%026d", i)
	return store.License{
		ID: id, Key: "K" + id, ProductID: fmt.Sprint("product-", i%10),
		CustomerID: fmt.Sprint("customer-", i%benchCustomers), State: store.StateActive, ExpiresAt: at.AddDate(1, 0, 0),
		Document: fmt.Appendf(nil, `{"name":"Example Company, workstation","since":%[1]d,"seats":5,"entitlements":{"export":true,"seats":5},`+
			`"metadata":{"order":"2027-00017"},"revision":1,"created":%[1]d,"updated":%[1]d}`, at.UnixMilli()),
	}
}

func benchEvent(l store.License, kind string) store.Event {
	return store.Event{
		ID: "evt_" + l.ID, Type: kind, Time: l.ExpiresAt.AddDate(-1, 0, 0), Actor: "client:cid_1", RequestID: "r-1",
		Subject: l.ID, ProductID: l.ProductID, CustomerID: l.CustomerID, Data: []byte(`{"changes":{"name":["a","b"]}}`),
	}
}

func create(ctx context.Context, st store.Store, l store.License) error {
	return st.Update(ctx, func(tx store.Tx) error {
		if err := tx.CreateLicenses(ctx, l); err != nil {
			return err
		}
		keys := []string{
			"state/" + string(l.State), "product/" + l.ProductID, "customer/" + l.CustomerID,
			"created/" + l.ExpiresAt.AddDate(-1, 0, 0).Format(time.DateOnly), "expires/" + l.ExpiresAt.Format(time.DateOnly),
		}
		if _, err := tx.Entries(ctx, store.EntryQuery{Kind: "count", Keys: keys}); err != nil {
			return err
		}
		var counts []store.Entry
		for _, key := range keys {
			counts = append(counts, store.Entry{Kind: "count", Key: key, Data: []byte("1")})
		}
		if err := tx.PutEntries(ctx, counts...); err != nil {
			return err
		}
		return tx.AppendEvents(ctx, benchEvent(l, "license.created"))
	})
}

// benchStore returns a store that holds the rows.
func benchStore(b *testing.B) *Store {
	b.Helper()
	st := open(b)
	ctx := context.Background()
	for first := 0; first < benchRows; first += 1000 {
		err := st.Update(ctx, func(tx store.Tx) error {
			for i := range 1000 {
				if err := tx.CreateLicenses(ctx, benchLicense(first+i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return st
}

// callers runs fn b.N times on each of some numbers of goroutines.
func callers(b *testing.B, numbers []int, fn func(ctx context.Context, i int) error) {
	var next atomic.Int64 // continues across benchmarks: no id is used twice
	for _, n := range numbers {
		b.Run(fmt.Sprint("callers=", n), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context()) // as a request's does, it can end
			defer cancel()
			b.ReportAllocs()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := fn(ctx, int(next.Add(1))); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}

func BenchmarkCreate(b *testing.B) {
	st := benchStore(b)
	callers(b, []int{1, 16, 64}, func(ctx context.Context, i int) error {
		return create(ctx, st, benchLicense(benchRows+i))
	})
}

// BenchmarkCreateMany creates many licenses in one update.
func BenchmarkCreateMany(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint("licenses=", n), func(b *testing.B) {
			st := benchStore(b)
			licenses := make([]store.License, n)
			next := benchRows
			for b.Loop() {
				for i := range licenses {
					licenses[i] = benchLicense(next)
					next++
				}
				err := st.Update(b.Context(), func(tx store.Tx) error { return tx.CreateLicenses(b.Context(), licenses...) })
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "licenses/s")
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	st := benchStore(b)
	callers(b, []int{1, 16, 64}, func(ctx context.Context, i int) error {
		return st.Update(ctx, func(tx store.Tx) error {
			l, err := tx.License(ctx, benchLicense(i*7919%benchRows).ID)
			if err != nil {
				return err
			}
			l.Document = bytes.Replace(l.Document, []byte("workstation"), fmt.Append(nil, "workstation ", i), 1)
			if err := tx.UpdateLicense(ctx, l); err != nil {
				return err
			}
			return tx.AppendEvents(ctx, benchEvent(l, "license.updated"))
		})
	})
}

func BenchmarkGet(b *testing.B) {
	st := benchStore(b)
	callers(b, []int{1, 16}, func(ctx context.Context, i int) error {
		_, err := st.License(ctx, benchLicense(i*7919%benchRows).ID)
		return err
	})
}

func BenchmarkListCustomer(b *testing.B) {
	st := benchStore(b)
	callers(b, []int{1, 16}, func(ctx context.Context, i int) error {
		found, err := st.Licenses(ctx, store.LicenseQuery{CustomerID: fmt.Sprint("customer-", i%benchCustomers), Limit: 20})
		if err == nil && len(found) != 20 {
			err = fmt.Errorf("found %d", len(found))
		}
		return err
	})
}

// BenchmarkSeat claims a seat of a floating license, as few or many leases of
// others have ended.
func BenchmarkSeat(b *testing.B) {
	for _, ended := range []int{1_000, 20_000} {
		b.Run(fmt.Sprint("ended=", ended), func(b *testing.B) {
			st := open(b)
			ctx := context.Background()
			now := time.UnixMilli(1_800_000_000_000)
			seat := func(i int, end time.Time) store.Activation {
				id := fmt.Sprintf("act_%026d", i)
				return store.Activation{LicenseID: "lic_1", ID: id, Fingerprint: "machine-" + id, LeaseEndsAt: end, Document: []byte(`{"created":1800000000000,"seen":1800000000000}`)}
			}
			err := st.Update(ctx, func(tx store.Tx) error {
				if err := tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "K"}); err != nil {
					return err
				}
				for i := range ended {
					if err := tx.PutActivations(ctx, seat(i, now.Add(-time.Hour))); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			callers(b, []int{16}, func(ctx context.Context, i int) error {
				return st.Update(ctx, func(tx store.Tx) error {
					if _, err := tx.Activations(ctx, store.ActivationQuery{LicenseID: "lic_1", LiveAt: now, Limit: 1}); err != nil {
						return err
					}
					return tx.PutActivations(ctx, seat(i%ended, now.Add(time.Duration(i%2)*time.Millisecond-time.Hour)))
				})
			})
		})
	}
}
