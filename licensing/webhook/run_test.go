package webhook

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
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
