package license_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// purgeEvents removes all events that are past Options.Events.Retention.
func (f *fixture) purgeEvents(t *testing.T) {
	t.Helper()
	retention := feed.Retention{Store: f.store, Now: func() time.Time { return f.now }, Keep: f.Options().Events.Retention}
	for more := true; more; {
		var err error
		if more, err = retention.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheNewestEventIsKept: a feed that moves to another store continues after
// the cursors that move with it.
func TestTheNewestEventIsKept(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.Events.Retention = 48 * time.Hour })
	f.create(t)
	newest := f.create(t).ID
	page, err := f.Events(t.Context(), license.EventsParams{})
	is.NoErr(err)
	f.now = f.now.Add(49 * time.Hour)
	f.purgeEvents(t)
	events, err := f.store.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(events), 1)
	is.Equal(events[0].Subject, newest)

	var archive bytes.Buffer
	moved := memory.New()
	is.NoErr(f.store.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &archive) }))
	is.NoErr(store.Import(t.Context(), moved, &archive))
	s := license.New(moved, license.Options{Now: func() time.Time { return f.now }})
	l, err := s.Create(t.Context(), plain())
	is.NoErr(err)
	after, err := s.Events(t.Context(), license.EventsParams{After: page.NextCursor})
	is.NoErr(err)
	is.Equal(len(after.Data), 1)
	is.Equal(after.Data[0].Subject, l.ID)
}
