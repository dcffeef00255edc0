package webhook

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// appendAt appends an event about a subject with a Seq, which may leave a gap.
func (b *bench) appendAt(t *testing.T, seq int64, subject, eventType string) {
	t.Helper()
	e := store.Event{Seq: seq, ID: store.NewID("evt", b.now()), Type: eventType, Time: b.now(), Subject: subject}
	err := b.store.Update(t.Context(), func(tx store.Tx) error {
		return tx.AppendEvents(t.Context(), e)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWindowsWithGaps: Seqs that no event has, within a window, at its edges and longer
// than it, are neither lost nor skipped events.
func TestWindowsWithGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(memory.New(), 0)
		w := b.hook(t, "x.example", api.EventLicenseCreated)
		other := b.hook(t, "other.example", api.EventLicenseDeleted)
		var want []string
		seq := int64(10)
		for i, gap := range []int64{1, 5, windowSize - 6, 1, windowSize, windowSize + 1, 3 * windowSize, 1, 2} {
			seq += gap
			id := store.NewID("lic", b.now())
			b.appendAt(t, seq, id, api.EventLicenseCreated)
			want = append(want, id)
			if i == 4 {
				for range windowSize {
					seq++
					b.appendAt(t, seq, "none", api.EventLicenseRevoked)
				}
			}
		}
		defer b.run(t)()
		time.Sleep(2 * time.Minute)
		sameOnce(t, b.at("x.example"), want)
		is.Equal(b.cursorOf(t, w.ID).Position, seq)
		is.Equal(b.cursorOf(t, other.ID).Position, seq)
		w, err := b.Get(t.Context(), w.ID)
		is.NoErr(err)
		is.Equal(w.SkippedEvents, int64(0))
	})
}

// TestPurgeDuringAWindow removes events between the reads of a process that sends:
// each event is sent or counted.
func TestPurgeDuringAWindow(t *testing.T) {
	again := true
	for after := int64(1); again && !t.Failed(); after++ {
		var happened, over atomic.Bool
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			points := &pointStore{Store: memory.New()}
			b, elsewhere := newBench(points, 0), newBench(points.Store, 0)
			w := elsewhere.hook(t, "x.example", api.EventLicenseCreated)
			_, err := elsewhere.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookPaused)})
			is.NoErr(err)
			old := elsewhere.licenses(t, 150)
			time.Sleep(49 * time.Hour)
			_, err = elsewhere.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookActive)})
			is.NoErr(err)
			points.at = func(call int64) {
				if call == after && !over.Load() {
					happened.Store(true)
					more, err := feed.Retention{Store: points.Store, Now: inner.Of(b.rules).Call().Now, Keep: 48 * time.Hour}.Purge(t.Context())
					is.NoErr(err)
					is.True(more)
				}
			}
			stop := b.run(t)
			time.Sleep(time.Minute)
			over.Store(true)
			want := elsewhere.licenses(t, 1)
			time.Sleep(time.Minute)
			stop()
			got := each(b.at("x.example"))
			is.Equal(got[want[0]], 1)
			w, err = b.Get(t.Context(), w.ID)
			is.NoErr(err)
			for _, id := range old[100:] {
				is.Equal(got[id], 1)
			}
			if int64(len(got))+w.SkippedEvents < 151 {
				t.Errorf("after call %d: %d events came, %d were skipped", after, len(got), w.SkippedEvents)
			}
		})
		again = happened.Load()
	}
}

// An unknowingStore commits an Update, and returns that it does not know, once.
type unknowingStore struct {
	store.Store
	lose atomic.Bool
}

func (s *unknowingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	err := s.Store.Update(ctx, fn)
	if err == nil && s.lose.CompareAndSwap(true, false) {
		return store.ErrUnknownOutcome
	}
	return err
}

// TestAnOutcomeIsStoredOnce: an Update that was committed although the store could not
// say so is run again, and nothing counts twice.
func TestAnOutcomeIsStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &unknowingStore{Store: memory.New()}
		b := newBench(st, 0)
		w := b.hook(t, "x.example", api.EventLicenseCreated)
		status := http.StatusInternalServerError
		b.answer = func(string) int {
			st.lose.Store(true) // the next Update stores the outcome
			return status
		}
		defer b.run(t)()
		time.Sleep(time.Minute)
		ids := b.licenses(t, 1)
		for attempts := 1; attempts < 4; attempts++ {
			time.Sleep(map[int]time.Duration{1: 4 * time.Second, 2: 4 * time.Second, 3: 6 * time.Minute}[attempts])
			page, err := b.Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID})
			is.NoErr(err)
			is.Equal(len(page.Data), 1)
			is.Equal(len(page.Data[0].Attempts), attempts)
			is.Equal(b.cursorOf(t, w.ID).Failures, attempts)
		}
		b.mu.Lock()
		status = http.StatusGone
		b.mu.Unlock()
		time.Sleep(time.Hour)
		is.Equal(each(b.at("x.example"))[ids[0]], 4)
		events, err := b.store.Events(t.Context(), store.EventQuery{Subject: w.ID})
		is.NoErr(err)
		is.Equal(len(events), 2) // created and disabled
	})
}

// TestPassedPositionsAreStored: a webhook that selects nothing of what happens is
// stored as past it well before it would count as waiting. Its types may change, and
// it may be paused and resumed, at any time.
func TestPassedPositionsAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(memory.New(), 0)
		w := b.hook(t, "x.example", api.EventLicenseDeleted)
		defer b.run(t)()
		time.Sleep(time.Minute)
		ids := b.licenses(t, 1)
		for range 10 {
			time.Sleep(5 * time.Second)
			ids = append(ids, b.licenses(t, 1)...)
			waiting, _, err := b.lag(t.Context(), b.store)
			is.NoErr(err)
			is.True(!waiting)
		}
		time.Sleep(45 * time.Second)
		waiting, _, err := b.lag(t.Context(), b.store)
		is.NoErr(err)
		is.True(!waiting)

		// Events before a change of the types stay as they are, and later ones count.
		var want []string
		change := func(p api.UpdateWebhookParams) {
			p.ID = w.ID
			_, err := b.Update(t.Context(), p)
			is.NoErr(err)
		}
		for i := range 30 {
			_ = b.licenses(t, 1)
			time.Sleep(time.Duration(i) * time.Second)
			change(api.UpdateWebhookParams{Types: &[]string{api.EventLicenseCreated}})
			want = append(want, b.licenses(t, 2)...)
			if i%3 == 0 {
				change(api.UpdateWebhookParams{Status: ptr(api.WebhookPaused)})
				want = append(want, b.licenses(t, 1)...)
				change(api.UpdateWebhookParams{Status: ptr(api.WebhookActive)})
			}
			time.Sleep(3 * time.Second)
			change(api.UpdateWebhookParams{Types: &[]string{api.EventLicenseDeleted}})
			time.Sleep(3 * time.Second)
			if i%5 == 0 {
				change(api.UpdateWebhookParams{Status: ptr(api.WebhookPaused)})
				_ = b.licenses(t, 1)
				time.Sleep(time.Duration(i) * time.Second)
				change(api.UpdateWebhookParams{Status: ptr(api.WebhookActive), ResumeFrom: api.ResumeFromNow})
			}
		}
		time.Sleep(time.Minute)
		got := each(b.at("x.example"))
		for _, id := range want {
			is.Equal(got[id], 1)
		}
		is.Equal(got[ids[0]], 0)
	})
}

// A positionStore checks after each Update that no webhook's position has decreased.
type positionStore struct {
	store.Store
	t    *testing.T
	mu   sync.Mutex
	last map[string]int64 // by webhook
}

func (s *positionStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Store.Update(ctx, fn)
	s.t.Helper()
	viewErr := s.View(ctx, func(r store.Reader) error {
		all, err := readAll(ctx, r)
		for _, rec := range all {
			cursor, err := readCursor(ctx, r, rec.ID)
			if err != nil {
				return err
			}
			if cursor.Position < s.last[rec.ID] {
				s.t.Errorf("the position of %s went from %d to %d", rec.URL, s.last[rec.ID], cursor.Position)
			}
			s.last[rec.ID] = cursor.Position
		}
		return err
	})
	if viewErr != nil && ctx.Err() == nil {
		s.t.Error(viewErr)
	}
	return err
}

// TestPositionsNeverDecrease: two processes take turns in sending, by stopping and by
// losing the lease while requests are under way, to receivers that are quick, slow,
// failing or paused.
func TestPositionsNeverDecrease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &positionStore{Store: memory.New(), t: t, last: make(map[string]int64)}
		processes := []*bench{newBench(st, 0), newBench(st, 0)}
		a, b := processes[0], processes[1]
		var requests atomic.Int64
		var well atomic.Bool
		a.answer = func(host string) int {
			if host == "flaky.example" && requests.Add(1)%3 == 0 && !well.Load() {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		}
		var slow atomic.Int64
		a.delay = func(host string) time.Duration {
			if host == "slow.example" && slow.Add(1)%5 == 0 {
				return 10 * time.Second // while the other process moves on
			}
			return 300 * time.Millisecond
		}
		b.Service = open(b.rules, Options{Transport: a.receivers})
		var hooks []api.Webhook
		for _, host := range []string{"quick.example", "slow.example", "flaky.example", "seldom.example"} {
			hooks = append(hooks, a.hook(t, host, api.EventLicenseCreated))
		}
		_, err := a.Update(t.Context(), api.UpdateWebhookParams{ID: hooks[3].ID, Types: &[]string{api.EventLicenseDeleted}})
		is.NoErr(err)
		var want []string
		for round := range 20 {
			on, other := processes[round%2], processes[(round+1)%2]
			stop := on.run(t)
			want = append(want, other.licenses(t, 7)...)
			time.Sleep(1500 * time.Millisecond)
			if round%3 == 0 { // its lease is lost
				is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
					return tx.PutEntries(t.Context(), store.Entry{Kind: "lease", Key: "webhook", Data: fmt.Append(nil, round), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Second)})
				}))
			}
			for i, status := range []api.WebhookStatus{api.WebhookPaused, api.WebhookActive} {
				if round%4 == 3 {
					_, err := other.Update(t.Context(), api.UpdateWebhookParams{ID: hooks[0].ID, Status: ptr(status)})
					is.NoErr(err)
					want = append(want, other.licenses(t, 1-i)...)
				}
			}
			stop2 := other.run(t)
			time.Sleep(5 * time.Second)
			stop()
			stop2()
		}
		well.Store(true)
		defer a.run(t)()
		time.Sleep(time.Hour)
		for _, host := range []string{"quick.example", "slow.example", "flaky.example"} {
			got := each(a.taken[host])
			for i, id := range want {
				if got[id] == 0 {
					t.Errorf("%s did not receive event %d of %d", host, i, len(want))
				}
			}
		}
		is.Equal(len(a.at("seldom.example")), 0)
		require.AtLeast(t, st.last[hooks[3].ID], int64(len(want)))
	})
}
