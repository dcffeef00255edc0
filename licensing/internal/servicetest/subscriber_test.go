package servicetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// A ledger is a subscriber that keeps what it gets.
type ledger struct {
	mu      sync.Mutex
	names   []string
	refuse  func(n int, name string) error // n: how often it was called
	calls   int
	running int
}

func (l *ledger) handle(_ context.Context, e api.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.running++; l.running > 1 {
		return errors.New("two at a time")
	}
	defer func() { l.running-- }()
	if l.refuse != nil {
		if err := l.refuse(l.calls, e.Subject); err != nil {
			return err
		}
	}
	l.names = append(l.names, e.Subject)
	return nil
}

func (l *ledger) got() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.names)
}

func subscribed(subs ...licensing.Subscriber) licensing.Options {
	opts := postedBy(newPostOffice())
	opts.Subscribers = subs
	return opts
}

// feed returns the subjects of the feed, oldest first.
func feed(t *testing.T, h *licensing.Handler) (subjects []string) {
	t.Helper()
	p := api.ListEventsParams{Limit: 200}
	for {
		page, err := h.Service().Events(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Data {
			subjects = append(subjects, e.Subject)
		}
		if p.After = page.NextCursor; !page.HasMore {
			return subjects
		}
	}
}

func TestASubscriberGetsTheFeedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l, all ledger
		st := storetest.Twice(memory.New())
		opts := subscribed(
			licensing.Subscriber{Name: "ledger", Types: []string{"license.*"}, Handle: l.handle},
			licensing.Subscriber{Name: "everything", FromStart: true, Handle: all.handle},
		)
		a, b := licensing.NewHandler(st, opts), licensing.NewHandler(st, opts)
		happen(t, a, 3) // before anybody listens
		stopA, stopB := begin(t, a), begin(t, b)
		time.Sleep(5 * time.Second)
		happen(t, a, 250)
		time.Sleep(10 * time.Second)
		stopA()
		happen(t, a, 5)
		stopB()
		happen(t, a, 5) // while nothing runs
		defer begin(t, licensing.NewHandler(st, opts))()
		time.Sleep(10 * time.Second)

		subjects := feed(t, a)
		is.Equal(l.got(), subjects[3:])
		is.Equal(all.got(), subjects)
	})
}

func TestARefusedEventComesAgainBeforeTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l, other ledger
		l.refuse = func(n int, _ string) error {
			switch {
			case n == 3:
				panic("not today")
			case n < 6:
				return errors.New("not now")
			}
			return nil
		}
		h := licensing.NewHandler(memory.New(), subscribed(
			licensing.Subscriber{Name: "refuses", FromStart: true, Handle: l.handle},
			licensing.Subscriber{Name: "takes", FromStart: true, Handle: other.handle},
		))
		happen(t, h, 10)
		defer begin(t, h)()
		time.Sleep(3 * time.Second)
		is.Equal(len(l.got()), 0)
		is.Equal(other.got(), feed(t, h)) // is not held up
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		is.Equal(l.got(), feed(t, h))
		is.Equal(l.calls, 15)
	})
}

// TestASubscriberMayEndItsGoroutine: runtime.Goexit is a failure of the event, and
// nothing else.
func TestASubscriberMayEndItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l ledger
		l.refuse = func(n int, _ string) error {
			if n == 2 || n == 3 {
				runtime.Goexit()
			}
			return nil
		}
		var seen []error
		opts := subscribed(licensing.Subscriber{Name: "ledger", FromStart: true, Handle: l.handle})
		opts.Observe = func(_ context.Context, o licensing.Observation) {
			if o.Kind == licensing.ObservationSubscriber {
				seen = append(seen, o.Err)
			}
		}
		h := licensing.NewHandler(memory.New(), opts)
		happen(t, h, 3)
		stop := begin(t, h)
		time.Sleep(10 * time.Second)
		stop()
		is.Equal(l.got(), feed(t, h))
		is.Equal(len(seen), 5)
		require.Contains(t, fmt.Sprint(seen[1]), "ended its goroutine")
	})
}

func TestASubscriberThatKeepsFailingIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var log strings.Builder
		var broken atomic.Bool
		broken.Store(true)
		opts := subscribed(licensing.Subscriber{Name: "mailer", FromStart: true, Handle: func(context.Context, api.Event) error {
			if broken.Load() {
				return api.ErrNotFound
			}
			return nil
		}})
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h := licensing.NewHandler(memory.New(), opts)
		happen(t, h, 2)
		defer begin(t, h)()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		is.True(hasProblem(t, h, licensing.HealthSubscriber))
		state := h.Health(t.Context()).Subscribers[0]
		is.Equal(state.Name, "mailer")
		is.True(state.LastError != "")
		require.Contains(t, log.String(), "level=ERROR")
		broken.Store(false)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		is.True(!hasProblem(t, h, licensing.HealthSubscriber))
	})
}

// TestASubscriberGivesUpOnAnEvent: an event that always fails does not stop later
// ones, and can be retried.
func TestASubscriberGivesUpOnAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var log strings.Builder
		var broken atomic.Bool
		broken.Store(true)
		var mu sync.Mutex
		calls := map[string]int{}
		var bad string
		opts := subscribed(licensing.Subscriber{Name: "mailer", FromStart: true, MaxAttempts: 7, Handle: func(_ context.Context, e api.Event) error {
			mu.Lock()
			defer mu.Unlock()
			calls[e.Subject]++
			if e.Subject == bad && broken.Load() {
				return api.ErrNotFound
			}
			return nil
		}})
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h := licensing.NewHandler(storetest.Twice(memory.New()), opts)
		happen(t, h, 5)
		all := feed(t, h)
		bad = all[1]
		stop := begin(t, h)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for _, subject := range all {
			want := 1
			if subject == bad {
				want = 7
			}
			is.Equal(calls[subject], want)
		}
		require.Contains(t, log.String(), "gave up")
		is.True(!hasProblem(t, h, licensing.HealthSubscriber) && !hasProblem(t, h, licensing.HealthOverdue))
		letters, err := h.DeadLetters(t.Context(), "mailer")
		is.NoErr(err)
		is.Equal(len(letters), 1)
		is.Equal(letters[0].Failures, 7)
		other, err := h.DeadLetters(t.Context(), "mail")
		is.NoErr(err)
		is.Equal(len(other), 0)

		is.NoErr(h.RetryDeadLetter(t.Context(), letters[0])) // still broken
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		is.Equal(calls[bad], 8) // once
		broken.Store(false)
		stop()
		defer begin(t, h)() // also after a restart
		is.NoErr(h.RetryDeadLetter(t.Context(), letters[0]))
		time.Sleep(time.Minute)
		synctest.Wait()
		is.Equal(calls[bad], 9)
		require.ErrorIs(t, h.RetryDeadLetter(t.Context(), letters[0]), api.ErrNotFound)
	})
}

// TestASubscriberContinuesInAnotherProcess cuts a process off from its
// store within a call that does not end.
func TestASubscriberContinuesInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l ledger
		st := memory.New()
		cut := &brokenStore{Store: st}
		dying := licensing.NewHandler(cut, subscribed(licensing.Subscriber{
			Name: "ledger", FromStart: true,
			Handle: func(ctx context.Context, e api.Event) error {
				cut.fail(func(context.Context) error { return errors.New("gone") })
				<-ctx.Done()
				return ctx.Err()
			},
		}))
		next := licensing.NewHandler(st, subscribed(licensing.Subscriber{Name: "ledger", FromStart: true, Handle: l.handle}))
		happen(t, next, 3)
		stop := begin(t, dying)
		defer stop()
		time.Sleep(2 * time.Second)
		defer begin(t, next)()
		time.Sleep(5 * time.Second)
		is.Equal(len(l.got()), 0) // the lease of the other still holds
		time.Sleep(time.Minute)
		synctest.Wait()
		is.Equal(l.got(), feed(t, next))
	})
}

func TestASubscriberMayFinishWhenRunIsToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		finished := false
		h := licensing.NewHandler(memory.New(), subscribed(
			licensing.Subscriber{Name: "slow", FromStart: true, Handle: func(ctx context.Context, _ api.Event) error {
				time.Sleep(10 * time.Second)
				finished = ctx.Err() == nil
				return nil
			}},
			licensing.Subscriber{Name: "endless", FromStart: true, Handle: func(ctx context.Context, _ api.Event) error {
				<-ctx.Done()
				return ctx.Err()
			}},
		))
		happen(t, h, 1)
		stop := begin(t, h)
		time.Sleep(5 * time.Second)
		began := time.Now()
		stop()
		is.True(finished)
		require.AtLeast(t, time.Since(began), 10*time.Second)
		require.AtMost(t, time.Since(began), 21*time.Second)
	})
}

func TestOptionsAboutEventsAreChecked(t *testing.T) {
	take := func(context.Context, api.Event) error { return nil }
	for want, opts := range map[string]licensing.Options{
		"Options.Subscribers[0].Name ":        {Subscribers: []licensing.Subscriber{{Handle: take}}},
		"Options.Subscribers[1].Name ":        {Subscribers: []licensing.Subscriber{{Name: "a", Handle: take}, {Name: "a", Handle: take}}},
		"Options.Subscribers[0].Handle ":      {Subscribers: []licensing.Subscriber{{Name: "a"}}},
		"Options.Subscribers[0].MaxAttempts ": {Subscribers: []licensing.Subscriber{{Name: "a", Handle: take, MaxAttempts: -1}}},
		"Options.Subscribers[0].Types ":       {Subscribers: []licensing.Subscriber{{Name: "a", Handle: take, Types: []string{"license.made"}}}},
		"Options.Webhooks.Ports ":             {Webhooks: webhook.Options{Ports: []int{443, 0}}},
		"Options.MasterKey ":                  {MasterKey: make([]byte, 31)},
		"Options.Events.ExpiryNotices ":       {Events: license.EventOptions{ExpiryNotices: []time.Duration{0}}},
		"Options.Events.Retention ":           {Events: license.EventOptions{Retention: time.Hour}},
		"Options.Webhooks.DeliveryRetention ": {Webhooks: webhook.Options{DeliveryRetention: time.Minute}},
		"Options.PollInterval ":               {PollInterval: time.Millisecond},
	} {
		t.Run(want, func(t *testing.T) {
			is := is.New(t)
			err := opts.Validate()
			var invalid *api.InvalidError
			require.ErrorAs(t, err, &invalid)
			is.Equal(invalid.Fields[0].Field+" ", want)
			require.Greater(t, len(invalid.Fields[0].Detail), 0)
		})
	}
}
