package license_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// readFeed reads page after page, and returns the subjects, and how many calls
// it took.
func readFeed(t *testing.T, s *license.Service, p license.EventsParams) (subjects []string, calls int) {
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
	got, calls := readFeed(t, f.Service, license.EventsParams{Limit: 3})
	is.Equal(got, ids)
	is.Equal(calls, 3)

	// At the end the cursor continues with later events.
	page, err := f.Events(t.Context(), license.EventsParams{Limit: 7})
	is.NoErr(err)
	is.Equal(page.HasMore, false)
	next := f.create(t).ID
	page, err = f.Events(t.Context(), license.EventsParams{After: page.NextCursor})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
	is.Equal(page.Data[0].Subject, next)
	is.Equal(page.Data[0].Object, "event")
	is.Equal(page.Data[0].Actor, "go")

	ids = append(ids, next)
	slices.Reverse(ids)
	got, _ = readFeed(t, f.Service, license.EventsParams{Limit: 3, NewestFirst: true})
	is.Equal(got, ids)
	got, _ = readFeed(t, f.Service, license.EventsParams{Subject: next})
	is.Equal(got, []string{next})
	page, err = newFixture(t).Events(t.Context(), license.EventsParams{})
	is.NoErr(err)
	is.True(page.NextCursor != "") // to begin at an empty feed
	is.Equal(page.Data, []license.Event{})
}

// TestAFilterLooksThroughABoundedPartOfTheFeed finds two events that lie far
// apart.
func TestAFilterLooksThroughABoundedPartOfTheFeed(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		for i := range 5000 {
			e := store.Event{ID: fmt.Sprint(i), Type: "license.created", Subject: fmt.Sprint(i), Time: start, ProductID: "p"}
			if i == 100 || i == 4900 {
				e.Type, e.ProductID = "license.deleted", "q"
			}
			if _, err := tx.AppendEvents(t.Context(), e); err != nil {
				return err
			}
		}
		return nil
	}))
	for name, s := range map[string]*license.Service{
		"by type":    f.Service,
		"by product": f.As(license.Caller{Products: []string{"q", "r"}}),
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			p := license.EventsParams{}
			if name == "by type" {
				p.Type = "license.deleted"
			}
			got, calls := readFeed(t, s, p)
			is.Equal(got, []string{"100", "4900"})
			is.Equal(calls, 3)
			p.NewestFirst, p.Limit = true, 1
			got, _ = readFeed(t, s, p)
			is.Equal(got, []string{"4900", "100"})
		})
	}
}

func TestTheFeedRefuses(t *testing.T) {
	f := newFixture(t)
	f.create(t)
	page, err := f.Events(t.Context(), license.EventsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for field, p := range map[string]license.EventsParams{
		"after": {After: page.NextCursor + "A"},
		"type":  {Type: "license"},
		"limit": {Limit: 201},
	} {
		t.Run(field, func(t *testing.T) {
			is := is.New(t)
			_, err := f.Events(t.Context(), p)
			invalid, ok := errors.AsType[*license.InvalidError](err)
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
	read := func(p license.EventsParams) license.Page[license.Event] {
		page, err := f.Events(t.Context(), p)
		is.NoErr(err)
		return page
	}
	empty := read(license.EventsParams{}).NextCursor
	first := f.create(t).ID
	f.create(t)
	f.create(t)
	early, end := read(license.EventsParams{Limit: 1}).NextCursor, read(license.EventsParams{}).NextCursor
	f.now = f.now.Add(49 * time.Hour)
	f.purgeEvents(t)

	for name, cursor := range map[string]string{"of the empty feed": empty, "before events that are gone": early} {
		_, err := f.Events(t.Context(), license.EventsParams{After: cursor})
		if !errors.Is(err, license.ErrCursorGone) {
			t.Errorf("a cursor %s: %v", name, err)
		}
	}
	is.Equal(len(read(license.EventsParams{After: end}).Data), 0) // nothing after it is gone
	again := read(license.EventsParams{}).NextCursor              // of a feed with one event left
	next := f.create(t).ID
	is.Equal(read(license.EventsParams{After: end}).Data[0].Subject, next)
	is.Equal(read(license.EventsParams{After: again}).Data[0].Subject, next)
	is.Equal(read(license.EventsParams{After: end, NewestFirst: true}).Data, []license.Event{})

	// A filter that finds nothing moves its cursor along.
	filtered := read(license.EventsParams{Subject: first}).NextCursor
	f.now = f.now.Add(49 * time.Hour)
	f.purgeEvents(t)
	is.Equal(len(read(license.EventsParams{Subject: first, After: filtered}).Data), 0)
}
