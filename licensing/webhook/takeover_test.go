package webhook

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// earlierCursors replaces the cursors of webhooks by those of an earlier version, in which
// level webhooks share a cursor at the event with a Seq.
func (b *bench) earlierCursors(t *testing.T, shared int64, cursors map[string]string) {
	t.Helper()
	err := b.store.Update(t.Context(), func(tx store.Tx) error {
		for id, cursor := range cursors {
			e := store.Entry{Kind: cursorKind, Key: id, Data: []byte(cursor), CreatedAt: b.now()}
			if err := tx.DeleteEntries(t.Context(), cursorKind, id); err != nil {
				return err
			}
			if cursor == "" {
				continue
			}
			if err := tx.PutEntries(t.Context(), e); err != nil {
				return err
			}
		}
		return putFeedCursor(t.Context(), tx, sharedCursor, shared, b.now())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestACutWhileCursorsAreTakenOver kills a process after each Update in which it takes
// over the cursors of an earlier version. Each webhook gets the events after its
// position, and none before.
func TestACutWhileCursorsAreTakenOver(t *testing.T) {
	updates := int64(1)
	for cut := true; cut && !t.Failed(); updates++ {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			st := memory.New()
			dying := &cutStore{Store: st}
			dying.after.Store(updates)
			first, next := newBench(dying, 0), newBench(st, 0)
			first.lost = dying.gone
			before := next.licenses(t, 10)
			cursors := make(map[string]string)
			want := make(map[string][]string) // by host
			const hooks = purgeBatch + 10
			var webhooks []Webhook
			for i := range hooks {
				webhooks = append(webhooks, next.hook(t, fmt.Sprintf("%d.example", i), license.EventLicenseCreated))
			}
			created := int64(len(before) + hooks) // the Seq of the last event so far
			events := next.licenses(t, 10)        // the level webhooks have the first 6, the lagging ones the first 3
			for i, w := range webhooks {
				host := fmt.Sprintf("%d.example", i)
				switch want[host] = events[6:]; i % 4 {
				case 0: // its position is that of its creation
					cursors[w.ID] = fmt.Sprintf(`{"position":%d}`, i+1+len(before))
				case 1:
					cursors[w.ID] = fmt.Sprintf(`{"position":%d,"own":true,"queued":7}`, created+3)
					want[host] = events[3:]
				case 2: // it was created last
					cursors[w.ID] = fmt.Sprintf(`{"position":%d}`, created+9)
					want[host] = events[9:]
				case 3: // of the version before
					cursors[w.ID] = ""
				}
			}
			next.earlierCursors(t, created+6, cursors)
			_, err := next.Update(t.Context(), UpdateParams{ID: webhooks[0].ID, Status: ptr(StatusPaused)})
			is.NoErr(err)
			stop := first.run(t)
			time.Sleep(10 * time.Second)
			_, err = next.Update(t.Context(), UpdateParams{ID: webhooks[0].ID, Status: ptr(StatusActive)})
			is.NoErr(err)
			stop()
			cut = dying.gone()
			stop = next.run(t)
			time.Sleep(5 * time.Minute)
			stop()
			for host, ids := range want {
				got := each(append(first.taken[host], next.taken[host]...))
				for _, id := range ids {
					if got[id] == 0 {
						t.Errorf("after %d Updates: an event for %s is missing", updates, host)
					}
				}
				if len(got) != len(ids) {
					t.Errorf("after %d Updates: %d events for %s, want %d", updates, len(got), host, len(ids))
				}
			}
			_, ok, err := feed.ReadCursor(t.Context(), st, sharedCursor)
			is.NoErr(err)
			is.True(!ok) // it would keep events forever
		})
	}
	if updates < 5 {
		t.Errorf("only %d Updates", updates)
	}
}

// TestCursorsAreTakenOverAfterAFailure: the store does not answer when a process begins
// to take over cursors, and no event happens afterwards.
func TestCursorsAreTakenOverAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &cutStore{Store: memory.New()}
		st.after.Store(math.MaxInt64)
		b := newBench(st, 0)
		w := b.hook(t, "x.example", license.EventLicenseCreated)
		want := b.licenses(t, 3)
		b.earlierCursors(t, 1, map[string]string{w.ID: ""})
		st.after.Store(0)
		defer b.run(t)()
		time.Sleep(time.Minute)
		st.after.Store(math.MaxInt64)
		time.Sleep(2 * time.Minute)
		sameOnce(t, b.at("x.example"), want)
	})
}

// TestAnotherProcessOfAnEarlierVersion creates a webhook after the cursors were taken
// over.
func TestAnotherProcessOfAnEarlierVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(memory.New(), 0)
		b.hook(t, "x.example", license.EventLicenseCreated)
		want := b.licenses(t, 3)
		defer b.run(t)()
		time.Sleep(time.Minute)
		w := b.hook(t, "earlier.example", license.EventLicenseCreated)
		b.earlierCursors(t, 5, map[string]string{w.ID: `{"position":5}`})
		later := b.licenses(t, 3)
		time.Sleep(time.Minute)
		sameOnce(t, b.at("x.example"), append(want, later...))
		sameOnce(t, b.at("earlier.example"), later)
	})
}

// TestTakeOverWithoutAnEvent: its pending deliveries are
// sent, and its disabled webhooks are reported, although nothing happens.
func TestTakeOverWithoutAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(storetest.Twice(memory.New()), 0)
		active, disabled := b.hook(t, "active.example"), b.hook(t, "disabled.example")
		_, err := b.Service.reportOn(t.Context(), disabled.ID, resultGone)
		is.NoErr(err)
		_, err = b.Test(t.Context(), active.ID)
		is.NoErr(err)
		is.NoErr(b.store.Update(t.Context(), func(tx store.Tx) error {
			hooks, err := tx.Entries(t.Context(), store.EntryQuery{Kind: webhookKind})
			if err != nil {
				return err
			}
			for i := range hooks {
				hooks[i].ExpiresAt = time.Time{}
			}
			if err := tx.PutEntries(t.Context(), hooks...); err != nil {
				return err
			}
			if err := tx.DeleteEntries(t.Context(), cursorKind, active.ID, disabled.ID); err != nil {
				return err
			}
			return putFeedCursor(t.Context(), tx, sharedCursor, 100, b.now())
		}))
		defer b.run(t)()
		time.Sleep(time.Minute)
		is.Equal(b.at("active.example"), []string{active.ID})
		troubled, err := inner.Of(b.Service).Troubled(t.Context())
		is.NoErr(err)
		is.Equal(len(troubled), 1)
		is.Equal(troubled[0].ID, disabled.ID)
	})
}

// TestCursorsTakeOverDeliveriesOfEarlierVersions: the store of an earlier version
// has no cursors, and pending deliveries beside the cursor.
func TestCursorsTakeOverDeliveriesOfEarlierVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(storetest.Twice(memory.New()), 0)
		active := b.hook(t, "active.example", license.EventLicenseCreated)
		paused := b.hook(t, "paused.example", license.EventLicenseCreated)
		_, err := b.Update(t.Context(), UpdateParams{ID: paused.ID, Status: ptr(StatusPaused)})
		is.NoErr(err)
		queued := b.licenses(t, 3)
		is.NoErr(b.store.Update(t.Context(), func(tx store.Tx) error {
			events, err := tx.Events(t.Context(), store.EventQuery{})
			if err != nil {
				return err
			}
			for _, w := range []Webhook{active, paused} {
				for _, e := range events {
					if e.Type != license.EventLicenseCreated {
						continue
					}
					d := newDelivery(w.ID, e, b.now())
					d.ID = store.NewID("dlv", b.now())
					if err := outbox.Put(t.Context(), tx, d); err != nil {
						return err
					}
				}
			}
			if err := tx.DeleteEntries(t.Context(), cursorKind, active.ID, paused.ID); err != nil {
				return err
			}
			return putFeedCursor(t.Context(), tx, sharedCursor, events[len(events)-1].Seq, b.now())
		}))
		later := b.licenses(t, 2)
		defer b.run(t)()
		time.Sleep(time.Minute)
		sameOnce(t, b.at("active.example"), append(queued, later...))
		is.Equal(len(b.at("paused.example")), 0)
		_, err = b.Update(t.Context(), UpdateParams{ID: paused.ID, Status: ptr(StatusActive)})
		is.NoErr(err)
		time.Sleep(time.Minute)
		sameOnce(t, b.at("paused.example"), append(queued, later...))
	})
}
