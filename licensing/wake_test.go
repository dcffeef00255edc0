package licensing_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A feedCounter counts the reads of the event feed.
type feedCounter struct {
	store.Store
	reads atomic.Int64
}

func (c *feedCounter) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	c.reads.Add(1)
	return c.Store.Events(ctx, q)
}

func TestOnlyAnEventWakesTheEventLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l ledger
		st := &feedCounter{Store: memory.New()}
		opts := seldom(newPostOffice())
		opts.Subscribers = []licensing.Subscriber{{Name: "ledger", Types: []string{"license.*"}, Handle: l.handle}}
		h := licensing.NewHandler(st, opts)
		defer begin(t, h)()
		hook(t, h, "a.example")
		time.Sleep(time.Second)
		synctest.Wait()

		st.reads.Store(0)
		is.Equal(ask(t, h, "POST", "/license/validate", "", `{"key":"none"}`).Code, http.StatusOK)
		is.Equal(ask(t, h, "POST", "/license", "", `{}`).Code, http.StatusUnauthorized)
		is.Equal(ask(t, h, "DELETE", "/nothing", "", "").Code, http.StatusNotFound)
		is.Equal(ask(t, h, "POST", "/dashboard/theme", "", "").Code, http.StatusUnsupportedMediaType)
		synctest.Wait()
		is.Equal(st.reads.Load(), int64(0))

		happen(t, h, 1)
		synctest.Wait()
		is.Equal(len(l.got()), 1)
	})
}
