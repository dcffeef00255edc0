package servicetest

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
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

// TestARequestWakesOnlyIfItAppendedAnEvent sends requests that change something and
// requests that do not, and counts the steps of the tasks that read the feed.
func TestARequestWakesOnlyIfItAppendedAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l ledger
		var steps atomic.Int64
		opts := seldom(newPostOffice())
		opts.Subscribers = []licensing.Subscriber{{Name: "ledger", Types: []string{"license.*"}, Handle: l.handle}}
		opts.Observe = func(_ context.Context, o licensing.Observation) {
			if o.Kind == licensing.ObservationJob && (o.Name == "webhooks" || o.Name == "subscriber:ledger") {
				steps.Add(1)
			}
		}
		c := newCaller(t, opts)
		hook(t, c.Handler, "x.example")
		defer begin(t, c.Handler)()
		time.Sleep(time.Second)
		synctest.Wait()
		// woken returns how many events the subscriber got, and whether a task
		// looked for events.
		woken := func(do func()) (events int, looked bool) {
			t.Helper()
			time.Sleep(10 * time.Millisecond) // until the tasks have rested
			synctest.Wait()
			steps.Store(0)
			before := len(l.got())
			do()
			synctest.Wait()
			return len(l.got()) - before, steps.Load() > 0
		}
		send := func(method, target, body string, status int, header ...string) func() {
			return func() { is.Equal(c.do(method, target, body, header...).Code, status) }
		}
		create := send("POST", "/license", `{"name":"n","product_id":"p","customer_id":"c"}`, http.StatusCreated, "Idempotency-Key", "k")
		failed := errors.New("not now")
		events, looked := woken(create)
		is.Equal(events, 1)
		is.True(looked)
		id := l.got()[0]
		key := c.do("GET", "/license/"+id, "").json["key"].(string)
		for name, do := range map[string]func(){
			"a replay":             create,
			"a taken key":          send("POST", "/license", `{"name":"n","product_id":"p","customer_id":"c","key":"`+key+`"}`, http.StatusConflict),
			"invalid parameters":   send("POST", "/license", `{}`, http.StatusUnprocessableEntity),
			"a change to the same": send("PATCH", "/license/"+id, `{"name":"n"}`, http.StatusOK),
			"a read":               send("GET", "/license/"+id, "", http.StatusOK),
			"an Update that fails": func() {
				err := c.Handler.Service().Atomically(t.Context(), func(s *license.Service) error {
					if _, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"}); err != nil {
						return err
					}
					return failed
				})
				is.Equal(err, failed)
			},
		} {
			if events, looked := woken(do); events > 0 || looked {
				t.Errorf("%s: %d events, woken: %t", name, events, looked)
			}
		}
		events, _ = woken(send("POST", "/license/"+id+"/suspend", "", http.StatusOK))
		is.Equal(events, 1)
	})
}

// TestAnAttemptThatWasRolledBackWakesNothing: only the attempt of an Update that
// commits counts.
func TestAnAttemptThatWasRolledBackWakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &feedCounter{Store: storetest.Twice(memory.New())}
		h := licensing.NewHandler(st, seldom(newPostOffice()))
		hook(t, h, "x.example")
		defer begin(t, h)()
		time.Sleep(time.Second)
		synctest.Wait()
		create := func(in int) {
			attempts := 0
			is.NoErr(h.Service().Atomically(t.Context(), func(s *license.Service) error {
				if attempts++; attempts != in {
					return nil
				}
				_, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
				return err
			}))
			is.Equal(attempts, 2)
			synctest.Wait()
		}
		st.reads.Store(0)
		create(1)
		is.Equal(st.reads.Load(), int64(0))
		create(2)
		require.Greater(t, st.reads.Load(), 0)
	})
}

// TestChangesInARowShareSteps: the tasks that read the feed rest between two steps,
// and then see all changes.
func TestChangesInARowShareSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l ledger
		st := &feedCounter{Store: memory.New()}
		opts := seldom(newPostOffice())
		opts.Subscribers = []licensing.Subscriber{{Name: "ledger", Handle: l.handle}}
		h := licensing.NewHandler(st, opts)
		defer begin(t, h)()
		time.Sleep(time.Second)
		synctest.Wait()
		st.reads.Store(0)
		for range 1000 {
			time.Sleep(100 * time.Microsecond)
			_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
			is.NoErr(err)
			synctest.Wait()
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		is.Equal(len(l.got()), 1000)
		require.AtMost(t, st.reads.Load(), 100) // of 20 steps of each task
	})
}
