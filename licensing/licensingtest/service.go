package licensingtest

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// RunService tests that seats and leases are exact on the stores that open
// returns. Hundreds of fingerprints concurrently activate, renew, release, let
// leases end and take over seats; the license never has more active activations
// than seats, and no fingerprint is refused while a seat is free. Half of the
// calls use another Service on the same store, as from another process.
// It also tests that no more programs can run from license files than the license
// allows, with the clocks of both Services 5 minutes apart.
//
// The limit is also tested beside 2,000 active activations, or as many as the
// environment variable LICENSING_TEST_ACTIVATIONS says.
//
// RunService calls open once for each part. open must return an empty store and
// close it with t.Cleanup. Run it with the race detector. It takes several seconds
// on a store that waits for a disk.
func RunService(t *testing.T, open func(t *testing.T) store.Store) {
	for _, part := range []struct {
		name string
		run  func(*seating)
	}{
		{"ExactlyAsManySeats", (*seating).rush},
		{"ManyActivations", (*seating).many},
		{"OneFingerprintOneSeat", (*seating).repeats},
		{"LeasesEndByTheClock", (*seating).lapses},
		{"TakeOver", (*seating).takesOver},
		{"LoweredLimit", (*seating).lowers},
		{"Mixed", (*seating).mixed},
		{"LicenseFiles", (*seating).files},
	} {
		t.Run(part.name, func(t *testing.T) {
			part.run(newSeating(t, open(t)))
		})
	}
}

// A seating is a license with contended seats.
type seating struct {
	t     *testing.T
	st    store.Store
	clock *Clock
	nodes [2]*license.Service
	id    string
	key   string
}

func newSeating(t *testing.T, st store.Store) *seating {
	clock := NewClock()
	opts := license.Options{Now: clock.Now, Logger: slog.New(slog.DiscardHandler)}
	return &seating{t: t, st: st, clock: clock, nodes: [2]*license.Service{license.New(st, opts), license.New(st, opts)}}
}

// issue creates the license. A lease of 0 is none.
func (s *seating) issue(seats, lease int64) {
	s.t.Helper()
	p := api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"}
	p.MaxActivations = &seats
	if lease > 0 {
		p.LeaseSeconds = &lease
	}
	l, err := s.nodes[0].Create(s.t.Context(), p)
	if err != nil {
		s.t.Fatal(err)
	}
	s.id, s.key = l.ID, l.Key
}

// at returns the Service that the i-th caller uses.
func (s *seating) at(i int) *license.Service { return s.nodes[i%len(s.nodes)] }

func (s *seating) activate(i int, fingerprint, takeOver string) (api.Verdict, error) {
	v, err := s.at(i).Activate(s.t.Context(), api.ActivateKeyParams{Key: s.key, Fingerprint: fingerprint, TakeOver: takeOver})
	return v.Verdict, err
}

func (s *seating) validate(i int, fingerprint string) api.Verdict {
	s.t.Helper()
	v, err := s.at(i).Validate(s.t.Context(), api.ValidateKeyParams{Key: s.key, Fingerprint: fingerprint})
	if err != nil {
		s.t.Error(err)
	}
	return v.Verdict
}

// concurrently runs fn n times concurrently.
func concurrently(n int, fn func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	wg.Wait()
}

// contend activates n fingerprints concurrently and checks how many succeed.
func (s *seating) contend(n int, prefix string, want int) (admitted []string) {
	s.t.Helper()
	var mu sync.Mutex
	concurrently(n, func(i int) {
		fingerprint := fmt.Sprint(prefix, i)
		_, err := s.activate(i, fingerprint, "")
		switch {
		case err == nil:
			mu.Lock()
			defer mu.Unlock()
			admitted = append(admitted, fingerprint)
		case !errors.Is(err, api.ErrActivationLimit):
			s.t.Errorf("activating %s: %v", fingerprint, err)
		}
	})
	if len(admitted) != want {
		s.t.Errorf("of %d concurrent activations %d were admitted, want %d", n, len(admitted), want)
	}
	return admitted
}

// taken checks how many seats are in use, in the store and by the rules.
func (s *seating) taken(want int) {
	s.t.Helper()
	rows, err := s.st.Activations(s.t.Context(), store.ActivationQuery{LicenseID: s.id, LiveAt: s.clock.Now()})
	if err != nil || len(rows) != want {
		s.t.Errorf("%d seats are taken (%v), want %d", len(rows), err, want)
	}
	page, err := s.nodes[1].ListActivations(s.t.Context(), api.ListActivationsParams{LicenseID: s.id, Limit: 200})
	if err != nil || len(page.Data) != want {
		s.t.Errorf("%d activations are listed (%v), want %d", len(page.Data), err, want)
	}
}

// rush: a limit of k admits exactly k.
func (s *seating) rush() {
	for _, seats := range []int{1, 7, 100} {
		s.issue(int64(seats), 0)
		s.contend(200, "pc-", seats)
		s.taken(seats)
	}
}

// repeats: concurrent activations of one fingerprint use one seat.
func (s *seating) repeats() {
	s.issue(3, 0)
	ids := make([]string, 100)
	concurrently(len(ids), func(i int) {
		v, err := s.activate(i, "pc", "")
		if err != nil {
			s.t.Error(err)
			return
		}
		ids[i] = v.Activation.ID
	})
	for _, id := range ids {
		if id != ids[0] {
			s.t.Errorf("one fingerprint got the activations %s and %s", ids[0], id)
		}
	}
	s.taken(1)
}

// lapses: an ended lease frees its seat although its record remains, and a
// returning fingerprint is subject to the same limit.
func (s *seating) lapses() {
	const seats = 10
	s.issue(seats, 60)
	first := s.contend(60, "first-", seats)
	s.clock.Advance(30 * time.Second)
	concurrently(seats/2, func(i int) { s.validate(i, first[i]) }) // these continue
	s.clock.Advance(30 * time.Second)
	s.taken(seats / 2)

	// The others return, together with as many new ones as before.
	s.contend(60, "second-", seats/2)
	s.taken(seats)
	for i, fingerprint := range first {
		v := s.validate(i, fingerprint)
		if want := i < seats/2; v.Valid != want {
			s.t.Errorf("%s: valid is %t, want %t", fingerprint, v.Valid, want)
		}
		if !v.Valid && v.Code != api.VerdictLeaseEnded {
			s.t.Errorf("%s gets the verdict %s, want %s", fingerprint, v.Code, api.VerdictLeaseEnded)
		}
		if _, err := s.activate(i, fingerprint, ""); (err == nil) != v.Valid {
			s.t.Errorf("%s came back to a full license: %v", fingerprint, err)
		}
	}
	s.taken(seats)
}

// takesOver: each take-over evicts one activation, whose next verdict says so.
func (s *seating) takesOver() {
	const seats, newcomers = 5, 60
	s.issue(seats, 0)
	all := s.contend(seats, "old-", seats)
	s.clock.Advance(time.Second)
	concurrently(newcomers, func(i int) {
		if _, err := s.activate(i, fmt.Sprint("new-", i), api.TakeOverOldest); err != nil {
			s.t.Errorf("taking over: %v", err)
		}
	})
	s.taken(seats)
	for i := range newcomers {
		all = append(all, fmt.Sprint("new-", i))
	}
	var live int
	for i, fingerprint := range all {
		switch v := s.validate(i, fingerprint); v.Code {
		case api.VerdictValid:
			live++
		case api.VerdictEvicted:
		default:
			s.t.Errorf("%s gets the verdict %s", fingerprint, v.Code)
		}
	}
	if live != seats {
		s.t.Errorf("%d still have a seat, want %d", live, seats)
	}
	if got := s.count(api.EventActivationEvicted); got != newcomers {
		s.t.Errorf("%d were evicted, want %d", got, newcomers)
	}
}

// lowers: an admission and a change of the limit are serialized.
func (s *seating) lowers() {
	s.issue(100, 0)
	concurrently(121, func(i int) {
		if i == 60 {
			p := api.UpdateLicenseParams{ID: s.id, MaxActivations: api.To(int64(10))}
			if _, err := s.at(i).Update(s.t.Context(), p); err != nil {
				s.t.Error(err)
			}
			return
		}
		if _, err := s.activate(i, fmt.Sprint("pc-", i), ""); err != nil && !errors.Is(err, api.ErrActivationLimit) {
			s.t.Error(err)
		}
	})
	limit, taken := 100, 0
	s.replay(func(e store.Event) {
		switch e.Type {
		case api.EventLicenseUpdated:
			limit = 10
		case api.EventActivationCreated:
			if taken++; taken > limit {
				s.t.Errorf("event %d admits number %d to %d seats", e.Seq, taken, limit)
			}
		}
	})
	s.taken(taken)
}

// mixed runs all operations concurrently with a running clock and checks that
// the seats in use never exceed the limit.
func (s *seating) mixed() {
	const seats, lease, workers, steps = 5, 10, 40, 25
	s.issue(seats, lease)
	var admitted atomic.Int64
	concurrently(workers, func(worker int) {
		random := rand.New(rand.NewPCG(11, uint64(worker)))
		for range steps {
			pc := fmt.Sprint("pc-", random.IntN(3*seats))
			var err error
			switch random.IntN(7) {
			case 0, 1:
				if _, err = s.activate(worker, pc, ""); err == nil {
					admitted.Add(1)
				}
			case 2:
				_, err = s.activate(worker, pc, api.TakeOverOldest)
			case 3:
				_, err = s.at(worker).Deactivate(s.t.Context(), api.DeactivateKeyParams{Key: s.key, Fingerprint: pc})
			case 4, 5:
				s.validate(worker, pc)
			case 6:
				s.clock.Advance(time.Duration(random.IntN(4)) * time.Second)
			}
			if err != nil && !errors.Is(err, api.ErrActivationLimit) && !errors.Is(err, api.ErrNotFound) {
				s.t.Error(err)
			}
			s.watch(seats)
		}
	})
	if admitted.Load() < seats {
		s.t.Errorf("%d were admitted in all of that", admitted.Load())
	}

	// When everything has stopped and every lease has ended, all seats are free.
	s.clock.Advance(lease * time.Second)
	s.taken(0)
	s.contend(50, "after-", seats)
	s.taken(seats)
}

// watch counts the seats in use in one snapshot. It reads the clock inside the
// snapshot, after every write in it, so that it can only see leases end.
func (s *seating) watch(seats int) {
	s.t.Helper()
	err := s.st.View(s.t.Context(), func(r store.Reader) error {
		rows, err := r.Activations(s.t.Context(), store.ActivationQuery{LicenseID: s.id, LiveAt: s.clock.Now()})
		if len(rows) > seats {
			s.t.Errorf("%d seats of %d are taken", len(rows), seats)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// replay calls fn with each event of the license, in order.
func (s *seating) replay(fn func(store.Event)) {
	s.t.Helper()
	for after := int64(0); ; {
		events, err := s.st.Events(s.t.Context(), store.EventQuery{Subject: s.id, After: after})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(events) == 0 {
			return
		}
		for _, e := range events {
			fn(e)
			after = e.Seq
		}
	}
}

// count returns how many events of the license are of a type.
func (s *seating) count(eventType string) (n int) {
	s.t.Helper()
	s.replay(func(e store.Event) {
		if e.Type == eventType {
			n++
		}
	})
	return n
}
