package postgres

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestQueues: Updates that have met at a place run one after another, in the order in
// which they came, after the batch that writes there.
func TestQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		ctx, p, q := t.Context(), place{licenseAt, "lic_1", ""}, place{licenseAt, "lic_2", ""}
		g := newBatches()
		written := &batch{done: make(chan struct{})}
		g.pending[p] = &pending{batch: written}
		var order []int
		run := func(n int, at ...place) {
			go func() {
				leave, err := g.enter(ctx, at)
				is.NoErr(err)
				defer leave()
				order = append(order, n)
				time.Sleep(time.Second)
			}()
			synctest.Wait()
		}
		run(1, p)
		run(2, p, q)
		run(3, q)                 // behind no other yet
		is.Equal(order, []int{3}) // the batch is not written
		close(written.done)
		synctest.Wait()
		is.Equal(order, []int{3, 1})
		run(4, p)

		canceled, cancel := context.WithCancel(ctx)
		cancel()
		_, err := g.enter(canceled, []place{p})
		require.ErrorIs(t, err, context.Canceled)

		time.Sleep(4 * time.Second)
		synctest.Wait()
		is.Equal(order, []int{3, 1, 2, 4})
		is.Equal(len(g.queues), 0)

		// A function that takes longer than the others wait stops none of them.
		leave, err := g.enter(ctx, []place{p})
		is.NoErr(err)
		begun := time.Now()
		late, err := g.enter(ctx, []place{p})
		is.NoErr(err)
		is.Equal(time.Since(begun), idleWait)
		late()
		leave()
		is.Equal(len(g.queues), 0)
	})
}

// TestLanes: two batches are sent at a time. A batch waits before it is sent beside another,
// and no longer than that one takes. Large ones are not sent beside another.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		g := newBatches()
		waited := func() (time.Duration, chan struct{}) {
			begun := time.Now()
			lane := g.lane(false)
			return time.Since(begun), lane
		}
		d, first := waited()
		is.Equal(d, time.Duration(0))
		d, second := waited()
		is.Equal(d, besideWait)
		time.AfterFunc(time.Minute, func() { <-second })
		d, second = waited()
		is.Equal(d, time.Minute)
		<-second
		time.AfterFunc(besideWait/2, func() { <-first })
		d, _ = waited()
		is.Equal(d, besideWait/2)
		begun := time.Now()
		time.AfterFunc(time.Hour, func() { <-first })
		is.Equal(g.lane(true), first)
		is.Equal(time.Since(begun), time.Hour)
	})
}
