package license_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
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
			if _, err := tx.AppendEvent(t.Context(), e); err != nil {
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

func TestTypesOfEvents(t *testing.T) {
	is := is.New(t)
	is.True(license.MatchTypes(nil, "license.created"))
	is.True(license.MatchTypes([]string{"license.*"}, "license.created"))
	is.True(!license.MatchTypes([]string{"license.*"}, "licenses.created"))
	is.True(!license.MatchTypes([]string{"*"}, "license.created"))
	is.True(!license.MatchTypes([]string{"lic*"}, "license.created"))
	is.True(!license.MatchTypes([]string{"client.*", "license.updated"}, "license.created"))
	is.True(license.IsTypePattern("operator.*"))
	is.True(!license.IsTypePattern(""))
}

func TestEventsAreKeptForAsLongAsTheyAreNeeded(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.Events.Retention = 48 * time.Hour })
	w, _, err := f.CreateWebhook(t.Context(), license.CreateWebhookParams{URL: "https://x.example/"})
	is.NoErr(err)
	for range 3 {
		f.create(t)
	}
	purge := func() int {
		for {
			more, err := f.PurgeHistory(t.Context())
			is.NoErr(err)
			if !more {
				all, _ := readFeed(t, f.Service, license.EventsParams{})
				return len(all)
			}
		}
	}
	cursor := func(key string, seq int64, touched time.Time) {
		is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
			return tx.PutEntries(t.Context(), store.Entry{Kind: store.KindCursor, Key: key, Data: fmt.Append(nil, seq), CreatedAt: touched})
		}))
	}
	is.Equal(purge(), 4) // too young
	f.now = f.now.Add(49 * time.Hour)
	f.create(t)
	is.Equal(purge(), 4) // the webhook has not got the licenses
	cursor(license.WebhookCursor, 5, f.now)
	cursor(license.SubscriberCursor+"slow", 2, f.now)
	is.Equal(purge(), 3) // the subscriber has come as far as the second
	cursor(license.SubscriberCursor+"slow", 2, f.now.Add(-49*time.Hour))
	d, err := f.TestWebhook(t.Context(), w.ID)
	is.NoErr(err)
	is.Equal(purge(), 2) // no process runs it any more; the license and the test are young
	f.now = f.now.Add(49 * time.Hour)
	is.Equal(purge(), 1) // the test has not been handed on
	cursor(license.WebhookCursor, 6, f.now)
	is.Equal(purge(), 1) // the test is under way
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		rec, err := outbox.Get(t.Context(), tx, d.WebhookID, d.ID)
		is.NoErr(err)
		rec.State, rec.DueAt = string(license.DeliverySucceeded), time.Time{}
		return outbox.Put(t.Context(), tx, rec)
	}))
	f.create(t)
	is.Equal(purge(), 1) // the newest event
	f.now = f.now.Add(31 * 24 * time.Hour)
	purge()
	page, err := f.Deliveries(t.Context(), license.DeliveriesParams{WebhookID: w.ID})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
}

// TestAWebhookThatGetsNothingDoesNotHoldRetention: the events that wait for it
// are removed, and its history says that they were skipped.
func TestAWebhookThatGetsNothingDoesNotHoldRetention(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f *fixture, id string) error
		after  time.Duration
		kept   bool
	}{
		"paused": {func(f *fixture, id string) error {
			_, err := f.UpdateWebhook(t.Context(), license.UpdateWebhookParams{ID: id, Status: ptr(license.WebhookPaused)})
			return err
		}, 49 * time.Hour, false},
		"disabled": {func(f *fixture, id string) error {
			_, err := f.ReportWebhook(t.Context(), id, license.WebhookGone)
			return err
		}, 49 * time.Hour, false},
		"active":           {func(*fixture, string) error { return nil }, 4 * day, true},
		"active, too long": {func(*fixture, string) error { return nil }, 6 * day, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t, func(o *license.Options) { o.Events.Retention = 48 * time.Hour })
			w, _ := f.webhook(t)
			for range 5 {
				_, err := f.TestWebhook(t.Context(), w.ID)
				is.NoErr(err)
			}
			is.NoErr(test.change(f, w.ID))
			is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
				return tx.PutEntries(t.Context(), store.Entry{Kind: store.KindCursor, Key: license.WebhookCursor, Data: []byte("100"), CreatedAt: f.now})
			}))
			f.now = f.now.Add(test.after)
			f.create(t) // the newest event stays in any case
			for more := true; more; {
				var err error
				more, err = f.PurgeHistory(t.Context())
				is.NoErr(err)
			}
			events, err := f.store.Events(t.Context(), store.EventQuery{})
			is.NoErr(err)
			is.Equal(len(events) > 1, test.kept)
			failed, err := f.Deliveries(t.Context(), license.DeliveriesParams{WebhookID: w.ID, Status: license.DeliveryFailed})
			is.NoErr(err)
			if name == "paused" || name == "disabled" {
				is.Equal(len(failed.Data), 5)
				is.Equal(failed.Data[0].Attempts[0].Error, "skipped: the event is no longer kept")
			}
		})
	}
}

// Fault: a time before 1970 has no id, and the one it is given sorts behind
// all others.
func TestDeliveriesAreKeptForEverIfTheRetentionIsThatLong(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.Webhooks.DeliveryRetention = math.MaxInt64 })
	w, _ := f.webhook(t)
	d, err := f.TestWebhook(t.Context(), w.ID)
	is.NoErr(err)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		rec, err := outbox.Get(t.Context(), tx, d.WebhookID, d.ID)
		is.NoErr(err)
		rec.State, rec.DueAt = string(license.DeliverySucceeded), time.Time{}
		return outbox.Put(t.Context(), tx, rec)
	}))
	_, err = f.PurgeHistory(t.Context())
	is.NoErr(err)
	page, err := f.Deliveries(t.Context(), license.DeliveriesParams{WebhookID: w.ID})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
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
	purge := func() {
		for more := true; more; {
			var err error
			more, err = f.PurgeHistory(t.Context())
			is.NoErr(err)
		}
	}
	empty := read(license.EventsParams{}).NextCursor
	first := f.create(t).ID
	f.create(t)
	f.create(t)
	early, end := read(license.EventsParams{Limit: 1}).NextCursor, read(license.EventsParams{}).NextCursor
	f.now = f.now.Add(49 * time.Hour)
	purge()

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
	purge()
	is.Equal(len(read(license.EventsParams{Subject: first, After: filtered}).Data), 0)
}
