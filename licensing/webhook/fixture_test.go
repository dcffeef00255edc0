package webhook

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

const day = 24 * time.Hour

// start is when every test begins.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A fixture is a Service over a memory store, with a clock that stands still
// until it is moved.
type fixture struct {
	*Service
	rules *license.Service
	store store.Store
	now   time.Time
}

// newFixture makes one whose store runs every Update twice, so that each test
// also shows that nothing is kept of an attempt that did not count.
func newFixture(t *testing.T, edits ...func(*license.Options, *Options)) *fixture {
	t.Helper()
	f := &fixture{store: storetest.Twice(memory.New()), now: start}
	rules, opts := license.Options{Now: func() time.Time { return f.now }}, Options{}
	for _, edit := range edits {
		edit(&rules, &opts)
	}
	f.rules = license.New(f.store, rules)
	f.Service = open(f.rules, opts)
	return f
}

// open returns a Service that limits no creator of a webhook.
func open(rules *license.Service, opts Options) *Service {
	s := new(Service)
	inner.Of(s).Init(rules, nil, opts)
	return s
}

// webhook creates one.
func (f *fixture) webhook(t *testing.T, types ...string) (api.Webhook, string) {
	t.Helper()
	w, secret, err := f.Create(t.Context(), api.CreateWebhookParams{URL: "https://x.example/in", Types: types})
	if err != nil {
		t.Fatal(err)
	}
	return w, secret
}

// signStored signs with the stored secrets of a webhook.
func (s *Service) signStored(ctx context.Context, id, messageID string, at time.Time, body []byte) (string, error) {
	rec, err := s.findWebhook(ctx, s.store(), id)
	if err != nil {
		return "", err
	}
	return s.sign(rec, messageID, at, body)
}

// license creates one.
func (f *fixture) license(t *testing.T) {
	t.Helper()
	if _, err := f.rules.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"}); err != nil {
		t.Fatal(err)
	}
}

// purgeAll removes everything that is past its retention, and returns how many
// events are left.
func (f *fixture) purgeAll(t *testing.T) int {
	t.Helper()
	retention := feed.Retention{Store: f.store, Now: func() time.Time { return f.now }, Keep: f.rules.Options().Events.Retention, Needs: []feed.Needs{f.needs}}
	for more := true; more; {
		first, err := f.purge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		second, err := retention.Purge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		more = first || second
	}
	events, err := f.store.Events(t.Context(), store.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return len(events)
}

// position moves every stored cursor.
func (f *fixture) position(t *testing.T, seq int64) {
	t.Helper()
	err := f.update(t.Context(), func(tx *transaction) error {
		cursors, err := readCursors(t.Context(), tx)
		for id, cursor := range cursors {
			if cursor.Position = seq; err == nil {
				err = putCursor(t.Context(), tx, id, cursor)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
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
func (f *fixture) lastEvent(t *testing.T) (e store.Event, data api.EventData) {
	t.Helper()
	events, err := f.store.Events(t.Context(), store.EventQuery{Descending: true, Limit: 1})
	if err != nil || len(events) == 0 {
		t.Fatal("no event", err)
	}
	if err := json.Unmarshal(events[0].Data, &data); err != nil {
		t.Fatal(err)
	}
	return events[0], data
}

func ptr[T any](v T) *T { return &v }

// reportOn records the result of a delivery attempt to a webhook.
func (s *Service) reportOn(ctx context.Context, id string, got result) (w api.Webhook, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		rec, err := s.findWebhook(ctx, tx, id)
		if err == nil {
			w, err = s.report(ctx, tx, rec, got)
		}
		return err
	})
	return w, err
}
