package webhook

import (
	"context"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// TestAWebhookGetsWhatCameAfterIt: of events that processes with different
// clocks have appended, it receives the ones after its creation.
//
// Fault: what is appended right after it, by a clock that is behind, is lost.
func TestAWebhookGetsWhatCameAfterIt(t *testing.T) {
	is := is.New(t)
	st := storetest.Twice(memory.New())
	at := func(clock time.Time) *license.Service {
		return license.New(st, license.Options{Now: func() time.Time { return clock }})
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	behind, here, ahead := at(noon.Add(-time.Minute)), at(noon), at(noon.Add(time.Minute))
	webhook := func(s *license.Service) string {
		w, _, err := New(s, nil, Options{}).Create(t.Context(), CreateParams{URL: "https://x.example/"})
		is.NoErr(err)
		return w.ID
	}
	create := func(s *license.Service) {
		_, err := s.Create(t.Context(), license.CreateParams{Name: "n", ProductID: "p", CustomerID: "c"})
		is.NoErr(err)
	}
	webhook(behind)
	create(ahead) // 2
	id := webhook(here)
	create(behind) // 4
	create(ahead)  // 5

	r := newTestRun(t, here)
	_, err := r.handOn()
	is.NoErr(err)
	deliveries, err := outbox.Newest(t.Context(), st, id, "", store.MaxLimit)
	is.NoErr(err)
	seqs := map[int64]int{}
	for _, d := range deliveries {
		seqs[d.EventSeq]++
	}
	is.Equal(seqs, map[int64]int{4: 1, 5: 1})
}

// newTestRun returns a run without tasks.
func newTestRun(t *testing.T, rules *license.Service) *run {
	return New(rules, nil, Options{}).newRun(&feed.Run{Work: t.Context(), PollInterval: time.Second})
}

// A callStore notes the most calls that one Update makes.
type callStore struct {
	store.Store
	most int
}

type callTx struct {
	store.Tx
	n int
}

func (s *callStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error {
		c := &callTx{Tx: tx}
		defer func() { s.most = max(s.most, c.n) }()
		return fn(c)
	})
}

func (tx *callTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	tx.n += len(entries)
	return tx.Tx.PutEntries(ctx, entries...)
}

func (tx *callTx) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	tx.n++
	return tx.Tx.Events(ctx, q)
}

// TestHandOnToManyWebhooksTakesSmallUpdates: what one Update does is bounded,
// and what was read about a webhook is not read again.
func TestHandOnToManyWebhooksTakesSmallUpdates(t *testing.T) {
	is := is.New(t)
	st := &callStore{Store: memory.New()}
	licenses := license.New(st, license.Options{})
	const webhooks, events = 50, 20
	for range webhooks {
		_, _, err := New(licenses, nil, Options{}).Create(t.Context(), CreateParams{URL: "https://x.example/"})
		is.NoErr(err)
	}
	r := newTestRun(t, licenses)
	handOnAll := func() {
		for more := true; more; {
			wait, err := r.handOn()
			is.NoErr(err)
			more = wait == feed.In(0)
		}
	}
	handOnAll()
	for range events {
		_, err := licenses.Create(t.Context(), license.CreateParams{Name: "n", ProductID: "p", CustomerID: "c"})
		is.NoErr(err)
	}
	st.most = 0
	handOnAll()
	is.True(st.most <= 102) // deliveries, the cursor, and the read of the events
	all, err := r.List(t.Context())
	is.NoErr(err)
	created := 0
	for _, w := range all {
		deliveries, err := outbox.Newest(t.Context(), st, w.ID, "", store.MaxLimit)
		is.NoErr(err)
		for _, d := range deliveries {
			if d.EventType == license.EventLicenseCreated {
				created++
			}
		}
	}
	is.Equal(created, webhooks*events)
}
