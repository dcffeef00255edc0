package license_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// createOnce creates a license under a key and replies with its id.
func createOnce(ctx context.Context, s *license.Service, key, fingerprint string) (id string, replayed bool, err error) {
	reply, replayed, err := s.Once(ctx, key, fingerprint, func(s *license.Service) ([]byte, error) {
		l, err := s.Create(ctx, plain())
		return []byte(l.ID), err
	})
	return string(reply), replayed, err
}

func TestOnce(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.IdempotencyTTL = time.Hour })
	s := f.As(license.Caller{Actor: "client:cid_1"})
	id, replayed, err := createOnce(t.Context(), s, "key", "POST /license {}")
	is.NoErr(err)
	is.True(!replayed)
	_, err = f.Get(t.Context(), id)
	is.NoErr(err)

	again, replayed, err := createOnce(t.Context(), s, "key", "POST /license {}")
	is.NoErr(err)
	is.True(replayed)
	is.Equal(again, id)
	_, _, err = createOnce(t.Context(), s, "key", "POST /license {other}")
	require.ErrorIs(t, err, api.ErrOnceMismatch)
	other, replayed, err := createOnce(t.Context(), f.As(license.Caller{Actor: "client:cid_2"}), "key", "POST /license {other}")
	is.NoErr(err)
	is.True(!replayed) // keys belong to the actor
	is.True(other != id)

	f.now = f.now.Add(time.Hour) // the reply is kept no longer
	third, replayed, err := createOnce(t.Context(), s, "key", "POST /license {new}")
	is.NoErr(err)
	is.True(!replayed)
	is.True(third != id)

	_, _, err = createOnce(t.Context(), s, "", "")
	is.Equal(fields(t, err), map[string]string{"idempotency_key": "out_of_range"})
}

func TestOnceThatFailsLeavesNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	fails := errors.New("fails")
	_, _, err := f.Once(t.Context(), "key", "", func(s *license.Service) ([]byte, error) {
		_, err := s.Create(t.Context(), plain())
		is.NoErr(err)
		return nil, fails
	})
	require.ErrorIs(t, err, fails)
	page, err := f.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
	_, replayed, err := createOnce(t.Context(), f.Service, "key", "")
	is.NoErr(err)
	is.True(!replayed) // the key was free
}

// TestOnceUnderConcurrency: a retried order makes one license.
//
// Fault: a payment service that calls twice leaves two licenses.
func TestOnceUnderConcurrency(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var wg sync.WaitGroup
	var effects atomic.Int64
	ids := make([]string, 50)
	for i := range ids {
		wg.Go(func() {
			id, replayed, err := createOnce(t.Context(), f.Service, "order-1001", "")
			is.NoErr(err)
			ids[i] = id
			if !replayed {
				effects.Add(1)
			}
		})
	}
	wg.Wait()
	is.Equal(effects.Load(), int64(1))
	for _, id := range ids {
		is.Equal(id, ids[0])
	}
	is.Equal(f.tallies(t, "state"), map[string]int64{"active": 1})
}

func TestExpiredRepliesArePurged(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.IdempotencyTTL = time.Minute })
	create := func(key string) {
		_, _, err := createOnce(t.Context(), f.Service, key, "")
		is.NoErr(err)
	}
	create("old")
	f.now = f.now.Add(time.Hour)
	create("new")
	_, err := inner.Of(f.Service).Background().Upkeep[0](t.Context())
	is.NoErr(err)
	kept, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "once"})
	is.NoErr(err)
	is.Equal(len(kept), 1)
	is.True(kept[0].ExpiresAt.After(f.now))
}

func TestAtomically(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	fails := errors.New("fails")
	err := f.Atomically(t.Context(), func(s *license.Service) error {
		l, err := s.Create(t.Context(), plain())
		is.NoErr(err)
		page, err := s.List(t.Context(), api.ListLicensesParams{}) // sees its own writes
		is.NoErr(err)
		is.Equal(len(page.Data), 1)
		f.now = f.now.Add(time.Hour)
		u, err := s.As(license.Caller{Actor: "x"}).Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: ptr("y")})
		is.NoErr(err)
		is.Equal(u.UpdatedAt, l.CreatedAt) // one instant for all
		return fails
	})
	require.ErrorIs(t, err, fails)
	events, err := f.store.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(events), 0)

	var inner *license.Service
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
		inner = s
		_, err := s.Create(t.Context(), api.CreateLicenseParams{})
		require.ErrorIs(t, err, api.ErrInvalid) // a refusal does no harm to the rest
		_, err = s.Create(t.Context(), plain())
		return err
	}))
	is.Equal(f.tallies(t, "state"), map[string]int64{"active": 1})
	_, err = inner.List(t.Context(), api.ListLicensesParams{})
	require.ErrorIs(t, err, store.ErrTxDone) // over when fn has returned
}

// TestAtomicallyNested: what joined and failed cannot be committed around.
func TestAtomicallyNested(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	fails := errors.New("fails")
	err := f.Atomically(t.Context(), func(s *license.Service) error {
		_ = s.Atomically(t.Context(), func(s *license.Service) error {
			_, err := s.Create(t.Context(), plain())
			is.NoErr(err)
			return fails
		})
		return nil
	})
	require.ErrorIs(t, err, fails)
	err = f.Atomically(t.Context(), func(s *license.Service) error {
		if _, _, err := createOnce(t.Context(), s, "key", ""); err != nil {
			return err
		}
		_, replayed, err := createOnce(t.Context(), s, "key", "")
		is.True(replayed)
		return err
	})
	is.NoErr(err)
	is.Equal(f.tallies(t, "state"), map[string]int64{"active": 1})
}

// TestAtomicallyAfterACallThatBroke: a call that the store broke off halfway
// cannot be committed, even if the function continues.
func TestAtomicallyAfterACallThatBroke(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	s := license.New(mute{f.store}, license.Options{})
	err := s.Atomically(t.Context(), func(s *license.Service) error {
		_, err := s.Create(t.Context(), plain()) // writes the license, and then not its event
		require.ErrorIs(t, err, store.ErrUnavailable)
		return nil
	})
	require.ErrorIs(t, err, store.ErrUnavailable)
	page, err := f.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
}

// A mute store takes no events.
type mute struct{ store.Store }

func (m mute) Update(ctx context.Context, fn func(store.Tx) error) error {
	return m.Store.Update(ctx, func(tx store.Tx) error { return fn(muteTx{tx}) })
}

type muteTx struct{ store.Tx }

func (muteTx) AppendEvents(context.Context, ...store.Event) error { return store.ErrUnavailable }
