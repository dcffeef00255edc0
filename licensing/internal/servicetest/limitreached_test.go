package servicetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// An updateCounter counts the Updates of a store.
type updateCounter struct {
	store.Store
	n atomic.Int64
}

func (u *updateCounter) Update(ctx context.Context, fn func(store.Tx) error) error {
	u.n.Add(1)
	return u.Store.Update(ctx, fn)
}

// refuse activates a fingerprint for which the license has no seat.
func refuse(t *testing.T, s *license.Service, key string) {
	t.Helper()
	if _, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: key, Fingerprint: "fp-9"}); !errors.Is(err, api.ErrDenied) {
		t.Fatalf("Activate returned %v", err)
	}
}

// limitEvents returns the activation.limit_reached events of a service.
func limitEvents(t *testing.T, s *license.Service) (list []api.Event) {
	t.Helper()
	for e, err := range s.AllEvents(t.Context(), api.ListEventsParams{Types: []string{api.EventActivationLimit}}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// TestActivationLimitWithRun: the event follows within a minute, and a refused request writes
// nothing for it.
func TestActivationLimitWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &updateCounter{Store: memory.New()}
		h := licensing.NewHandler(st, licensing.Options{Logger: discard, PollInterval: time.Minute})
		ctx, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { _ = h.Run(ctx) })
		s := h.Service()
		l, err := s.Create(ctx, api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{MaxActivations: new(int64(1))}, Metadata: map[string]string{"email": "ada@example.com"}})
		is.NoErr(err)
		_, err = s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "fp-0"})
		is.NoErr(err)
		for n := range 3 {
			time.Sleep(24*time.Hour + 17*time.Second)
			synctest.Wait()
			before, at := st.n.Load(), time.Now()
			refuse(t, s, l.Key)
			is.True(st.n.Load()-before <= 1) // the Update that decides about the seat
			time.Sleep(time.Minute)
			synctest.Wait()
			refuse(t, s, l.Key)
			events := limitEvents(t, s)
			is.Equal(len(events), n+1)
			e := events[n]
			is.True(!e.Timestamp.Before(at) && e.Timestamp.Sub(at) <= time.Minute)
			data, err := e.Decode()
			is.NoErr(err)
			is.Equal(e.Actor+" "+e.Subject+" "+e.CustomerID, "clock "+l.ID+" ada")
			is.Equal(data.License.Metadata["email"], "ada@example.com")
			is.Equal(*data.License.MaxActivations, int64(1))
			is.Equal(data.License.Key, "")
		}
		stop()
		run.Wait()
	})
}

// TestActivationLimitOnly: neither a validation, nor another reason, nor the limit of the
// meter activations is one; and the event is that of the license also if the request that
// stores it comes from a caller who sees no license of the product.
func TestActivationLimitOnly(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Logger: discard})
	s := c.Handler.Service()
	create := func(product string, terms api.Terms) api.License {
		l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: product, CustomerID: "ada", Terms: terms})
		is.NoErr(err)
		return l
	}
	none := api.Terms{MaxActivations: new(int64(0))}
	full, metered, other := create("atlas", none), create("atlas", api.Terms{Meters: map[string]api.Meter{api.MeterActivations: {Limit: new(int64(0))}}}), create("other", none)
	flushed := func() []api.Event { // without Run, a refusal stores those before it
		c.Clock.Advance(2 * time.Minute)
		refuse(t, s.As(license.Caller{Actor: "client:cid_1", RequestID: "req_1", Products: []string{"other"}}), other.Key)
		return slices.DeleteFunc(limitEvents(t, s), func(e api.Event) bool { return e.Subject == other.ID })
	}
	flushed()
	refuse(t, s, metered.Key)
	_, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: full.Key, Fingerprint: "fp-9"})
	is.NoErr(err)
	_, err = s.Activate(t.Context(), api.ActivateKeyParams{Key: full.Key, Fingerprint: "fp-9", ProductID: "another"})
	is.True(errors.Is(err, api.ErrDenied))
	is.Equal(len(flushed()), 0)
	refuse(t, s, full.Key)
	events := flushed()
	is.Equal(len(events), 1)
	is.Equal(events[0].Actor+" "+events[0].RequestID+" "+events[0].Subject, "clock  "+full.ID)

	refuse(t, s, full.Key) // on the same day
	is.Equal(len(flushed()), 1)
	c.Clock.Advance(-30 * 24 * time.Hour) // the clock was ahead
	refuse(t, s, full.Key)
	is.Equal(len(flushed()), 2)

	// A transfer forgets: the new customer has had no event.
	moved, err := s.Transfer(t.Context(), api.TransferLicenseParams{ID: full.ID, CustomerID: "grace", KeepKey: true})
	is.NoErr(err)
	refuse(t, s, moved.Key)
	events = flushed()
	is.Equal(len(events), 3)
	is.Equal(events[2].CustomerID, "grace")

	// An erasure blanks the events of the customer before.
	_, err = s.EraseCustomer(t.Context(), "ada")
	is.NoErr(err)
	for _, e := range limitEvents(t, s) {
		is.True(e.CustomerID != "ada")
	}
}
