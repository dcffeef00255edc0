package webhook

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// countingStore counts the reads of single entries.
type countingStore struct {
	store.Store
	reads atomic.Int64
}

func (st *countingStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	st.reads.Add(1)
	return st.Store.Entry(ctx, kind, key)
}

// TestWithoutWebhooksEventsCostNoReads while events wake the shared lane, and a
// webhook that another process creates gets its events soon.
func TestWithoutWebhooksEventsCostNoReads(t *testing.T) {
	for name, elsewhere := range map[string]bool{"created in this process": false, "created in another process": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				st := &countingStore{Store: memory.New()}
				b := newBench(st, 0)
				engine := feed.New(feed.Config{
					Store: st, Now: b.rules.Internal().Now, Logger: slog.New(slog.DiscardHandler),
					Background: []feed.Background{b.Internal().Background()},
				})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- engine.Run(ctx) }()
				create := func(n int) (ids []string) {
					for range n {
						l, err := b.rules.Create(ctx, license.CreateParams{Name: "n", ProductID: "p", CustomerID: "c"})
						is.NoErr(err)
						ids = append(ids, l.ID)
						engine.Nudge()
						synctest.Wait()
					}
					return ids
				}
				create(100)
				is.True(st.reads.Load() > 0)
				st.reads.Store(0)
				create(100)
				is.Equal(st.reads.Load(), int64(0))

				from := b.Service
				if elsewhere {
					from = New(b.rules, nil, Options{Transport: b.receivers})
				}
				_, _, err := from.Create(ctx, CreateParams{URL: "https://x.example/", Types: []string{"license.created"}})
				is.NoErr(err)
				ids := create(3)
				if elsewhere {
					time.Sleep(2 * time.Second)
					synctest.Wait()
				}
				sameOnce(t, b.at("x.example"), ids)
				cancel()
				is.NoErr(<-ended)
			})
		})
	}
}
