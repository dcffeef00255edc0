package webhook

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A pointStore counts the calls of a process that sends, and calls at after each.
type pointStore struct {
	store.Store
	calls atomic.Int64
	at    func(call int64)
}

func (s *pointStore) point() {
	if n := s.calls.Add(1); s.at != nil {
		s.at(n)
	}
}

func (s *pointStore) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	defer s.point()
	return s.Store.Events(ctx, q)
}

func (s *pointStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	defer s.point()
	return s.Store.Entry(ctx, kind, key)
}

func (s *pointStore) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	defer s.point()
	return s.Store.Entries(ctx, q)
}

func (s *pointStore) View(ctx context.Context, fn func(store.Reader) error) error {
	defer s.point()
	return s.Store.View(ctx, fn)
}

func (s *pointStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	defer s.point()
	return s.Store.Update(ctx, fn)
}

// A targetState is what a webhook is doing while one more event happens.
type targetState struct {
	waiting bool                      // events wait since it was paused
	events  int                       // happen when it runs
	answer  func(request int64) int   // by the receiver; nil: 204
	takes   func(int64) time.Duration // by a request; nil: no time
	lasts   time.Duration
	within  time.Duration // the event arrives
}

var targetStates = map[string]targetState{
	"up to date":  {events: 1, lasts: time.Second, within: time.Second},
	"catching up": {waiting: true, lasts: time.Second, within: time.Second},
	"retrying": {
		events: 1, lasts: 10 * time.Second, within: time.Second,
		answer: func(request int64) int {
			if request == 1 {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		},
	},
	"slow": {events: 2, takes: func(int64) time.Duration { return 3 * time.Second }, lasts: 10 * time.Second, within: 8 * time.Second},
	"held back by its breaker": {
		events: breakAfter, lasts: 30 * time.Second, within: 13 * time.Second,
		answer: func(request int64) int {
			if request <= breakAfter {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		},
	},
}

// run lets an event happen after a call to the store, or in place of that after a
// request, and checks that it arrives. It returns false if there were fewer calls.
func (s targetState) run(t *testing.T, after int64) bool {
	var happened, over atomic.Bool
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		points := &pointStore{Store: memory.New()}
		here, elsewhere := newBench(points, 0), newBench(points.Store, 0)
		here.poll = time.Hour // nothing but its bells wakes it
		var requests atomic.Int64
		if s.answer != nil {
			here.answer = func(string) int { return s.answer(requests.Add(1)) }
		}
		here.delay = func(string) time.Duration {
			defer points.point()
			if s.takes == nil {
				return 0
			}
			return s.takes(requests.Load())
		}
		w := elsewhere.hook(t, "x.example", api.EventLicenseCreated)
		var want []string
		if s.waiting {
			_, err := elsewhere.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookPaused)})
			is.NoErr(err)
			want = elsewhere.licenses(t, 70)
			_, err = elsewhere.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookActive)})
			is.NoErr(err)
		}
		arrived := make(chan bool, 1)
		points.at = func(call int64) {
			if call != after || over.Load() {
				return
			}
			happened.Store(true)
			id := elsewhere.licenses(t, 1)[0]
			want = append(want, id)
			here.nudge()
			time.AfterFunc(s.within, func() { arrived <- each(here.at("x.example"))[id] > 0 })
		}
		stop := here.run(t)
		if !s.waiting {
			synctest.Wait()
			want = append(want, elsewhere.licenses(t, s.events)...)
			here.nudge()
		}
		time.Sleep(s.lasts + s.within)
		over.Store(true)
		if happened.Load() && !<-arrived {
			t.Errorf("an event after call %d did not arrive within %s", after, s.within)
		}
		stop()
		sameOnce(t, here.taken["x.example"], want)
	})
	return happened.Load()
}

// TestEventsAtAnyPoint: an event that happens between any two steps of the
// process that sends, such as after a webhook's last read and before it is done, is
// sent as soon as the webhook can take it.
func TestEventsAtAnyPoint(t *testing.T) {
	for name, state := range targetStates {
		t.Run(name, func(t *testing.T) {
			after := int64(1)
			for state.run(t, after) && !t.Failed() {
				after++
			}
			if after < 10 {
				t.Errorf("only %d calls", after)
			}
		})
	}
}

// TestTargetsThatWaitCostLittle: while no webhook can be sent anything, the process
// looks for work seldom.
func TestTargetsThatWaitCostLittle(t *testing.T) {
	for name, wait := range map[string]func(t *testing.T, b *bench, w api.Webhook){
		"paused by an operator": func(t *testing.T, b *bench, w api.Webhook) {
			_, err := b.Test(t.Context(), w.ID)
			is.New(t).NoErr(err)
			_, err = b.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookPaused)})
			is.New(t).NoErr(err)
		},
		"paused by its breaker": func(_ *testing.T, b *bench, _ api.Webhook) {
			b.answer = func(string) int { return http.StatusInternalServerError }
		},
		"hanging": func(_ *testing.T, b *bench, _ api.Webhook) {
			b.delay = func(string) time.Duration { return 14 * time.Second }
		},
		"sent by another process": func(t *testing.T, b *bench, _ api.Webhook) {
			is.New(t).NoErr(b.store.Update(t.Context(), func(tx store.Tx) error {
				return tx.PutEntries(t.Context(), store.Entry{Kind: "lease", Key: "webhook", Data: []byte("another"), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)})
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				points := &pointStore{Store: memory.New()}
				b := newBench(points, 0)
				for i := range 10 {
					wait(t, b, b.hook(t, fmt.Sprintf("%d.example", i), api.EventLicenseCreated))
				}
				b.licenses(t, 1000)
				const most = 1000 // a minute, of 10 webhooks
				points.at = func(call int64) {
					if call > 20*most {
						panic("a busy loop, which stops the clock of the test")
					}
				}
				defer b.run(t)()
				time.Sleep(5 * time.Minute) // until the first attempts are made
				for range 5 {
					points.calls.Store(0)
					time.Sleep(time.Minute)
					if calls := points.calls.Load(); calls > most {
						t.Errorf("%d calls in a minute", calls)
					}
				}
			})
		})
	}
}
