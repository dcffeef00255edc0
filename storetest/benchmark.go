package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
)

// benchLicenses is how many licenses the store of a benchmark holds, ten of
// each customer.
const benchLicenses = 10_000

// Benchmark measures a backend: writes by one caller and by many, gets and lists,
// on a store with 10,000 licenses that have entitlements and metadata, 20 activations
// of one license, and 10,000 events. It calls open once. To close the store, open registers a b.Cleanup.
//
//	func BenchmarkStore(b *testing.B) {
//		storetest.Benchmark(b, func(b *testing.B) store.Store { return mystore.New() })
//	}
//
// Each result is the time of one Update with the writes of one change, or of one
// read on the Store. Compare only results from the same machine.
func Benchmark(b *testing.B, open func(*testing.B) store.Store) {
	st := open(b)
	ctx := context.Background()
	fillBenchmark(b, st)
	var next atomic.Int64
	next.Store(benchLicenses)
	create := func() error {
		return st.Update(ctx, func(tx store.Tx) error { return benchCreate(ctx, tx, int(next.Add(1))) })
	}
	renew := func() error {
		n := int(next.Add(1)) % 20
		return st.Update(ctx, func(tx store.Tx) error {
			a, err := tx.Activation(ctx, license(1).ID, activation("", n).Fingerprint)
			if err != nil {
				return err
			}
			a.Document = document(int(next.Load()))
			return tx.PutActivations(ctx, a)
		})
	}
	byKey := func() error {
		_, err := st.LicenseByKey(ctx, license(int(next.Add(1)*7919)%benchLicenses).Key)
		return err
	}
	for _, m := range []struct {
		name string
		run  func() error
	}{
		{"Create", create},
		{"Renew", renew},
		{"LicenseByKey", byKey},
		{"CustomersLicenses", func() error {
			q := store.LicenseQuery{CustomerID: word("customer", int(next.Add(1))%(benchLicenses/10)), Limit: 50}
			rows, err := st.Licenses(ctx, q)
			return atLeast(10, len(rows), err)
		}},
		{"LicensesPage", func() error {
			q := store.LicenseQuery{Order: store.ByExpiresAt, After: store.Position{Time: day(500), ID: "lic"}, Limit: 50}
			rows, err := st.Licenses(ctx, q)
			return atLeast(50, len(rows), err)
		}},
		{"EventsPage", func() error {
			rows, err := st.Events(ctx, store.EventQuery{After: 1000, Limit: 100})
			return atLeast(100, len(rows), err)
		}},
	} {
		b.Run(m.name, func(b *testing.B) {
			for b.Loop() {
				if err := m.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, m := range []struct {
		name string
		run  func() error
	}{{"CreateByMany", create}, {"LicenseByKeyByMany", byKey}} {
		b.Run(m.name, func(b *testing.B) {
			b.SetParallelism(32) // callers for each processor
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := m.run(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// atLeast returns err, or an error if a list has fewer rows than it must.
func atLeast(want, got int, err error) error {
	if err == nil && got < want {
		return fmt.Errorf("a list has %d rows, want %d", got, want)
	}
	return err
}

// benchCreate makes the writes of creating a license: the license and its event.
func benchCreate(ctx context.Context, tx store.Tx, n int) error {
	l, e := license(n), event(n)
	l.CustomerID, l.ProductID, l.State = word("customer", n%(benchLicenses/10)), word("product", n%10), store.StateActive
	l.ExpiresAt = day(n % 1000)
	l.Document = fmt.Appendf(nil, `{"name":"License %d","entitlements":{"api":true,"export":true,"region":"eu","seats":25,"tier":"pro"},`+
		`"metadata":{"order":"A-%d","po":"4711","sales":"Ann"},"revision":1,"created":1767225600000,"updated":1767225600000}`, n, n)
	e.Subject, e.CustomerID, e.ProductID = l.ID, l.CustomerID, l.ProductID
	if err := tx.CreateLicenses(ctx, l); err != nil {
		return err
	}
	return tx.AppendEvents(ctx, e)
}

// fillBenchmark writes the records that the measurements read.
func fillBenchmark(b *testing.B, st store.Store) {
	b.Helper()
	ctx := context.Background()
	for first := 0; first < benchLicenses; first += 500 {
		err := st.Update(ctx, func(tx store.Tx) error {
			for n := first; n < first+500; n++ {
				if err := benchCreate(ctx, tx, n); err != nil {
					return err
				}
			}
			if first > 0 {
				return nil
			}
			for n := range 20 {
				if err := tx.PutActivations(ctx, activation(license(1).ID, n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
