package license_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestExactlyAsManySeats: of hundreds of concurrent activations, exactly as many are
// admitted as there are seats, and the rest are refused.
//
// Fault: the number of seats in use is read, perhaps from a cached counter, and
// then a row is inserted, so that two concurrent activations both get the last seat.
func TestExactlyAsManySeats(t *testing.T) {
	for _, limit := range []int64{1, 7, 100} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t, seats(limit, 0))
			var wg sync.WaitGroup
			var admitted, refused atomic.Int64
			for i := range 300 {
				wg.Go(func() {
					_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)})
					switch {
					case err == nil:
						admitted.Add(1)
					case errors.Is(err, api.ErrActivationLimit):
						refused.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			wg.Wait()
			is.Equal(admitted.Load(), limit)
			is.Equal(refused.Load(), 300-limit)
			is.Equal(f.live(t, l.ID), int(limit))
		})
	}
}

// TestOneSeatForOneFingerprint: the same program starting many times concurrently
// takes one seat.
//
// Fault: a retried activation takes a second seat.
func TestOneSeatForOneFingerprint(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(5, 0))
	var wg sync.WaitGroup
	ids := make([]string, 200)
	for i := range ids {
		wg.Go(func() {
			v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"})
			is.NoErr(err)
			ids[i] = v.Activation.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		is.Equal(id, ids[0])
	}
	is.Equal(f.live(t, l.ID), 1)
	is.Equal(f.events(t, l.ID), []string{api.EventLicenseCreated, api.EventActivationCreated})
}

// TestSeatsInTurmoil lets hundreds activate, renew, release, lapse and take
// over concurrently, and then checks the history: replayed from its events, it
// never has more live seats than the license, at any event.
func TestSeatsInTurmoil(t *testing.T) {
	is := is.New(t)
	const limit, lease = 5, 10
	st := memory.New()
	var clock atomic.Int64 // seconds after start
	now := func() time.Time { return start.Add(time.Duration(clock.Load()) * time.Second) }
	s := license.New(st, license.Options{Now: now})
	p := plain()
	p.MaxActivations, p.LeaseSeconds = ptr(int64(limit)), ptr(int64(lease))
	l, err := s.Create(t.Context(), p)
	is.NoErr(err)

	var wg sync.WaitGroup
	for worker := range 40 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(worker)))
			for range 50 {
				pc := fmt.Sprint("pc-", random.IntN(15))
				var err error
				switch random.IntN(6) {
				case 0, 1:
					_, err = s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: pc})
				case 2:
					_, err = s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: pc, TakeOver: api.TakeOverOldest})
				case 3:
					_, err = s.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: pc})
				case 4:
					_, err = s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: pc})
				case 5:
					clock.Add(random.Int64N(4))
				}
				if err != nil && !errors.Is(err, api.ErrActivationLimit) && !errors.Is(err, api.ErrNotFound) {
					t.Error(err)
				}
				err = st.View(t.Context(), func(r store.Reader) error {
					// Now, with the state before it: no seat that was given
					// away since counts with the one who lost it.
					n, err := countActivations(t.Context(), r, store.ActivationQuery{LicenseID: l.ID, LiveAt: now()})
					if n > limit {
						t.Errorf("%d seats of %d are taken", n, limit)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()

	// Replayed, no admission finds the license full of seats that nothing
	// has ended. A lease ends between events, so a seat counts as taken for
	// certain only within the lease it began with.
	events, err := st.Events(t.Context(), store.EventQuery{Subject: l.ID})
	is.NoErr(err)
	certain := map[string]time.Time{} // by activation: when its first lease ends
	admissions := 0
	for _, e := range events {
		data := eventData(t, e)
		switch e.Type {
		case api.EventActivationCreated:
			admissions++
			certain[data.Activation.ID] = *data.Activation.LeaseEndsAt
			n := 0
			for _, end := range certain {
				if e.Time.Before(end) {
					n++
				}
			}
			if n > limit {
				t.Fatalf("event %d admits seat %d of %d", e.Seq, n, limit)
			}
		case api.EventActivationReleased, api.EventActivationEvicted:
			delete(certain, data.Activation.ID)
		}
	}
	require.Greater(t, admissions, 50) // there was contention
}

// TestSeatsWhileTheLimitChanges: an admission and a lowering of the limit come
// one after the other, never concurrently.
func TestSeatsWhileTheLimitChanges(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(100, 0))
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)})
			is.True(err == nil || errors.Is(err, api.ErrActivationLimit))
		})
	}
	wg.Go(func() {
		_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(int64(10))})
		is.NoErr(err)
	})
	wg.Wait()
	limit, taken := 100, 0
	events, err := f.store.Events(t.Context(), store.EventQuery{Subject: l.ID})
	is.NoErr(err)
	for _, e := range events {
		switch e.Type {
		case api.EventLicenseUpdated:
			limit = 10
		case api.EventActivationCreated:
			taken++
			require.AtMost(t, taken, limit) // at the moment of each admission
		}
	}
}
