package servicetest

import (
	"context"
	"errors"
	"fmt"
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

// putLetters stores dead letters of a subscriber, the first events first.
func putLetters(t *testing.T, st store.Store, subscriber string, n int, at time.Time) {
	t.Helper()
	var entries []store.Entry
	for seq := range n {
		entries = append(entries, store.Entry{
			Kind: "dead_letter", Key: fmt.Sprintf("%s/%019d", subscriber, seq+1), ExpiresAt: at, CreatedAt: at,
			Data: fmt.Appendf(nil, `{"subscriber":%q,"event_id":"evt_%d","event_type":"license.created","seq":%d,"failures":3}`, subscriber, seq+1, seq+1),
		})
	}
	is.New(t).NoErr(st.Update(t.Context(), func(tx store.Tx) error { return tx.PutEntries(t.Context(), entries...) }))
}

// TestDeadLettersAreListedBySubscriber: the letters of a subscriber whose name begins
// with that of another and a slash are stored among those.
func TestDeadLettersAreListedBySubscriber(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	h := licensing.NewHandler(st, licensing.Options{Logger: discard})
	want := map[string]int{"a": 3, "a/b": 1100, "a/0": 1100, "a/0/1": 2, "a0": 1, "b": 1}
	for name, n := range want {
		putLetters(t, st, name, n, time.Now())
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			return tx.PutEntries(t.Context(), store.Entry{Kind: "subscriber_cursor", Key: "subscriber:" + name, Data: []byte(`{"seq":0}`), CreatedAt: time.Now()})
		}))
	}
	all := map[string]int{}
	for name, n := range want {
		letters, err := h.DeadLetters(t.Context(), name)
		is.NoErr(err)
		is.Equal(len(letters), min(n, 1000))
		for i, d := range letters {
			is.Equal(d.Subscriber, name)
			is.Equal(d.Seq, int64(i+1))
		}
		all[name] = len(letters)
	}
	letters, err := h.DeadLetters(t.Context(), "")
	is.NoErr(err)
	for _, d := range letters {
		all[d.Subscriber]--
	}
	for _, left := range all {
		is.Equal(left, 0)
	}
	named := map[string]int{}
	for _, p := range h.Health(t.Context()).Problems {
		if p.Code == licensing.HealthDeadLetters {
			named[p.Subject]++
		}
	}
	is.Equal(named, map[string]int{"a": 1, "a/b": 1, "a/0": 1, "a/0/1": 1, "a0": 1, "b": 1})
}

// TestOldDeadLettersArePurged: they are kept for 30 days.
func TestOldDeadLettersArePurged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		h := licensing.NewHandler(st, seldom(newPostOffice()))
		now := time.Now()
		putLetters(t, st, "old", 1050, now.Add(-31*24*time.Hour))
		putLetters(t, st, "retried", 1, now.Add(-31*24*time.Hour))
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			return tx.AppendEvents(t.Context(), store.Event{ID: "evt_1", Type: api.EventLicenseCreated, Time: now})
		}))
		putLetters(t, st, "young", 1050, now.Add(-29*24*time.Hour))
		is.NoErr(h.RetryDeadLetter(t.Context(), licensing.DeadLetter{Subscriber: "retried", Seq: 1}))
		left := func() map[string]int {
			stop := begin(t, h)
			time.Sleep(time.Hour)
			stop()
			n := map[string]int{}
			for _, name := range []string{"old", "retried", "young"} {
				letters, err := h.DeadLetters(t.Context(), name)
				is.NoErr(err)
				n[name] = len(letters)
			}
			return n
		}
		is.Equal(left(), map[string]int{"old": 0, "retried": 1, "young": 1000})
		time.Sleep(48 * time.Hour)
		is.Equal(left(), map[string]int{"old": 0, "retried": 1, "young": 0})
		time.Sleep(30 * 24 * time.Hour)
		is.Equal(left()["retried"], 0)
	})
}

// TestTheEventOfADeadLetterIsKept: retention keeps it as long as the letter, so that it
// can be handled again.
func TestTheEventOfADeadLetterIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var broken atomic.Bool
		var l ledger
		opts := seldom(newPostOffice())
		opts.Events.Retention = 48 * time.Hour
		opts.Subscribers = []licensing.Subscriber{{Name: "mailer", FromStart: true, MaxAttempts: 1, Handle: func(ctx context.Context, e api.Event) error {
			if broken.Load() {
				return errors.New("no mail server")
			}
			return l.handle(ctx, e)
		}}}
		h := licensing.NewHandler(memory.New(), opts)
		stop := begin(t, h)
		defer func() { stop() }()
		pass := func(days int) { // with Run in their last hour
			stop()
			time.Sleep(time.Duration(days)*24*time.Hour - time.Hour)
			stop = begin(t, h)
			time.Sleep(time.Hour)
		}
		happen(t, h, 3)
		time.Sleep(time.Hour)
		broken.Store(true)
		happen(t, h, 2)
		time.Sleep(time.Hour)
		broken.Store(false)
		happen(t, h, 1)
		pass(20)
		letters, err := h.DeadLetters(t.Context(), "mailer")
		is.NoErr(err)
		is.Equal(len(letters), 2)
		kept := feed(t, h)
		is.Equal(len(kept), 3) // nothing keeps those before the letters
		is.NoErr(h.RetryDeadLetter(t.Context(), letters[0]))
		time.Sleep(time.Hour)
		is.Equal(len(l.got()), 5)
		is.Equal(l.got()[4], kept[0])
		is.Equal(len(feed(t, h)), 2)
		happen(t, h, 1)
		pass(11) // the other letter is 31 days old
		is.Equal(len(feed(t, h)), 1)
		require.ErrorIs(t, h.RetryDeadLetter(t.Context(), letters[1]), api.ErrNotFound)
	})
}

// TestARetryWithoutItsEventKeepsTheLetter: the event is lost before the retry is
// requested, or between that and the retry.
func TestARetryWithoutItsEventKeepsTheLetter(t *testing.T) {
	for name, requested := range map[string]bool{"before the request": false, "after the request": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				st := memory.New()
				h := licensing.NewHandler(st, subscribed(licensing.Subscriber{Name: "mailer", FromStart: true, MaxAttempts: 1, Handle: func(context.Context, api.Event) error {
					return errors.New("no mail server")
				}}))
				happen(t, h, 1)
				stop := begin(t, h)
				time.Sleep(time.Minute)
				stop()
				letters, err := h.DeadLetters(t.Context(), "mailer")
				is.NoErr(err)
				is.Equal(len(letters), 1)
				if requested {
					is.NoErr(h.RetryDeadLetter(t.Context(), letters[0]))
				}
				is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
					_, err := tx.DeleteEvents(t.Context(), letters[0].Seq, 1)
					return err
				}))
				stop = begin(t, h)
				time.Sleep(time.Minute)
				require.Contains(t, fmt.Sprint(h.RetryDeadLetter(t.Context(), letters[0])), letters[0].EventID)
				time.Sleep(time.Minute)
				stop()
				left, err := h.DeadLetters(t.Context(), "mailer")
				is.NoErr(err)
				is.Equal(left, letters)
			})
		})
	}
}
