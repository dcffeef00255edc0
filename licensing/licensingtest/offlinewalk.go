package licensingtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// files tests that no more programs can run offline than the license allows: in
// the sequences of offlineSeeds and at random after each, then concurrently.
func (s *seating) files() {
	for _, hold := range []bool{false, true} {
		for i, seed := range offlineSeeds {
			s.t.Run(fmt.Sprintf("%s,hold=%t", seed.name, hold), func(t *testing.T) {
				w := newWalk(t, s.st, uint64(i), hold)
				seed.run(w)
				w.walk(12)
			})
		}
		s.t.Run(fmt.Sprintf("concurrently,hold=%t", hold), func(t *testing.T) { rushFiles(t, s.st, hold) })
	}
}

// An offlineWalk does one step after another.
type offlineWalk struct {
	*offline
	random   *rand.Rand
	step     int
	requests int
}

func newWalk(t *testing.T, st store.Store, seed uint64, hold bool) *offlineWalk {
	return &offlineWalk{offline: newOffline(t, st, hold), random: rand.New(rand.NewPCG(seed, 16))}
}

// node returns the Service of the next step.
func (w *offlineWalk) node() *license.Service {
	w.step++
	return w.nodes[w.step%len(w.nodes)]
}

// must ends the test if a step failed.
func (w *offlineWalk) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// may ends the test if a step failed with an error that no rule explains.
func (w *offlineWalk) may(err error) {
	w.t.Helper()
	w.must(explained(err))
}

// walk does random steps.
func (w *offlineWalk) walk(steps int) {
	for step := range steps {
		if err := explained(w.any()); err != nil {
			w.t.Fatalf("step %d: %v", step, err)
		}
		if w.t.Failed() {
			w.t.Fatalf("after %d random steps", step+1)
		}
	}
}

// any does a random step.
func (w *offlineWalk) any() error {
	node, fingerprint := w.nodes[w.random.IntN(2)], pc(w.random.IntN(fingerprints))
	lifetime := api.Duration{Hours: 1 + w.random.IntN(24*20)}
	crash := w.random.IntN(5) == 0
	switch w.random.IntN(21) {
	case 0, 1, 2:
		return w.activate(node, fingerprint, "", lifetime, crash)
	case 3, 4:
		return w.activate(node, fingerprint, api.TakeOverOldest, lifetime, crash)
	case 5, 6, 7:
		return w.validate(node, fingerprint, lifetime, crash)
	case 8:
		return w.activate(node, fingerprint, "", api.Duration{}, crash)
	case 9, 10, 11:
		return w.deactivate(node, fingerprint)
	case 12:
		if w.random.IntN(3) == 0 {
			return w.release(node, fingerprint)
		}
		return w.upkeep(node)
	case 13:
		if w.requests == 0 || w.random.IntN(3) > 0 {
			w.requests++
		}
		lifetime.Hours *= 3
		return w.request(node, fmt.Sprint(w.requests), fingerprint, lifetime, crash)
	case 14:
		seats := int64(max(0, w.random.IntN(8)-2))
		if w.random.IntN(4) == 0 {
			return w.unlimit(node, seats)
		}
		return w.limit(node, seats)
	case 15:
		return w.lease(node, int64(max(0, w.random.IntN(10000)-5000)*60))
	case 16:
		if w.random.IntN(4) == 0 {
			return w.void(node)
		}
	case 17:
		w.beforeEnd(time.Duration(w.random.Int64N(int64(2 * skew))))
	case 18:
		w.clock.Advance(time.Duration(w.random.IntN(60)) * time.Minute)
	case 19:
		w.clock.Advance(time.Duration(w.random.IntN(4*24)) * time.Hour)
	case 20:
		if w.random.IntN(4) == 0 {
			w.clock.Advance(31 * day)
		}
	}
	return nil
}
