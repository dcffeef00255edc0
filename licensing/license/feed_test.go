package license_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// readFeed reads page after page, and returns the subjects, and how many calls
// it took.
func readFeed(t *testing.T, s *license.Service, p api.ListEventsParams) (subjects []string, calls int) {
	t.Helper()
	for {
		page, err := s.Events(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		calls++
		for _, e := range page.Data {
			subjects = append(subjects, e.Subject)
		}
		if p.After = page.NextCursor; !page.HasMore {
			return subjects, calls
		}
	}
}

func TestTheFeedIsInOrderAndResumable(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var ids []string
	for range 7 {
		ids = append(ids, f.create(t).ID)
	}
	got, calls := readFeed(t, f.Service, api.ListEventsParams{Limit: 3})
	is.Equal(got, ids)
	is.Equal(calls, 3)

	// At the end the cursor continues with later events.
	page, err := f.Events(t.Context(), api.ListEventsParams{Limit: 7})
	is.NoErr(err)
	is.Equal(page.HasMore, false)
	next := f.create(t).ID
	page, err = f.Events(t.Context(), api.ListEventsParams{After: page.NextCursor})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
	is.Equal(page.Data[0].Subject, next)
	is.Equal(page.Data[0].Object, "event")
	is.Equal(page.Data[0].Actor, "go")

	ids = append(ids, next)
	slices.Reverse(ids)
	got, _ = readFeed(t, f.Service, api.ListEventsParams{Limit: 3, NewestFirst: true})
	is.Equal(got, ids)
	got, _ = readFeed(t, f.Service, api.ListEventsParams{Subject: next})
	is.Equal(got, []string{next})
	page, err = newFixture(t).Events(t.Context(), api.ListEventsParams{})
	is.NoErr(err)
	is.True(page.NextCursor != "") // to begin at an empty feed
	is.Equal(page.Data, []api.Event{})
}

// TestAFilterLooksThroughABoundedPartOfTheFeed finds two events that lie far
// apart.
// TestTheEventsOfALicense reads the history of one license, as its page in the
// dashboard does.
func TestTheEventsOfALicense(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	f.create(t) // an event about another license
	for i := range 4 {
		name := fmt.Sprintf("Name %d", i)
		_, err := f.As(license.Caller{Actor: "client:cid_1", RequestID: "req_1"}).Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: &name})
		is.NoErr(err)
	}
	var types []string
	p := api.ListEventsParams{Subject: l.ID, NewestFirst: true, Limit: 2}
	for more := true; more; {
		page, err := f.Events(t.Context(), p)
		is.NoErr(err)
		for _, e := range page.Data {
			types = append(types, e.Type)
		}
		p.After, more = page.NextCursor, page.HasMore
		is.Equal(more, page.NextCursor != "")
	}
	is.Equal(types, []string{"license.updated", "license.updated", "license.updated", "license.updated", "license.created"}) // each once

	page, err := f.Events(t.Context(), api.ListEventsParams{Subject: l.ID, NewestFirst: true})
	is.NoErr(err)
	is.Equal(page.Data[0].Actor, "client:cid_1")
	is.Equal(page.Data[0].RequestID, "req_1")
	var data api.EventData
	is.NoErr(json.Unmarshal(page.Data[0].Data, &data))
	is.Equal(data.Changes["name"], api.FieldChange{From: "Name 2", To: "Name 3"})
	is.Equal(data.License.Key, "")

	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error { // includes uncommitted events
		l, err := s.Create(t.Context(), plain())
		is.NoErr(err)
		page, err := s.Events(t.Context(), api.ListEventsParams{Subject: l.ID, NewestFirst: true})
		is.Equal(len(page.Data), 1)
		return err
	}))
	page, err = f.As(license.Caller{Products: []string{"another"}}).Events(t.Context(), api.ListEventsParams{Subject: l.ID, NewestFirst: true})
	is.NoErr(err)
	is.Equal(len(page.Data), 0) // of a product that does not exist for the caller
}

func TestAFilterLooksThroughABoundedPartOfTheFeed(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		for i := range 5000 {
			e := store.Event{ID: fmt.Sprint(i), Type: "license.created", Subject: fmt.Sprint(i), Time: start, ProductID: "p"}
			if i == 100 || i == 4900 {
				e.Type, e.ProductID = "license.deleted", "q"
			}
			if err := tx.AppendEvents(t.Context(), e); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, test := range []struct {
		name     string
		products []string
		p        api.ListEventsParams
		calls    int
		examined int // by one call, at most
	}{
		{"by type", nil, api.ListEventsParams{Types: []string{"license.deleted"}}, 6, 1000},
		{"by product", []string{"q", "r"}, api.ListEventsParams{}, 1, 5},
		{"by product and type", []string{"q", "r"}, api.ListEventsParams{Types: []string{"license.deleted"}}, 1, 5},
		{"by type in a product", []string{"p", "q"}, api.ListEventsParams{Types: []string{"license.deleted"}}, 5, 1500},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			bounded := &boundedStore{Store: f.store}
			s := license.New(bounded, license.Options{Now: func() time.Time { return f.now }}).As(license.Caller{Products: test.products})
			got, calls := readFeed(t, s, test.p)
			is.Equal(got, []string{"100", "4900"})
			is.Equal(calls, test.calls)
			require.AtMost(t, bounded.events, test.calls*test.examined)
			test.p.NewestFirst, test.p.Limit = true, 1
			got, _ = readFeed(t, s, test.p)
			is.Equal(got, []string{"4900", "100"})
		})
	}
}

// TestTheFeedBeforeAnInstant: a list, newest first, of 50,000 events begins before an instant
// and reads few others, although clocks differ.
func TestTheFeedBeforeAnInstant(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	const all = 50_000
	types := []string{"license.created", "license.updated", "plan.created", "plan.updated"}
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		for i := range all {
			at := start.Add(time.Duration(i) * time.Minute)
			if i%10 == 0 {
				at = at.Add(50 * time.Minute) // of a process whose clock is ahead
			}
			e := store.Event{ID: fmt.Sprint(i), Type: types[i%4], Subject: fmt.Sprint(i), Time: at, CustomerID: fmt.Sprint("cus_", i%1000)}
			if err := tx.AppendEvents(t.Context(), e); err != nil {
				return err
			}
		}
		return nil
	}))
	bounded := &boundedStore{Store: f.store}
	s := license.New(bounded, license.Options{})
	before := start.Add(all / 2 * time.Minute)
	page, err := s.Events(t.Context(), api.ListEventsParams{NewestFirst: true, Before: before, Limit: 3})
	is.NoErr(err)
	is.Equal([]string{page.Data[0].Subject, page.Data[1].Subject, page.Data[2].Subject}, []string{"24999", "24998", "24997"})
	require.AtMost(t, bounded.events, 600)
	next, err := s.Events(t.Context(), api.ListEventsParams{NewestFirst: true, Before: before, Limit: 1, After: page.NextCursor})
	is.NoErr(err)
	is.Equal(next.Data[0].Subject, "24996")

	got, _ := readFeed(t, s, api.ListEventsParams{NewestFirst: true, Before: start.Add(2001 * time.Minute), CustomerID: "cus_1"})
	is.Equal(got, []string{"1001", "1"}) // 2001 is at that instant
	got, _ = readFeed(t, s, api.ListEventsParams{NewestFirst: true, Before: start.Add(9 * time.Minute), Types: []string{"plan.*", "license.updated"}})
	is.Equal(got, []string{"7", "6", "5", "3", "2", "1"})
	for _, at := range []time.Time{start, start.AddDate(-1, 0, 0)} {
		got, _ = readFeed(t, s, api.ListEventsParams{NewestFirst: true, Before: at})
		is.Equal(len(got), 0)
	}
}

// TestAPageOfOneProductReadsNoMore counts the events that a page without a filter
// on type reads.
func TestAPageOfOneProductReadsNoMore(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		for i := range 300 {
			e := store.Event{ID: fmt.Sprint(i), Type: "license.created", Subject: fmt.Sprint(i), ProductID: []string{"p", "q"}[i%2]}
			if err := tx.AppendEvents(t.Context(), e); err != nil {
				return err
			}
		}
		return nil
	}))
	bounded := &boundedStore{Store: f.store}
	s := license.New(bounded, license.Options{}).As(license.Caller{Products: []string{"p"}})
	page, err := s.Events(t.Context(), api.ListEventsParams{Limit: 10, NewestFirst: true})
	is.NoErr(err)
	is.Equal(len(page.Data), 10)
	is.True(page.HasMore)
	require.AtMost(t, bounded.events, 12)
	page, err = s.Events(t.Context(), api.ListEventsParams{Limit: 10, NewestFirst: true, After: page.NextCursor})
	is.NoErr(err)
	is.Equal(page.Data[0].Subject, "278")
}

// TestTheFeedOfSeveralProducts merges the events of products of which one has
// many more than the others.
func TestTheFeedOfSeveralProducts(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var want []string
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		want = nil
		for i := range 400 {
			e := store.Event{ID: fmt.Sprint(i), Type: "license.created", Subject: fmt.Sprint(i), ProductID: "often"}
			switch {
			case i%50 == 7:
				e.ProductID = "rare"
			case i%3 == 0:
				e.ProductID = "other"
			case i >= 390:
				e.ProductID = "late"
			}
			if e.ProductID != "other" {
				want = append(want, e.Subject)
			}
			if err := tx.AppendEvents(t.Context(), e); err != nil {
				return err
			}
		}
		return nil
	}))
	s := f.As(license.Caller{Products: []string{"rare", "often", "late", "none"}})
	for _, newest := range []bool{false, true} {
		for _, limit := range []int{1, 2, 7, 100} {
			got, _ := readFeed(t, s, api.ListEventsParams{Limit: limit, NewestFirst: newest})
			is.Equal(got, want)
			got, _ = readFeed(t, s, api.ListEventsParams{Limit: limit, NewestFirst: newest, Types: []string{"license.*"}})
			is.Equal(got, want)
		}
		slices.Reverse(want)
	}
	page, err := f.As(license.Caller{Products: []string{"rare"}}).Events(t.Context(), api.ListEventsParams{})
	is.NoErr(err)
	newest, err := f.Events(t.Context(), api.ListEventsParams{NewestFirst: true, Limit: 1})
	is.NoErr(err)
	is.Equal(newest.Data[0].Subject, "399")
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { // the cursor is not behind a purge of what it examined
		_, err := tx.DeleteEvents(t.Context(), 399, 399)
		return err
	}))
	_, err = f.As(license.Caller{Products: []string{"rare"}}).Events(t.Context(), api.ListEventsParams{After: page.NextCursor})
	is.NoErr(err)
	page, err = f.As(license.Caller{Products: []string{}}).Events(t.Context(), api.ListEventsParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
}

func TestTheFeedRefuses(t *testing.T) {
	f := newFixture(t)
	f.create(t)
	page, err := f.Events(t.Context(), api.ListEventsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for field, p := range map[string]api.ListEventsParams{
		"after":  {After: page.NextCursor + "A"},
		"type":   {Types: []string{"license.*", "license"}},
		"before": {Before: start},
		"limit":  {Limit: 201},
	} {
		t.Run(field, func(t *testing.T) {
			is := is.New(t)
			_, err := f.Events(t.Context(), p)
			invalid, ok := errors.AsType[*api.InvalidError](err)
			is.True(ok)
			is.Equal(invalid.Fields[0].Field, field)
		})
	}
}

// TestACursorBehindThePurgeMarkIsGone: a cursor is good for as long as all
// events after it are kept, and no longer.
func TestACursorBehindThePurgeMarkIsGone(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.Events.Retention = 48 * time.Hour })
	read := func(p api.ListEventsParams) api.Page[api.Event] {
		page, err := f.Events(t.Context(), p)
		is.NoErr(err)
		return page
	}
	empty := read(api.ListEventsParams{}).NextCursor
	first := f.create(t).ID
	f.create(t)
	f.create(t)
	early, end := read(api.ListEventsParams{Limit: 1}).NextCursor, read(api.ListEventsParams{}).NextCursor
	f.now = f.now.Add(49 * time.Hour)
	f.purgeEvents(t)

	for name, cursor := range map[string]string{"of the empty feed": empty, "before events that are gone": early} {
		_, err := f.Events(t.Context(), api.ListEventsParams{After: cursor})
		if !errors.Is(err, api.ErrCursorGone) {
			t.Errorf("a cursor %s: %v", name, err)
		}
	}
	is.Equal(len(read(api.ListEventsParams{After: end}).Data), 0) // nothing after it is gone
	again := read(api.ListEventsParams{}).NextCursor              // of a feed with one event left
	next := f.create(t).ID
	is.Equal(read(api.ListEventsParams{After: end}).Data[0].Subject, next)
	is.Equal(read(api.ListEventsParams{After: again}).Data[0].Subject, next)
	is.Equal(read(api.ListEventsParams{After: end, NewestFirst: true}).Data, []api.Event{})

	// A filter that finds nothing moves its cursor along.
	filters := []api.ListEventsParams{{Subject: first}, {CustomerID: "cus_none"}}
	for i, p := range filters {
		filters[i].After = read(p).NextCursor
	}
	f.now = f.now.Add(49 * time.Hour)
	f.purgeEvents(t)
	for _, p := range filters {
		is.Equal(len(read(p).Data), 0)
	}
}

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
	page, err := f.Events(t.Context(), api.ListEventsParams{})
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
	after, err := s.Events(t.Context(), api.ListEventsParams{After: page.NextCursor})
	is.NoErr(err)
	is.Equal(len(after.Data), 1)
	is.Equal(after.Data[0].Subject, l.ID)
}
