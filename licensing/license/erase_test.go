package license_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A readEvents counts the events that Updates read.
type readEvents struct {
	store.Store
	n int
}

type readEventsTx struct {
	store.Tx
	read *readEvents
}

func (r *readEvents) Update(ctx context.Context, fn func(store.Tx) error) error {
	return r.Store.Update(ctx, func(tx store.Tx) error { return fn(readEventsTx{tx, r}) })
}

func (tx readEventsTx) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	events, err := tx.Tx.Events(ctx, q)
	tx.read.n += len(events)
	return events, err
}

// TestEraseOfALongHistory: each batch costs the same, however much has
// happened to a licence.
//
// Fault: the whole history is read again for every batch of it, and others
// wait for their turn to write.
func TestEraseOfALongHistory(t *testing.T) {
	is := is.New(t)
	st := &readEvents{Store: memory.New()}
	s := license.New(st, license.Options{})
	l, err := s.Create(t.Context(), plain())
	is.NoErr(err)
	for i := range 500 {
		_, err := s.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)})
		is.NoErr(err)
	}
	done, err := s.Erase(t.Context(), "cus_ada")
	is.NoErr(err)
	is.Equal(done.Events, 502)
	is.True(st.n <= 2*done.Events) // each, and the one behind it
}
