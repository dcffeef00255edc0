package webhook

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// blindStore fails to read the last change of a webhook while blind is true.
type blindStore struct {
	store.Store
	blind atomic.Bool
}

func (st *blindStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if kind == changeKind && st.blind.Load() {
		return store.Entry{}, store.ErrUnavailable
	}
	return st.Store.Entry(ctx, kind, key)
}

// A process that acquires the lease again, or whose clock is set back, reads the
// lanes again, even if its first attempt fails.
func TestLanesAreReadAgainAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &blindStore{Store: memory.New()}
		b := newBench(st, 0)
		w := b.hook(t, "x.example")
		var sending *run
		engine := feed.New(feed.Config{Store: st, Now: b.rules.Internal().Now, Logger: b.logger, Background: []feed.Background{{
			Tasks: func(r *feed.Run) []feed.Task { sending = b.newRun(r); return nil },
		}}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- engine.Run(ctx) }()
		synctest.Wait()
		prepare := func() error {
			held, _, err := sending.hold()
			if err != nil {
				return err
			}
			is.True(held)
			return sending.refresh(ctx)
		}
		is.NoErr(prepare())
		position := int64(1)
		for name, doubt := range map[string]func() error{
			"another process had the lease": func() error {
				time.Sleep(40 * time.Second)
				return st.Update(ctx, func(tx store.Tx) error { return tx.DeleteEntries(ctx, "lease", "webhook") })
			},
			"the clock was ahead": func() error {
				sending.clock = sending.clock.Add(time.Hour)
				return nil
			},
		} {
			is.NoErr(doubt())
			position++
			is.NoErr(st.Update(ctx, func(tx store.Tx) error {
				return putLane(ctx, tx, w.ID, laneRecord{Own: true, Position: position, UpdatedAt: time.Now()})
			}))
			st.blind.Store(true)
			is.True(prepare() != nil)
			st.blind.Store(false)
			is.NoErr(prepare())
			if l := sending.find(w.ID); !l.own || l.position != position {
				t.Errorf("after %s: own %t, position %d", name, l.own, l.position)
			}
		}
		cancel()
		is.NoErr(<-ended)
	})
}

// TestALostLeaseStoresNothing: a process whose lease another process has taken while
// it was sending stores no outcome and moves no position.
func TestALostLeaseStoresNothing(t *testing.T) {
	for name, own := range map[string]bool{"in the shared lane": false, "in a lane of its own": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				b := newBench(memory.New(), 0)
				w := b.hook(t, "x.example", license.EventLicenseCreated)
				begins := b.lane(t, w.ID).Position
				if own {
					is.NoErr(b.update(t.Context(), func(tx *transaction) error {
						return putLane(t.Context(), tx, w.ID, laneRecord{Position: begins, Own: true, Due: tx.now, UpdatedAt: tx.now})
					}))
				}
				ids := b.licenses(t, 3)
				b.delay = func(string) time.Duration { return 500 * time.Millisecond }
				stop := b.run(t)
				time.Sleep(100 * time.Millisecond) // the requests are under way
				is.NoErr(b.store.Update(t.Context(), func(tx store.Tx) error {
					return tx.PutEntries(t.Context(), store.Entry{Kind: "lease", Key: "webhook", Data: []byte("another"), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(30 * time.Second)})
				}))
				time.Sleep(20 * time.Second)
				stop()
				sameOnce(t, b.at("x.example"), ids) // it does not send them again
				seq, _, err := feed.ReadCursor(t.Context(), b.store, cursorKey)
				is.NoErr(err)
				is.True(own || seq == begins)
				is.Equal(b.lane(t, w.ID).Position, begins)
				stored, err := b.store.Entries(t.Context(), store.EntryQuery{Kind: outbox.Kind})
				is.NoErr(err)
				is.Equal(len(stored), 0)
			})
		})
	}
}

// TestALeaseThatAnotherProcessHadStoresNothing: another process had the lease in the
// meantime and released it, so the positions may have changed.
func TestALeaseThatAnotherProcessHadStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(memory.New(), 0)
		b.hook(t, "x.example", license.EventLicenseCreated)
		ids := b.licenses(t, 3)
		b.delay = func(string) time.Duration { return 500 * time.Millisecond }
		defer b.run(t)()
		time.Sleep(100 * time.Millisecond)
		is.NoErr(b.store.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), "lease", "webhook") }))
		time.Sleep(20 * time.Second)
		for _, id := range ids {
			is.Equal(each(b.at("x.example"))[id], 2) // sent again
		}
	})
}

// TestALaneJoinsOnlyIfItMissesNothing: a lane that has received all events joins the
// shared one unless that is ahead, or is sending later events.
func TestALaneJoinsOnlyIfItMissesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		shared, sending int64 // events after the position of the lane
		own             bool
	}{
		"level":                          {0, 0, false},
		"the shared lane is behind":      {-1, 0, false},
		"the shared lane is ahead":       {1, 0, true},
		"the shared lane sends the next": {0, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				b := newBench(memory.New(), 0)
				w := b.hook(t, "x.example")
				b.licenses(t, 5)
				const position = 3
				is.NoErr(b.update(t.Context(), func(tx *transaction) error {
					if err := feed.WriteCursor(t.Context(), tx, cursorKey, position+test.shared, tx.now); err != nil {
						return err
					}
					return putLane(t.Context(), tx, w.ID, laneRecord{Position: position, Own: true, UpdatedAt: tx.now})
				}))
				var sending *run
				engine := feed.New(feed.Config{Store: b.store, Now: b.rules.Internal().Now, Logger: b.logger, Background: []feed.Background{{
					Tasks: func(r *feed.Run) []feed.Task { sending = b.newRun(r); return nil },
				}}})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- engine.Run(ctx) }()
				synctest.Wait()
				_, _, err := sending.hold()
				is.NoErr(err)
				is.NoErr(sending.refresh(ctx))
				if test.sending != 0 {
					sending.ahead = position + test.sending
				}
				is.NoErr(sending.find(w.ID).join(position))
				is.Equal(b.lane(t, w.ID).Own, test.own)
				cancel()
				is.NoErr(<-ended)
			})
		})
	}
}

// TestClocksThatDifferUseUpNoAttempts: two processes whose clocks differ by minutes
// take turns in sending to a receiver that is down. Its deliveries keep their attempts
// for as long as the schedule says.
func TestClocksThatDifferUseUpNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		here, ahead := newBench(st, 0), newBench(st, 5*time.Minute)
		w := here.hook(t, "x.example", license.EventLicenseCreated)
		var up atomic.Bool
		here.answer = func(string) int {
			if up.Load() {
				return http.StatusOK
			}
			return http.StatusInternalServerError
		}
		ahead.Service = New(ahead.rules, nil, Options{Transport: here.receivers})
		want := here.licenses(t, 3)
		for range 30 {
			for _, b := range []*bench{here, ahead} {
				stop := b.run(t)
				time.Sleep(2 * time.Minute)
				stop()
			}
		}
		page, err := here.Deliveries(t.Context(), DeliveriesParams{WebhookID: w.ID})
		is.NoErr(err)
		for _, d := range page.Data {
			is.Equal(d.Status, DeliveryPending)
			is.True(len(d.Attempts) <= 6) // in two hours, by clocks that differ by five minutes
		}
		up.Store(true)
		defer here.run(t)()
		time.Sleep(6 * time.Hour)
		sameOnce(t, here.taken["x.example"], want)
	})
}

// A storeOfEvents counts the events that a store returns.
type storeOfEvents struct {
	store.Store
	n atomic.Int64
}

func (st *storeOfEvents) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	events, err := st.Store.Events(ctx, q)
	st.n.Add(int64(len(events)))
	return events, err
}

// TestALaneThatCatchesUpReadsWhatItSends: a lane of its own does not read the same
// events for each batch, and finds the few among many that its webhook selects.
func TestALaneThatCatchesUpReadsWhatItSends(t *testing.T) {
	for name, types := range map[string][]string{"all events": nil, "few events": {license.EventLicenseDeleted}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				st := &storeOfEvents{Store: memory.New()}
				b := newBench(st, 0)
				w := b.hook(t, "x.example", types...)
				_, err := b.Update(t.Context(), UpdateParams{ID: w.ID, Status: ptr(StatusPaused)})
				is.NoErr(err)
				want := b.licenses(t, 500)
				err = b.rules.Delete(t.Context(), license.DeleteParams{ID: want[499]})
				is.NoErr(err)
				_, err = b.Update(t.Context(), UpdateParams{ID: w.ID, Status: ptr(StatusActive)})
				is.NoErr(err)
				st.n.Store(0)
				defer b.run(t)()
				time.Sleep(10 * time.Second)
				is.True(!b.lane(t, w.ID).Own)
				is.True(st.n.Load() <= 2500)
				got := each(b.at("x.example"))
				is.True(got[want[499]] > 0)
			})
		})
	}
}

// An unreadyStore fails the first read of a webhook by its ID, after others.
type unreadyStore struct {
	store.Store
	reads atomic.Int64
}

func (st *unreadyStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if kind == webhookKind && st.reads.Add(1) == 1 {
		time.Sleep(10 * time.Millisecond)
		return store.Entry{}, store.ErrUnavailable
	}
	return st.Store.Entry(ctx, kind, key)
}

// TestAnEventThatCouldNotBePreparedIsSentLater: it enters the queue when the position
// moves past it with later events.
func TestAnEventThatCouldNotBePreparedIsSentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&unreadyStore{Store: memory.New()}, 0)
		b.hook(t, "x.example", license.EventLicenseCreated)
		want := b.licenses(t, 4)
		defer b.run(t)()
		time.Sleep(5 * time.Second)
		if got := len(b.at("x.example")); got != 3 {
			t.Errorf("%d came before the pause, want 3", got)
		}
		time.Sleep(time.Minute)
		sameOnce(t, b.at("x.example"), want)
	})
}
