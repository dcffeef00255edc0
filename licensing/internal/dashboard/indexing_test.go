package dashboard_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A frozenStore refuses the writes of the indexes while it is frozen.
type frozenStore struct {
	store.Store
	frozen atomic.Bool
}

type frozenTx struct {
	store.Tx
	s *frozenStore
}

func (s *frozenStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(frozenTx{tx, s}) })
}

func (tx frozenTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		if e.Kind == "catalog" && tx.s.frozen.Load() {
			return store.ErrUnavailable
		}
	}
	return tx.Tx.PutEntries(ctx, entries...)
}

// TestIndexingNote: a page whose index lags behind shows what it has, and says
// so.
func TestIndexingNote(t *testing.T) {
	is := is.New(t)
	st := &frozenStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	const note = `<p class="note warn" role="status">The index cannot be updated`
	pages := map[string]string{"": "1 license by status", "customers": "harbour-pilots", "products": "atlas", "licenses?q=har": "harbour-pilots"}
	st.frozen.Store(true)
	s.license(license.CreateParams{Name: "Atlas"})
	for path := range pages {
		a := v.get(path)
		is.True(a.says(note))
		is.True(strings.HasPrefix(path, "licenses") || !a.says("No licenses yet") && !a.says("yet</h2>")) // it cannot know
	}
	st.frozen.Store(false)
	for path, text := range pages {
		a := v.get(path)
		is.True(a.says(text) && !a.says(note))
	}
	st.frozen.Store(true)
	s.license(license.CreateParams{Name: "Atlas"})
	for path, text := range pages {
		a := v.get(path)
		is.True(a.says(text) && a.says(note)) // as last indexed
	}
	is.True(s.log.String() != "")
}
