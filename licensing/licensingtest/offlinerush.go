package licensingtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// rushFiles issues files from both Services concurrently, and at the instants at
// which the first of their clocks says that files have expired.
func rushFiles(t *testing.T, st store.Store, hold bool) {
	const rounds, workers, steps = 3, 8, 8
	o := newOffline(t, st, hold)
	o.fixed = true
	for round := range rounds {
		concurrently(workers, func(worker int) {
			random := rand.New(rand.NewPCG(uint64(round), uint64(worker)))
			node := o.nodes[worker%len(o.nodes)]
			for step := range steps {
				fingerprint := pc(random.IntN(fingerprints))
				lifetime, crash := api.Duration{Days: 10}, random.IntN(5) == 0
				if random.IntN(3) == 0 {
					lifetime = api.Duration{} // no file
				}
				var err error
				switch random.IntN(6) {
				case 0:
					err = o.activate(node, fingerprint, "", lifetime, crash)
				case 1:
					err = o.activate(node, fingerprint, api.TakeOverOldest, lifetime, crash)
				case 2:
					err = o.validate(node, fingerprint, lifetime, crash)
				case 3:
					err = o.deactivate(node, fingerprint)
				case 4:
					lifetime.Days = 30
					err = o.request(node, fmt.Sprint(round, step), fingerprint, lifetime, crash)
				case 5:
					o.clock.Advance(time.Duration(random.IntN(3)) * time.Minute)
				}
				if err := explained(err); err != nil {
					t.Error(err)
				}
			}
		})
		if len(o.signed) == 0 {
			t.Error("no file was issued")
		}
		o.beforeEnd(skew / 2)
	}
}
