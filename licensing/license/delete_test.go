package license_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A boundedStore notes the most activations that one Update removes, and how
// many licenses, entries and events are read.
type boundedStore struct {
	store.Store
	removed, licenses, entries, events int
}

type boundedReader struct {
	store.Reader
	s *boundedStore
}

type boundedTx struct {
	store.Tx
	s *boundedStore
	n int
}

func (s *boundedStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return fn(boundedReader{r, s}) })
}

func (s *boundedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error {
		b := &boundedTx{Tx: tx, s: s}
		defer func() { s.removed = max(s.removed, b.n) }()
		return fn(b)
	})
}

func (r boundedReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	r.s.licenses += len(rows)
	return rows, err
}

func (r boundedReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	rows, err := r.Reader.Entries(ctx, q)
	r.s.entries += len(rows)
	return rows, err
}

func (r boundedReader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	rows, err := r.Reader.Events(ctx, q)
	r.s.events += len(rows)
	return rows, err
}

func (tx *boundedTx) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	tx.n += len(ids)
	return tx.Tx.DeleteActivations(ctx, licenseID, ids...)
}

// TestDeletingALicenseWithManyActivations takes small Updates, and a deletion
// that is refused removes nothing.
func TestDeletingALicenseWithManyActivations(t *testing.T) {
	for _, how := range []string{"Delete", "Erase"} {
		t.Run(how, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t)
			const n = 1200
			var rows []store.Activation
			for i := range n {
				a := store.Activation{
					LicenseID: l.ID, ID: store.NewID("act", start.Add(time.Duration(i)*time.Millisecond)), Fingerprint: fmt.Sprint("pc-", i),
					Document: []byte("{}"),
				}
				if i%2 == 0 {
					a.EndedAt, a.Document = start, []byte(`{"reason":"released"}`)
				}
				rows = append(rows, a)
			}
			is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return tx.PutActivations(t.Context(), rows...) }))
			f.activate(t, l.Key, "active")
			bounded := &boundedStore{Store: f.store}
			s := license.New(bounded, license.Options{Now: func() time.Time { return f.now }})
			if how == "Delete" {
				err := s.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID, IfMatch: []api.Version{}})
				require.ErrorIs(t, err, api.ErrStale)
				rows, err := countActivations(t.Context(), f.store, store.ActivationQuery{LicenseID: l.ID})
				is.NoErr(err)
				is.Equal(rows, n+1)
				is.NoErr(s.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
			} else {
				erased, err := s.EraseCustomer(t.Context(), l.CustomerID)
				is.NoErr(err)
				is.Equal(erased.Licenses, 1)
			}
			require.AtMost(t, bounded.removed, 200)
			left, err := countActivations(t.Context(), f.store, store.ActivationQuery{LicenseID: l.ID})
			is.NoErr(err)
			is.Equal(left, 0)
			deleted, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "license_deleted"})
			is.NoErr(err)
			is.Equal(len(deleted), 0)
		})
	}
}

// TestUpkeepRemovesActivationsOfDeletedLicenses that a deletion inside Atomically
// has left.
func TestUpkeepRemovesActivationsOfDeletedLicenses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var ids []string
	for range 2 {
		l := f.create(t)
		var rows []store.Activation
		for i := range 250 {
			rows = append(rows, store.Activation{LicenseID: l.ID, ID: store.NewID("act", start), Fingerprint: fmt.Sprint("pc-", i), Document: []byte("{}")})
		}
		is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return tx.PutActivations(t.Context(), rows...) }))
		ids = append(ids, l.ID)
	}
	left := func() (n int) {
		for _, id := range ids {
			rows, err := f.store.Activations(t.Context(), store.ActivationQuery{LicenseID: id})
			is.NoErr(err)
			n += len(rows)
		}
		return n
	}
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
		return errors.Join(s.Delete(t.Context(), api.DeleteLicenseParams{ID: ids[0]}), s.Delete(t.Context(), api.DeleteLicenseParams{ID: ids[1]}))
	}))
	is.Equal(left(), 300)
	for _, step := range inner.Of(f.Service).Background().Upkeep {
		for more := true; more; {
			var err error
			more, err = step(t.Context())
			is.NoErr(err)
		}
	}
	is.Equal(left(), 0)
	deleted, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "license_deleted"})
	is.NoErr(err)
	is.Equal(len(deleted), 0)
}
