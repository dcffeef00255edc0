package servicetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestAttemptsAreCountedAcrossProcesses: MaxAttempts is per event, whichever process
// makes the attempts and however often it starts again.
func TestAttemptsAreCountedAcrossProcesses(t *testing.T) {
	for name, work := range map[string]func(t *testing.T, open func() *licensing.Handler){
		"three processes": func(t *testing.T, open func() *licensing.Handler) {
			for range 3 {
				defer begin(t, open())()
			}
			time.Sleep(time.Hour)
		},
		"restarts": func(t *testing.T, open func() *licensing.Handler) {
			for range 30 {
				stop := begin(t, open())
				time.Sleep(5 * time.Second)
				stop()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				st := memory.New()
				var mu sync.Mutex
				calls := map[string]int{}
				open := func() *licensing.Handler {
					return licensing.NewHandler(st, subscribed(licensing.Subscriber{Name: "mailer", FromStart: true, MaxAttempts: 5, Handle: func(_ context.Context, e api.Event) error {
						mu.Lock()
						defer mu.Unlock()
						calls[e.Subject]++
						return errors.New("no mail server")
					}}))
				}
				h := open()
				happen(t, h, 3)
				work(t, open)
				letters, err := h.DeadLetters(t.Context(), "mailer")
				is.NoErr(err)
				is.Equal(len(letters), 3)
				for i, subject := range feed(t, h) {
					is.Equal(calls[subject], 5)
					is.Equal(letters[i].Failures, 5)
				}
			})
		})
	}
}

// A frozenStore answers nothing while it is frozen, as if its process were suspended.
type frozenStore struct {
	store.Store
	thaw atomic.Pointer[chan struct{}]
}

func (s *frozenStore) freeze(d time.Duration) {
	thaw := make(chan struct{})
	s.thaw.Store(&thaw)
	time.Sleep(d)
	s.thaw.Store(nil)
	close(thaw)
}

func (s *frozenStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if thaw := s.thaw.Load(); thaw != nil {
		<-*thaw
	}
	return s.Store.Update(ctx, fn)
}

// TestASuspendedProcessDoesNotContinueASubscriber: a process is suspended while it
// handles the first event, another process handles all, and then the first one wakes
// up.
func TestASuspendedProcessDoesNotContinueASubscriber(t *testing.T) {
	for name, failure := range map[string]error{"it has succeeded": nil, "it has failed": errors.New("too late")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				st := memory.New()
				frozen := &frozenStore{Store: st}
				var woken, all ledger
				opts := subscribed(licensing.Subscriber{Name: "ledger", FromStart: true, MaxAttempts: 1, Handle: func(ctx context.Context, e api.Event) error {
					_ = woken.handle(ctx, e)
					if len(woken.got()) == 1 {
						frozen.freeze(time.Minute)
					}
					time.Sleep(time.Second) // in which it extends its lease, if it may
					return failure
				}})
				suspended := licensing.NewHandler(frozen, opts)
				opts.Subscribers[0].Handle = all.handle
				other := licensing.NewHandler(st, opts)
				happen(t, other, 5)
				defer begin(t, suspended)()
				time.Sleep(2 * time.Second)
				defer begin(t, other)()
				time.Sleep(45 * time.Second)
				is.Equal(all.got(), feed(t, other))
				happen(t, other, 5)
				lag := int64(10)
				for range 180 { // the position never moves back
					time.Sleep(time.Second)
					now := other.Health(t.Context()).Subscribers[0].Events
					require.AtMost(t, now, lag)
					lag = now
				}
				is.Equal(lag, int64(0))
				is.Equal(woken.got(), feed(t, other)[:1])
				is.Equal(all.got(), feed(t, other))
				letters, err := other.DeadLetters(t.Context(), "")
				is.NoErr(err)
				is.Equal(len(letters), 0) // the other process has handled it
			})
		})
	}
}

// TestAFailingSubscriberKeepsItsEvents: retention does not drop a subscriber that has
// failed for longer than events are kept.
func TestAFailingSubscriberKeepsItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var broken atomic.Bool
		broken.Store(true)
		var l ledger
		l.refuse = func(int, string) error {
			if broken.Load() {
				return errors.New("not now")
			}
			return nil
		}
		opts := seldom(newPostOffice())
		opts.Events.Retention = 24 * time.Hour
		opts.Subscribers = []licensing.Subscriber{{Name: "ledger", FromStart: true, Handle: l.handle}}
		h := licensing.NewHandler(memory.New(), opts)
		happen(t, h, 3)
		defer begin(t, h)()
		time.Sleep(26 * time.Hour)
		happen(t, h, 1)
		all := feed(t, h)
		is.Equal(len(all), 4)
		broken.Store(false)
		time.Sleep(10 * time.Minute)
		is.Equal(l.got(), all)
	})
}
