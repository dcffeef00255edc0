// Package catalogcheck compares the counts and the search of a service with a
// count of all licenses, while licenses change at random.
package catalogcheck

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A Process is a service on the store that is checked, with a clock that only
// moves forward.
type Process struct {
	*license.Service
	store store.Store
	clock *atomic.Int64 // Unix time in milliseconds
}

// NewProcess returns a service on st.
func NewProcess(st store.Store) *Process {
	clock := new(atomic.Int64)
	clock.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	return (&Process{store: st, clock: clock}).another(st)
}

// another returns a service like another process on st, with the same clock.
func (p *Process) another(st store.Store) *Process {
	other := &Process{store: st, clock: p.clock}
	other.Service = license.New(st, license.Options{Now: other.now})
	return other
}

func (p *Process) now() time.Time { return time.UnixMilli(p.clock.Load()) }

// retention is how long events are kept.
const retention = 24 * time.Hour

// Run changes licenses of two services on st at random: with concurrent writers,
// interrupted indexing, retention, erased customers and moves to another store.
// After each round it compares what both services answer with the licenses.
func Run(t *testing.T, st store.Store, rounds int, seed uint64) {
	t.Helper()
	one := NewProcess(st)
	processes := []*Process{one, one.another(st)}
	dice := rand.New(rand.NewPCG(seed, 1))
	for round := range rounds {
		var wg sync.WaitGroup
		for writer := range 3 {
			dice := rand.New(rand.NewPCG(seed+uint64(round), uint64(writer)))
			p := processes[writer%2]
			wg.Go(func() {
				for range 15 {
					if err := p.Change(t.Context(), dice); err != nil {
						t.Errorf("change: %v", err)
					}
				}
			})
		}
		for i, p := range processes {
			dice := rand.New(rand.NewPCG(seed+uint64(round), uint64(10+i)))
			wg.Go(func() { p.disturb(t, dice) })
		}
		wg.Wait()
		if round%3 == 2 { // retention removes what the indexes may not have read
			one.clock.Add((48 * time.Hour).Milliseconds())
			one.purge(t)
		}
		one.Compare(t, dice)
		processes[1].Compare(t, dice)
		if round%4 == 3 {
			one.move(t).Compare(t, dice)
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
}

// purge lets Run remove old events.
func (p *Process) purge(t *testing.T) {
	t.Helper()
	if _, err := p.Create(t.Context(), license.CreateParams{Name: "newest", ProductID: "x", CustomerID: "y"}); err != nil {
		t.Fatal(err)
	}
	h := licensing.NewHandler(p.store, licensing.Options{
		Now: p.now, Logger: slog.New(slog.DiscardHandler), Events: license.EventOptions{Retention: retention},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	var wg sync.WaitGroup
	wg.Go(func() { _ = h.Run(ctx) })
	for {
		oldest, err := p.store.Events(ctx, store.EventQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if oldest[0].Time.After(p.now().Add(-retention)) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	wg.Wait()
}

// Index completes the indexes: EraseCustomer returns only after that.
func (p *Process) Index(ctx context.Context) error {
	_, err := p.EraseCustomer(ctx, "unknown")
	return err
}

// move returns a process on a new store with the archive of this one's.
func (p *Process) move(t *testing.T) *Process {
	t.Helper()
	var archive bytes.Buffer
	err := p.store.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &archive) })
	to := memory.New()
	if err == nil {
		err = store.Import(t.Context(), to, &archive)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.another(to)
}
