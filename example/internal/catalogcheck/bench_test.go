package catalogcheck_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/example/internal/catalogcheck"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// fill adds licenses without events, so that only a build can index them.
func fill(b *testing.B, st store.Store, licenses int) {
	b.Helper()
	for n := 0; n < licenses; n += 500 {
		err := st.Update(b.Context(), func(tx store.Tx) error {
			for i := n; i < n+500; i++ {
				l := store.License{
					ID: store.NewID("lic", time.Now()), Key: license.NewKey(), ProductID: fmt.Sprint("prod_", i%20),
					CustomerID: fmt.Sprint("customer_", i/3), State: store.StateActive,
					ExpiresAt: time.Now().Add(time.Duration(i%400) * 24 * time.Hour), Document: fmt.Appendf(nil,
						`{"name":"Atlas Editor for number %d","seats":3,"metadata":{"order":"2026-0042"},"revision":1,"created":%[2]d,"updated":%[2]d}`, i, time.Now().UnixMilli()),
				}
				if err := tx.CreateLicenses(b.Context(), l); err != nil {
					return err
				}
				a := store.Activation{LicenseID: l.ID, ID: store.NewID("act", time.Now()), Fingerprint: fmt.Sprintf("host-%d", i), Document: []byte("{}")}
				if err := tx.PutActivations(b.Context(), a); err != nil {
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

// BenchmarkBuild measures how many licenses a second both indexes take in, and
// how long other writers wait, with the indexes being built and without.
func BenchmarkBuild(b *testing.B) {
	const licenses = 20_000
	for b.Loop() {
		st, err := sqlite.Open(filepath.Join(b.TempDir(), "licenses.db"))
		if err != nil {
			b.Fatal(err)
		}
		defer st.Close()
		fill(b, st, licenses)
		s := catalogcheck.NewProcess(st)
		began := time.Now()
		if err := s.Index(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(licenses/time.Since(began).Seconds(), "licenses/s")

		other, err := sqlite.Open(filepath.Join(b.TempDir(), "licenses.db"))
		if err != nil {
			b.Fatal(err)
		}
		defer other.Close()
		fill(b, other, licenses)
		s = catalogcheck.NewProcess(other)
		b.ReportMetric(milliseconds(p99(b, s, func(ctx context.Context) { <-ctx.Done() })), "p99-ms")
		building := time.Duration(0)
		with := p99(b, s, func(ctx context.Context) {
			began := time.Now()
			if err := s.Index(ctx); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
			building = time.Since(began)
			<-ctx.Done()
		})
		b.ReportMetric(milliseconds(with), "p99-ms-building")
		b.ReportMetric(building.Seconds(), "s-building")
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// p99 returns the 99th percentile of the time that four writers wait for a
// license, while something else happens.
func p99(b *testing.B, s *catalogcheck.Process, meanwhile func(context.Context)) time.Duration {
	ctx, cancel := context.WithTimeout(b.Context(), 4*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var waits []time.Duration
	wg.Go(func() { meanwhile(ctx) })
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				_, err := s.Create(b.Context(), license.CreateParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada"})
				if err != nil {
					b.Error(err)
				}
				mu.Lock()
				waits = append(waits, time.Since(began))
				mu.Unlock()
				time.Sleep(time.Millisecond)
			}
		})
	}
	wg.Wait()
	slices.Sort(waits)
	return waits[len(waits)*99/100]
}
