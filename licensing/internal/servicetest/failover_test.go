package servicetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
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
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// A failoverStore is a file that a backup of it can replace while the service runs, as a
// failover to a standby does that has not received everything.
type failoverStore struct {
	store.Reader
	present atomic.Pointer[sqlite.Store]
	backup  *sqlite.Store
	dir     string
}

func newFailoverStore(t *testing.T) *failoverStore {
	t.Helper()
	s := &failoverStore{dir: t.TempDir()}
	s.Reader = store.ReaderFromView(s.View)
	s.present.Store(s.open(t, "primary.db"))
	return s
}

func (s *failoverStore) open(t *testing.T, name string) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(filepath.Join(s.dir, name))
	is.New(t).NoErr(err)
	t.Cleanup(func() { is.New(t).NoErr(st.Close()) })
	return st
}

func (s *failoverStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.present.Load().View(ctx, fn)
}

func (s *failoverStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.present.Load().Update(ctx, fn)
}

// replicate makes the backup. What happens later is lost.
func (s *failoverStore) replicate(t *testing.T) {
	t.Helper()
	is.New(t).NoErr(s.present.Load().Backup(t.Context(), filepath.Join(s.dir, "standby.db")))
	s.backup = s.open(t, "standby.db")
}

// failOver puts the backup in place of the store.
func (s *failoverStore) failOver() { s.present.Store(s.backup) }

// TestWebhooksContinueAfterAFailover: events are lost that a webhook has received, or is
// receiving. It receives every later event, whichever Seqs they get.
func TestWebhooksContinueAfterAFailover(t *testing.T) {
	for _, underWay := range []string{"nothing", "first attempts", "retries"} {
		for _, events := range []int{3, 5, 8} { // 5 are lost
			for _, restart := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s under way, %d events, restart %v", underWay, events, restart), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						is := is.New(t)
						p, st := newPostOffice(), newFailoverStore(t)
						h := licensing.NewHandler(st, postedBy(p))
						w := hook(t, h, "x.example", api.EventLicenseCreated)
						stop := begin(t, h)
						happen(t, h, 2)
						time.Sleep(10 * time.Second) // the standby has the lease
						st.replicate(t)

						failedOver := make(chan struct{})
						waits := func(*http.Request) (*http.Response, error) {
							<-failedOver
							return status(204)(nil)
						}
						switch underWay {
						case "first attempts":
							p.answers("x.example", waits)
						case "retries":
							p.answers("x.example", status(500))
						}
						happen(t, h, 5)
						time.Sleep(time.Second)
						p.answers("x.example", waits)
						if underWay == "retries" {
							time.Sleep(15 * time.Second)
						}
						st.failOver()
						happen(t, h, events)
						p.answers("x.example", nil)
						close(failedOver)
						time.Sleep(time.Second)
						if restart {
							stop()
							stop = begin(t, licensing.NewHandler(st, postedBy(p)))
						}
						time.Sleep(time.Minute)
						stop()
						all := deliveries(t, h, w.ID)
						is.Equal(len(all), 2+events)
						came := ids(p.at("x.example"))
						for _, d := range all {
							require.AtLeast(t, came[d.EventID], 1)
							is.Equal(string(d.Status), "succeeded")
						}
						is.Equal(len(h.Health(t.Context()).Problems), 1) // its secrets are not encrypted
					})
				})
			}
		}
	}
}

// TestSubscribersContinueAfterAFailover: events are lost that a subscriber has handled,
// is handling or has failed on. It gets every later event, although they have the same
// Seqs.
func TestSubscribersContinueAfterAFailover(t *testing.T) {
	for name, c := range map[string]struct {
		idle        bool
		maxAttempts int
		failure     error // on the last event
	}{
		"idle":                 {idle: true},
		"handling":             {},
		"failing":              {failure: errors.New("not now")},
		"making a dead letter": {failure: errors.New("never"), maxAttempts: 1},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", name, restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					is := is.New(t)
					st, failedOver := newFailoverStore(t), make(chan struct{})
					var mu sync.Mutex
					var got []string
					var lost string // the subject of the last event that is lost
					opts := subscribed(licensing.Subscriber{Name: "ledger", MaxAttempts: c.maxAttempts, FromStart: true, Handle: func(_ context.Context, e api.Event) error {
						mu.Lock()
						got = append(got, e.Subject)
						last := e.Subject == lost
						mu.Unlock()
						if !last || c.idle {
							return nil
						}
						<-failedOver
						return c.failure
					}})
					h := licensing.NewHandler(st, opts)
					stop := begin(t, h)
					happen(t, h, 2)
					time.Sleep(10 * time.Second)
					st.replicate(t)
					stopped := h
					if !c.idle {
						stopped = licensing.NewHandler(st, subscribed()) // does not wake h between the events
					}
					mu.Lock()
					happen(t, stopped, 5)
					lost = feed(t, h)[6]
					mu.Unlock()
					time.Sleep(10 * time.Second)
					mu.Lock()
					is.Equal(len(got), 7)
					mu.Unlock()
					st.failOver()
					happen(t, h, 5)
					close(failedOver)
					if restart {
						time.Sleep(100 * time.Millisecond)
						stop()
						stop = begin(t, licensing.NewHandler(st, opts))
					}
					time.Sleep(10 * time.Minute)
					stop()
					want := feed(t, h)
					is.Equal(len(want), 7)
					for _, subject := range want {
						is.True(slices.Contains(got, subject))
					}
					letters, err := h.DeadLetters(t.Context(), "ledger")
					is.NoErr(err)
					is.Equal(len(letters), 0)
				})
			})
		}
	}
}

// TestHealthNamesAPositionAboveTheNewestEvent: positions were written into a store whose
// events were lost.
func TestHealthNamesAPositionAboveTheNewestEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l ledger
		st := newFailoverStore(t)
		opts := postedBy(newPostOffice())
		opts.Subscribers = []licensing.Subscriber{{Name: "ledger", FromStart: true, Handle: l.handle}}
		h := licensing.NewHandler(st, opts)
		w := hook(t, h, "x.example", api.EventLicenseCreated)
		stop := begin(t, h)
		happen(t, h, 2)
		time.Sleep(time.Minute)
		st.replicate(t)
		happen(t, h, 5)
		time.Sleep(time.Minute)
		stop()
		is.True(!hasProblem(t, h, licensing.HealthPositionAhead))
		for _, position := range [][2]string{{"subscriber_cursor", "subscriber:ledger"}, {"webhook_cursor", w.ID}} {
			e, err := st.Entry(t.Context(), position[0], position[1])
			is.NoErr(err)
			is.NoErr(st.backup.Update(t.Context(), func(tx store.Tx) error { return tx.PutEntries(t.Context(), e) }))
		}
		st.failOver()
		var named []string
		for _, p := range h.Health(t.Context()).Problems {
			if p.Code == licensing.HealthPositionAhead {
				named = append(named, p.Subject)
				require.Contains(t, p.Detail, "event 8, is above the newest event, 3")
			}
		}
		is.Equal(named, []string{"ledger", w.ID})
	})
}
