package webhook

import (
	"bytes"
	"context"
	"errors"
	"math"
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

// A setBackStore can be replaced by an earlier copy of itself, as by a failover to a
// standby that has not received everything.
type setBackStore struct {
	store.Reader
	present atomic.Pointer[memory.Store]
}

func newSetBackStore() *setBackStore {
	s := &setBackStore{}
	s.present.Store(memory.New())
	s.Reader = store.ReaderFromView(s.View)
	return s
}

func (s *setBackStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.present.Load().View(ctx, fn)
}

func (s *setBackStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.present.Load().Update(ctx, fn)
}

// copy returns a copy of what is stored, with the lease of the process that sends.
func (s *setBackStore) copy(t *testing.T) *memory.Store {
	t.Helper()
	is := is.New(t)
	var archive bytes.Buffer
	is.NoErr(store.Export(t.Context(), s, &archive))
	c := memory.New()
	is.NoErr(store.Import(t.Context(), c, &archive))
	lease, err := s.Entry(t.Context(), "lease", "webhook")
	if errors.Is(err, store.ErrNotFound) {
		return c
	}
	is.NoErr(err)
	is.NoErr(c.Update(t.Context(), func(tx store.Tx) error { return tx.PutEntries(t.Context(), lease) }))
	return c
}

// setBack sets the store back while a process sends: after a number of its store calls
// and requests. Other events get the Seqs of the lost ones, fewer or more than there
// were. It reports whether there were as many calls.
func setBack(t *testing.T, after int64, events int, restart bool) (happened bool) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := newSetBackStore()
		points := &pointStore{Store: st}
		first, next := newBench(points, 0), newBench(st, 0)
		var failing atomic.Bool
		first.answer = func(host string) int {
			if host == "flaky.example" && failing.Load() {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		}
		first.delay = func(string) time.Duration {
			points.point()
			return 10 * time.Millisecond
		}
		hosts := []string{"quick.example", "flaky.example"}
		for _, host := range hosts {
			first.hook(t, host, api.EventLicenseCreated)
		}
		first.hook(t, "seldom.example", api.EventLicenseDeleted)
		var standby *memory.Store
		var want []string
		var begin atomic.Int64 // the number of calls before the events that are lost
		var over atomic.Bool
		begin.Store(math.MaxInt64)
		points.at = func(call int64) {
			if call-begin.Load() == after && !over.Load() {
				happened = true
				st.present.Store(standby)
				want = next.licenses(t, events)
				is.NoErr(next.rules.Delete(t.Context(), api.DeleteLicenseParams{ID: want[0]}))
			}
		}
		stop := first.run(t)
		kept := next.licenses(t, 3)
		time.Sleep(time.Minute)
		standby = st.copy(t)

		failing.Store(true)
		begin.Store(points.calls.Load())
		_ = next.licenses(t, 5) // are lost
		time.Sleep(3 * time.Second)
		failing.Store(false)
		time.Sleep(25 * time.Second) // are tried again, and the position past them is stored
		over.Store(true)
		calls := points.calls.Load() - begin.Load()
		if restart {
			stop()
			stop = next.run(t)
		}
		time.Sleep(5 * time.Minute)
		stop()
		if !happened {
			return
		}
		for _, host := range hosts {
			got := each(append(first.at(host), next.at(host)...))
			for i, id := range want {
				if got[id] == 0 {
					t.Errorf("set back after call %d of %d: %s did not receive event %d of %d", after, calls, host, i, len(want))
				}
			}
			is.True(got[kept[0]] > 0)
		}
		is.True(each(append(first.at("seldom.example"), next.at("seldom.example")...))[want[0]] > 0)
	})
	return happened
}

// TestEventsAfterASetBackAreSent sets the store back after each call of the process that
// sends. Every later event is sent, although others had its Seq before.
func TestEventsAfterASetBackAreSent(t *testing.T) {
	calls := int64(1)
	for happened := true; happened && !t.Failed(); calls++ {
		happened = setBack(t, calls, []int{2, 4, 9}[calls%3], calls%2 == 0)
	}
	if calls < 40 {
		t.Errorf("only %d calls", calls)
	}
}

// TestResumingFromNowMovesAPositionBackIntoTheFeed: the position of a webhook is above
// the newest event.
func TestResumingFromNowMovesAPositionBackIntoTheFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(memory.New(), 0)
		w := b.hook(t, "x.example", api.EventLicenseCreated)
		defer b.run(t)()
		want := b.licenses(t, 1)
		time.Sleep(20 * time.Second)
		cursor := b.cursorOf(t, w.ID)
		cursor.Position = 100
		is.NoErr(b.store.Update(t.Context(), func(tx store.Tx) error { return putCursor(t.Context(), tx, w.ID, cursor) }))
		_ = b.licenses(t, 3) // are skipped
		time.Sleep(5 * time.Second)
		sameOnce(t, b.at("x.example"), want)
		for _, p := range []api.UpdateWebhookParams{{ID: w.ID, Status: ptr(api.WebhookPaused)}, {ID: w.ID, Status: ptr(api.WebhookActive), ResumeFrom: api.ResumeFromNow}} {
			_, err := b.Update(t.Context(), p)
			is.NoErr(err)
		}
		want = append(want, b.licenses(t, 3)...)
		time.Sleep(time.Minute)
		sameOnce(t, b.at("x.example"), want)
	})
}
