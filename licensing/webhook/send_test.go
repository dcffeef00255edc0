package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
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
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// receivers is a transport that notes which events came to which host.
type receivers struct {
	mu     sync.Mutex
	got    map[string][]string // subjects by host
	taken  map[string][]string // those of requests that succeeded
	answer func(host string) int
	delay  func(host string) time.Duration
	lost   func() bool // of requests whose sender was killed
}

// RoundTrip implements [http.RoundTripper].
func (r *receivers) RoundTrip(req *http.Request) (*http.Response, error) {
	var e api.Event
	if err := json.NewDecoder(req.Body).Decode(&e); err != nil {
		return nil, err
	}
	if r.delay != nil {
		time.Sleep(r.delay(req.URL.Host))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil && r.lost() {
		return nil, io.ErrUnexpectedEOF
	}
	if r.got == nil {
		r.got, r.taken = make(map[string][]string), make(map[string][]string)
	}
	r.got[req.URL.Host] = append(r.got[req.URL.Host], e.Subject)
	code := http.StatusNoContent
	if r.answer != nil {
		code = r.answer(req.URL.Host)
	}
	if code < 300 {
		r.taken[req.URL.Host] = append(r.taken[req.URL.Host], e.Subject)
	}
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(http.NoBody)}, nil
}

// at returns what came to a host.
func (r *receivers) at(host string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got[host]...)
}

// A bench is a Service with receivers in a synctest bubble.
type bench struct {
	*Service
	*receivers
	rules *license.Service
	store store.Store
	keep  time.Duration // retention of events
	poll  time.Duration
	nudge func() // wakes what run does
}

func newBench(st store.Store, ahead time.Duration) *bench {
	b := &bench{store: st, receivers: &receivers{}}
	b.rules = license.New(st, license.Options{Now: func() time.Time { return time.Now().Add(ahead) }, Logger: slog.New(slog.DiscardHandler)})
	b.Service = open(b.rules, Options{Transport: b.receivers})
	return b
}

// run does the background work until stop is called.
func (b *bench) run(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	engine := feed.New(feed.Config{
		Store: b.store, Now: inner.Of(b.rules).Call().Now, Logger: slog.New(slog.DiscardHandler), Retention: b.keep, PollInterval: b.poll,
		Background: []feed.Background{inner.Of(b.Service).Background()},
	})
	b.nudge = engine.Nudge
	go func() {
		defer close(done)
		_ = engine.Run(ctx)
	}()
	return sync.OnceFunc(func() { cancel(); <-done })
}

func (b *bench) hook(t *testing.T, host string, types ...string) api.Webhook {
	t.Helper()
	w, _, err := b.Create(t.Context(), api.CreateWebhookParams{URL: "https://" + host + "/", Types: types})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// licenses creates n licenses and returns their IDs.
func (b *bench) licenses(t *testing.T, n int) (ids []string) {
	t.Helper()
	for range n {
		l, err := b.rules.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, l.ID)
	}
	return ids
}

// cursorOf returns the stored cursor of a webhook.
func (b *bench) cursorOf(t *testing.T, id string) hookCursor {
	t.Helper()
	e, err := b.store.Entry(t.Context(), cursorKind, id)
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := readCursorEntry(e)
	if err != nil {
		t.Fatal(err)
	}
	return cursor
}

// each counts how often each subject came.
func each(subjects []string) map[string]int {
	n := make(map[string]int)
	for _, s := range subjects {
		n[s]++
	}
	return n
}

func sameOnce(t *testing.T, got, want []string) {
	t.Helper()
	counts := each(got)
	for _, id := range want {
		if counts[id] != 1 {
			t.Errorf("%s came %d times, want once", id, counts[id])
		}
	}
	if len(counts) != len(want) {
		t.Errorf("%d events came, want %d", len(counts), len(want))
	}
}

// TestAWebhookGetsWhatCameAfterIt: of events that processes with different
// clocks have appended, it receives the ones after its creation.
func TestAWebhookGetsWhatCameAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := storetest.Twice(memory.New())
		behind, here, ahead := newBench(st, -time.Minute), newBench(st, 0), newBench(st, time.Minute)
		behind.hook(t, "first.example")
		ahead.licenses(t, 1)
		here.hook(t, "x.example", api.EventLicenseCreated)
		want := append(behind.licenses(t, 1), ahead.licenses(t, 1)...)
		defer here.run(t)()
		time.Sleep(time.Minute)
		sameOnce(t, here.at("x.example"), want)
	})
}

// An eventReads counts the reads of the feed that return events, and the
// Updates.
type eventReads struct {
	store.Store
	n, updates atomic.Int64
}

func (r *eventReads) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	events, err := r.Store.Events(ctx, q)
	if len(events) > 0 && !q.Descending {
		r.n.Add(1)
	}
	return events, err
}

func (r *eventReads) Update(ctx context.Context, fn func(store.Tx) error) error {
	r.updates.Add(1)
	return r.Store.Update(ctx, fn)
}

// TestWebhooksShareOneRead: the cost of an event in reads of the feed and
// in Updates does not grow with the number of webhooks.
func TestWebhooksShareOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &eventReads{Store: memory.New()}
		b := newBench(st, 0)
		const webhooks = 50
		for i := range webhooks {
			b.hook(t, fmt.Sprintf("%d.example", i), api.EventLicenseCreated)
		}
		defer b.run(t)()
		time.Sleep(time.Minute)
		st.n.Store(0)
		st.updates.Store(0)
		ids := b.licenses(t, 1)
		time.Sleep(time.Minute)
		for i := range webhooks {
			is.Equal(b.at(fmt.Sprintf("%d.example", i)), ids)
		}
		require.AtMost(t, st.n.Load(), 2)       // a look, and the batch
		require.AtMost(t, st.updates.Load(), 3) // the license, the lease and the outcome
	})
}

// TestEventsForManyWebhooksComeInSteps: of more deliveries than an Update stores, none
// is lost.
func TestEventsForManyWebhooksComeInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(memory.New(), 0)
		const webhooks, events = 90, 60
		for i := range webhooks {
			b.hook(t, fmt.Sprintf("%d.example", i), api.EventLicenseCreated)
		}
		want := b.licenses(t, events)
		defer b.run(t)()
		time.Sleep(time.Minute)
		for i := range webhooks {
			sameOnce(t, b.at(fmt.Sprintf("%d.example", i)), want)
		}
	})
}

// TestAFailingWebhookDelaysNoOther: its position stands while the breaker is open, and
// those of others move on.
func TestAFailingWebhookDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(storetest.Twice(memory.New()), 0)
		dead := b.hook(t, "dead.example", api.EventLicenseCreated)
		b.hook(t, "alive.example", api.EventLicenseCreated)
		down := true
		b.answer = func(host string) int {
			if down && host == "dead.example" {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		}
		defer b.run(t)()
		want := b.licenses(t, 100)
		time.Sleep(time.Minute)
		sameOnce(t, b.at("alive.example"), want)
		queued, err := outbox.Pending(t.Context(), b.store, dead.ID, outbox.Delivery{}, 100)
		is.NoErr(err)
		require.AtLeast(t, len(queued), 5)
		require.Less(t, len(queued), 20) // attempted; the others wait in the feed
		pending, err := b.Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: dead.ID, Status: api.DeliveryPending, Limit: 200})
		is.NoErr(err)
		is.Equal(len(pending.Data), len(queued))
		backlog, err := internals{b.Service}.Backlog(t.Context(), dead.ID)
		is.NoErr(err)
		is.Equal(backlog.Events, 100)

		b.mu.Lock()
		down = false
		b.mu.Unlock()
		time.Sleep(time.Hour)
		is.Equal(len(each(b.at("dead.example"))), 100)
		cursor := b.cursorOf(t, dead.ID)
		is.Equal(cursor.Failures, 0)
		is.True(cursor.Due.IsZero())
		want = b.licenses(t, 1)
		time.Sleep(5 * time.Second)
		is.Equal(each(b.at("dead.example"))[want[0]], 1)
	})
}

// TestAnEventAfterTheBreakerOpened is sent when it closes, also if the breaker opened
// with the last event before it.
func TestAnEventAfterTheBreakerOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(storetest.Twice(memory.New()), 0)
		w := b.hook(t, "x.example", api.EventLicenseCreated)
		var down atomic.Bool
		down.Store(true)
		b.answer = func(string) int {
			if down.Load() {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		}
		want := b.licenses(t, breakAfter)
		defer b.run(t)()
		time.Sleep(2 * time.Second)
		require.Greater(t, b.cursorOf(t, w.ID).closesIn(time.Now()), 0)
		want = append(want, b.licenses(t, 1)...)
		time.Sleep(2 * time.Second)
		is.Equal(len(b.at("x.example")), breakAfter)
		down.Store(false)
		time.Sleep(time.Hour)
		sameOnce(t, b.taken["x.example"], want)
	})
}

// TestASlowWebhookDelaysNoOther: it gets its events later, and none of them twice.
func TestASlowWebhookDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(storetest.Twice(memory.New()), 0)
		b.hook(t, "slow.example", api.EventLicenseCreated)
		b.hook(t, "quick.example", api.EventLicenseCreated)
		b.delay = func(host string) time.Duration {
			if host == "slow.example" {
				return 3 * time.Second
			}
			return 0
		}
		defer b.run(t)()
		var want []string
		for range 10 {
			want = append(want, b.licenses(t, 10)...)
			time.Sleep(2 * time.Second)
		}
		sameOnce(t, b.at("quick.example"), want)
		time.Sleep(5 * time.Minute)
		sameOnce(t, b.at("slow.example"), want)
	})
}

// TestASlowReceiverOnTheRealClock is for the race detector, on the real clock:
// the bubble of synctest orders what is concurrent here.
func TestASlowReceiverOnTheRealClock(t *testing.T) {
	b := newBench(memory.New(), 0)
	b.hook(t, "slow.example", api.EventLicenseCreated)
	b.delay = func(string) time.Duration { return 20 * time.Millisecond }
	want := b.licenses(t, 40)
	stop := b.run(t)
	for deadline := time.Now().Add(20 * time.Second); len(b.at("slow.example")) < len(want) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	sameOnce(t, b.at("slow.example"), want)
}
