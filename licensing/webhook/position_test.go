package webhook

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A positionStore checks after each Update that no webhook's position has decreased.
type positionStore struct {
	store.Store
	t    *testing.T
	mu   sync.Mutex
	last map[string]int64 // by webhook
}

func (s *positionStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Store.Update(ctx, fn)
	s.t.Helper()
	viewErr := s.View(ctx, func(r store.Reader) error {
		all, err := readAll(ctx, r)
		for _, rec := range all {
			lane, err := readLane(ctx, r, rec.ID)
			if err != nil {
				return err
			}
			if lane.Position < s.last[rec.ID] {
				s.t.Errorf("the position of %s went from %d to %d", rec.URL, s.last[rec.ID], lane.Position)
			}
			s.last[rec.ID] = lane.Position
		}
		return err
	})
	if viewErr != nil && ctx.Err() == nil {
		s.t.Error(viewErr)
	}
	return err
}

// TestPositionsNeverDecrease: two processes take turns in sending, by stopping and by
// losing the lease while requests are under way, to receivers that are quick, slow,
// failing or paused.
func TestPositionsNeverDecrease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &positionStore{Store: memory.New(), t: t, last: make(map[string]int64)}
		processes := []*bench{newBench(st, 0), newBench(st, 0)}
		a, b := processes[0], processes[1]
		var requests atomic.Int64
		var well atomic.Bool
		a.answer = func(host string) int {
			if host == "flaky.example" && requests.Add(1)%3 == 0 && !well.Load() {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		}
		var slow atomic.Int64
		a.delay = func(host string) time.Duration {
			if host == "slow.example" && slow.Add(1)%5 == 0 {
				return 10 * time.Second // while the other process moves on
			}
			return 300 * time.Millisecond
		}
		b.Service = open(b.rules, Options{Transport: a.receivers})
		var hooks []Webhook
		for _, host := range []string{"quick.example", "slow.example", "flaky.example", "seldom.example"} {
			hooks = append(hooks, a.hook(t, host, license.EventLicenseCreated))
		}
		_, err := a.Update(t.Context(), UpdateParams{ID: hooks[3].ID, Types: &[]string{license.EventLicenseDeleted}})
		is.NoErr(err)
		var want []string
		for round := range 20 {
			on, other := processes[round%2], processes[(round+1)%2]
			stop := on.run(t)
			want = append(want, other.licenses(t, 7)...)
			time.Sleep(1500 * time.Millisecond)
			if round%3 == 0 { // its lease is lost
				is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
					return tx.PutEntries(t.Context(), store.Entry{Kind: "lease", Key: "webhook", Data: fmt.Append(nil, round), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Second)})
				}))
			}
			for i, status := range []Status{StatusPaused, StatusActive} {
				if round%4 == 3 {
					_, err := other.Update(t.Context(), UpdateParams{ID: hooks[0].ID, Status: ptr(status)})
					is.NoErr(err)
					want = append(want, other.licenses(t, 1-i)...)
				}
			}
			stop2 := other.run(t)
			time.Sleep(5 * time.Second)
			stop()
			stop2()
		}
		well.Store(true)
		defer a.run(t)()
		time.Sleep(time.Hour)
		for _, host := range []string{"quick.example", "slow.example", "flaky.example"} {
			got := each(a.taken[host])
			for i, id := range want {
				if got[id] == 0 {
					t.Errorf("%s did not receive event %d of %d", host, i, len(want))
				}
			}
		}
		is.Equal(len(a.at("seldom.example")), 0)
		require.AtLeast(t, st.last[hooks[3].ID], int64(len(want)))
	})
}
