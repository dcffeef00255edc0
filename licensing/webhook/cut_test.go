package webhook

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A cutStore does not answer any more when so many Updates have been made. A
// process that is killed leaves the same behind.
type cutStore struct {
	store.Store
	updates, after atomic.Int64
}

func (s *cutStore) gone() bool { return s.updates.Load() >= s.after.Load() }

func (s *cutStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.gone() {
		return store.ErrUnavailable
	}
	s.updates.Add(1)
	return s.Store.Update(ctx, fn)
}

func (s *cutStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if s.gone() {
		return store.Entry{}, store.ErrUnavailable
	}
	return s.Store.Entry(ctx, kind, key)
}

// A cutCase is what a process that is cut off sends.
type cutCase struct {
	quick         int   // webhooks beside one that fails at times and one that is slow at times
	before, while int   // events before it runs, and while it does
	failEvery     int64 // which of the requests to any webhook fail; 0: none
}

// run lets a process send until it has made so many Updates, and another one send
// the rest. It returns false if the first one ended before that.
func (c cutCase) run(t *testing.T, updates int64) (cut bool) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New()
		dying := &cutStore{Store: st}
		dying.after.Store(updates)
		first, next := newBench(dying, 0), newBench(st, 0)
		first.lost = dying.gone
		var requests atomic.Int64
		first.answer = func(host string) int {
			n := requests.Add(1)
			if host == "flaky.example" && n%3 == 0 || c.failEvery > 0 && n%c.failEvery == 0 {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		}
		var slow atomic.Int64
		first.delay = func(host string) time.Duration {
			if host == "slow.example" && slow.Add(1) < 4 {
				return 3 * time.Second
			}
			return time.Millisecond
		}
		hosts := []string{"flaky.example", "slow.example"}
		for i := range c.quick {
			hosts = append(hosts, fmt.Sprintf("quick-%d.example", i))
		}
		for _, host := range hosts {
			next.hook(t, host, api.EventLicenseCreated)
		}
		want := next.licenses(t, c.before)
		stop := first.run(t)
		for range 3 {
			time.Sleep(2 * time.Second)
			want = append(want, next.licenses(t, c.while)...)
		}
		time.Sleep(10 * time.Minute)
		stop()
		cut = dying.gone()
		stop = next.run(t)
		time.Sleep(time.Hour)
		stop()
		for _, host := range hosts {
			got := each(append(first.taken[host], next.taken[host]...))
			for i, id := range want {
				if got[id] == 0 {
					t.Errorf("after %d Updates: %s did not receive event %d of %d", updates, host, i, len(want))
				}
			}
		}
	})
	return cut
}

// TestACutAfterAnyUpdateLosesNothing kills the process that sends after its first
// Update, after its second, and so on. Another process delivers what is left.
func TestACutAfterAnyUpdateLosesNothing(t *testing.T) {
	c := cutCase{quick: 1, before: 12, while: 3}
	updates := int64(1)
	for ; c.run(t, updates) && !t.Failed(); updates++ {
	}
	if updates < 10 {
		t.Errorf("only %d Updates", updates)
	}
}

// TestACutWithinABatchLosesNothing kills the process while it stores the outcome of
// a batch that is too large for one Update.
func TestACutWithinABatchLosesNothing(t *testing.T) {
	c := cutCase{quick: 7, before: 100, failEvery: 20}
	for updates := int64(1); updates < 5; updates++ {
		c.run(t, updates)
	}
}
