package license_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// start is when every test begins.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A fixture is a Service over a memory store, with a clock that stands still
// until it is moved.
type fixture struct {
	*license.Service
	store store.Store
	now   time.Time
}

// newFixture makes one whose store runs every Update twice, so that each test
// also shows that nothing is kept of an attempt that did not count.
func newFixture(t *testing.T, opts ...func(*license.Options)) *fixture {
	t.Helper()
	f := &fixture{store: storetest.Twice(memory.New()), now: start}
	o := license.Options{Now: func() time.Time { return f.now }}
	for _, opt := range opts {
		opt(&o)
	}
	f.Service = license.New(f.store, o)
	return f
}

// plain are the three fields that every license has.
func plain() api.CreateLicenseParams {
	return api.CreateLicenseParams{Name: "Ada's license", ProductID: "prod_editor", CustomerID: "cus_ada"}
}

// create adds a license with the plain fields, changed by edits.
func (f *fixture) create(t *testing.T, edits ...func(*api.CreateLicenseParams)) api.License {
	t.Helper()
	p := plain()
	for _, edit := range edits {
		edit(&p)
	}
	l, err := f.Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// events returns the types of the events about a subject, the oldest first.
func (f *fixture) events(t *testing.T, subject string) []string {
	t.Helper()
	events, err := f.store.Events(t.Context(), store.EventQuery{Subject: subject})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

// lastEvent returns the newest event and its data.
func (f *fixture) lastEvent(t *testing.T) (store.Event, api.EventData) {
	t.Helper()
	events, err := f.store.Events(t.Context(), store.EventQuery{Descending: true, Limit: 1})
	if err != nil || len(events) == 0 {
		t.Fatal("no event", err)
	}
	return events[0], eventData(t, events[0])
}

// eventData returns what an event tells.
func eventData(t *testing.T, e store.Event) (data api.EventData) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// tallies returns the number of licenses by "state", "product" or "customer".
func (f *fixture) tallies(t *testing.T, by string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	if by == "state" {
		for _, state := range []store.State{store.StateActive, store.StateSuspended, store.StateRevoked} {
			n, err := f.store.CountLicenses(t.Context(), store.LicenseQuery{State: state})
			if err != nil {
				t.Fatal(err)
			}
			if n[0] > 0 {
				out[string(state)] = n[0]
			}
		}
		return out
	}
	names := map[string]store.NameOrder{"product": store.ByProduct, "customer": store.ByCustomer}
	list, err := f.store.LicenseNames(t.Context(), store.NamesQuery{By: names[by]})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		out[x.Name] = x.Count
	}
	return out
}

func ptr[T any](v T) *T { return &v }

// TestDefaults covers what a Service does with no options at all.
func TestDefaults(t *testing.T) {
	is := is.New(t)
	s := license.New(memory.New(), license.Options{})
	before := time.Now().UTC().Truncate(time.Millisecond)
	l, err := s.Create(context.Background(), plain())
	is.NoErr(err)
	is.True(!l.CreatedAt.Before(before)) // the clock is time.Now
	is.Equal(l.CreatedAt, l.CreatedAt.UTC().Truncate(time.Millisecond))
}

func TestNewRefusesNoStore(t *testing.T) {
	is := is.New(t)
	defer func() { is.True(recover() != nil) }()
	license.New(nil, license.Options{})
}
