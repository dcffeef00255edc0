package license_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// TestActivationLimitReached: processes refuse activations at random instants, and each
// stores its refusals within a minute. No two events are within 24 hours, and a refusal
// without an event in the 24 hours before it is followed by one within a minute.
func TestActivationLimitReached(t *testing.T) {
	for seed := range uint64(20) {
		is := is.New(t)
		random := rand.New(rand.NewPCG(seed, 67))
		f := newFixture(t)
		l := f.create(t, noSeats)
		type process struct {
			*license.Service
			stores time.Time // zero: it has nothing to store
		}
		processes := make([]process, 3)
		for i := range processes {
			processes[i].Service = license.New(f.store, license.Options{Now: func() time.Time { return f.now }})
		}
		advance := func(to time.Time) {
			for {
				var next *process
				for i := range processes {
					if p := &processes[i]; !p.stores.IsZero() && !p.stores.After(to) && (next == nil || p.stores.Before(next.stores)) {
						next = p
					}
				}
				if next == nil {
					f.now = to
					return
				}
				f.now, next.stores = next.stores, time.Time{}
				is.NoErr(inner.Of(next.Service).StoreUsage(t.Context()))
			}
		}
		var refused []time.Time
		for f.now.Before(start.AddDate(0, 0, 20)) {
			longest := []time.Duration{time.Second, 2 * time.Minute, time.Hour, 10 * time.Hour, 30 * time.Hour}[random.IntN(5)]
			advance(f.now.Add(time.Duration(random.Int64N(int64(longest)))))
			if random.IntN(4) == 0 { // about a day after the last one
				advance(f.now.Add(24*time.Hour - time.Minute + time.Duration(random.Int64N(int64(2*time.Minute)))))
			}
			p := &processes[random.IntN(len(processes))]
			deny(t, p.Service, l.Key, "pc")
			refused = append(refused, f.now)
			if p.stores.IsZero() {
				p.stores = f.now.Add(time.Duration(random.Int64N(int64(time.Minute))))
			}
		}
		advance(f.now.Add(time.Minute))

		var events []time.Time
		for e, err := range f.AllEvents(t.Context(), api.ListEventsParams{Types: []string{api.EventActivationLimit}}) {
			is.NoErr(err)
			events = append(events, e.Timestamp)
		}
		is.True(len(events) > 5)
		for i, e := range events {
			is.True(i == 0 || e.Sub(events[i-1]) >= 24*time.Hour)
			is.True(slices.ContainsFunc(refused, func(at time.Time) bool { return e.Sub(at) <= time.Minute && at.Sub(e) < time.Millisecond }))
		}
		for _, at := range refused {
			is.True(slices.ContainsFunc(events, func(e time.Time) bool { return at.Sub(e) < 24*time.Hour && e.Sub(at) <= time.Minute }))
		}
	}
}
