package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A load creates licenses through two stores on one schema, as two processes
// would, and records the result of each. A reader follows the feed concurrently.
type load struct {
	stores []store.Store
	stop   chan struct{}
	wg     sync.WaitGroup

	mu       sync.Mutex
	created  map[string]bool // acknowledged
	refused  map[string]bool // failed with an error that means that nothing was written
	slowest  time.Duration   // of the refused ones
	problems []error
	feed     []store.Event // as the reader received it

	acknowledged atomic.Int64
}

func startLoad(ctx context.Context, stores ...store.Store) *load {
	l := &load{stores: stores, stop: make(chan struct{}), created: map[string]bool{}, refused: map[string]bool{}}
	for w := range 16 {
		l.wg.Go(func() {
			for i := 0; !l.stopped(); i++ {
				l.create(ctx, stores[w%len(stores)], fmt.Sprintf("lic_%02d_%06d", w, i))
			}
		})
	}
	l.wg.Go(func() {
		for !l.stopped() {
			l.read(ctx)
		}
	})
	return l
}

func (l *load) stopped() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// create writes a license, an event and a tally. One in four Updates fails at the
// end, after it has drawn an event number that is then missing in the feed.
func (l *load) create(ctx context.Context, st store.Store, id string) {
	undone := errors.New("undone")
	fails := strings.HasSuffix(id, "3") || strings.HasSuffix(id, "7")
	begun := time.Now()
	err := st.Update(ctx, func(tx store.Tx) error {
		if err := tx.CreateLicenses(ctx, store.License{ID: id, Key: id}); err != nil {
			return err
		}
		if err := raise(ctx, tx, "licenses", "all"); err != nil {
			return err
		}
		if err := tx.AppendEvents(ctx, store.Event{ID: "evt_" + id, Subject: id}); err != nil {
			return err
		}
		if fails {
			return undone
		}
		return nil
	})
	took := time.Since(begun)

	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil && !fails:
		l.created[id] = true
		l.acknowledged.Add(1)
	case err == undone && fails:
		l.refused[id] = true
	case errors.Is(err, store.ErrUnknownOutcome) && !fails:
	case errors.Is(err, store.ErrUnavailable):
		l.refused[id] = true
		l.slowest = max(l.slowest, took)
	default:
		l.problems = append(l.problems, fmt.Errorf("create %s: %w", id, err))
	}
}

// read continues to read the feed.
func (l *load) read(ctx context.Context) {
	q := store.EventQuery{}
	if len(l.feed) > 0 {
		q.After = l.feed[len(l.feed)-1].Seq
	}
	events, err := l.stores[0].Events(ctx, q)
	if err != nil && !errors.Is(err, store.ErrUnavailable) {
		l.mu.Lock()
		l.problems = append(l.problems, fmt.Errorf("events: %w", err))
		l.mu.Unlock()
	}
	l.feed = append(l.feed, events...)
}

// await returns when more licenses have been acknowledged, which means that the
// service is back.
func (l *load) await(t *testing.T, more int64) {
	t.Helper()
	until := l.acknowledged.Load() + more
	deadline := time.Now().Add(30 * time.Second)
	for l.acknowledged.Load() < until {
		if time.Now().After(deadline) {
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Fatalf("nothing is created any more; %v", errors.Join(l.problems...))
		}
		time.Sleep(time.Millisecond)
	}
}

// end stops the load and compares the stored licenses with the recorded results.
func (l *load) end(t *testing.T) {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	close(l.stop)
	l.wg.Wait()
	for last := -1; last < len(l.feed); l.read(ctx) {
		last = len(l.feed)
	}
	is.NoErr(errors.Join(l.problems...))

	there := map[string]bool{}
	for q := (store.LicenseQuery{}); ; {
		page, err := l.stores[1].Licenses(ctx, q)
		is.NoErr(err)
		if len(page) == 0 {
			break
		}
		for _, row := range page {
			there[row.ID] = true
		}
		q.After.ID = page[len(page)-1].ID
	}
	lost, kept := 0, 0
	for id := range l.created {
		if !there[id] {
			lost++
		}
	}
	for id := range l.refused {
		if there[id] {
			kept++
		}
	}
	is.Equal(lost, 0) // everything acknowledged is there
	is.Equal(kept, 0) // nothing refused is there

	seqs, told := map[int64]bool{}, map[string]int{}
	for _, e := range l.feed {
		seqs[e.Seq] = true
		told[e.Subject]++
	}
	is.Equal(len(seqs), len(l.feed)) // no number twice
	is.Equal(len(told), len(there))  // no event is missed, and none is without its license
	for id := range there {
		if told[id] != 1 {
			t.Fatalf("the reader was given %d events of %s", told[id], id)
		}
	}
	count, err := l.stores[1].Entry(ctx, "licenses", "all")
	is.NoErr(err)
	is.Equal(string(count.Data), fmt.Sprint(len(there)))
	t.Logf("%d acknowledged, %d there, %d refused, the slowest after %v", len(l.created), len(there), len(l.refused), l.slowest)
}

func twoStores(t *testing.T, driver, dsn string) (one, other store.Store) {
	a, b := open(t, driver, dsn), open(t, driver, dsn)
	schema := newSchema(t, a)
	return newStore(t, a, schema), newStore(t, b, schema)
}
