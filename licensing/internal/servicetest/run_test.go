package servicetest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestRunRemovesWhatHasEndedAndReturnsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &brokenStore{Store: memory.New()}
		h := licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler), PollInterval: time.Minute})
		c, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n"})
		is.NoErr(err)
		for range 25 { // more than a batch
			is.Equal(ask(t, h, "GET", "/oauth/token?client_id="+c.ID+"&client_secret="+secret, "", "").Code, 200)
		}
		_, _, err = h.Service().Once(t.Context(), "key", "print", func(*license.Service) ([]byte, error) { return []byte("reply"), nil })
		is.NoErr(err)
		count := func(kind string) int {
			entries, err := st.Entries(t.Context(), store.EntryQuery{Kind: kind})
			is.NoErr(err)
			return len(entries)
		}

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		synctest.Wait()
		is.Equal(count("token"), 25)
		is.Equal(count("once"), 1)

		st.fail(func(context.Context) error { return errors.New("not now") })
		time.Sleep(time.Hour + 2*time.Minute)
		synctest.Wait()
		st.fail(nil)
		is.Equal(count("token"), 25)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		is.Equal(count("token"), 0)
		is.Equal(count("once"), 1)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		is.Equal(count("once"), 0)
		is.Equal(count("client"), 1)

		cancel()
		is.NoErr(<-done)
	})
}

// A meteredStore counts reads, inside and outside of View, and Updates.
type meteredStore struct {
	meteredReader
	st      store.Store
	updates atomic.Int64
}

func newMeteredStore(st store.Store) *meteredStore {
	return &meteredStore{meteredReader: meteredReader{st, new(atomic.Int64)}, st: st}
}

func (s *meteredStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.st.View(ctx, func(r store.Reader) error { return fn(meteredReader{r, s.reads}) })
}

func (s *meteredStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.updates.Add(1)
	return s.st.Update(ctx, fn)
}

type meteredReader struct {
	store.Reader
	reads *atomic.Int64
}

func (r meteredReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	r.reads.Add(1)
	return r.Reader.Licenses(ctx, q)
}

func (r meteredReader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	r.reads.Add(1)
	return r.Reader.Events(ctx, q)
}

func (r meteredReader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	r.reads.Add(1)
	return r.Reader.Entry(ctx, kind, key)
}

func (r meteredReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	r.reads.Add(1)
	return r.Reader.Entries(ctx, q)
}

// answering is a receiver that accepts every delivery.
type answering struct{}

func (answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// TestAnIdleHandlerCostsLittle runs a handler with a webhook, a subscriber and
// licenses for hours without a change.
func TestAnIdleHandlerCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := newMeteredStore(memory.New())
		var handled atomic.Int64
		h := licensing.NewHandler(st, licensing.Options{
			Logger: discard, Webhooks: webhook.Options{Transport: answering{}}, Events: license.EventOptions{Retention: 48 * time.Hour},
			Subscribers: []licensing.Subscriber{{Name: "s", FromStart: true, Handle: func(context.Context, api.Event) error {
				handled.Add(1)
				return nil
			}}},
		})
		w := hook(t, h, "x.example")
		happen(t, h, 10)
		defer begin(t, h)()
		time.Sleep(10 * time.Minute)
		is.Equal(handled.Load(), int64(11))
		is.Equal(len(deliveries(t, h, w.ID)), 10)

		const hours = 3
		st.reads.Store(0)
		st.updates.Store(0)
		time.Sleep(hours * time.Hour)
		reads, updates := st.reads.Load(), st.updates.Load()
		if limit := int64(90 * 60 * hours); reads > limit {
			t.Errorf("%d reads in %d hours; at most %d", reads, hours, limit)
		}
		if updates > hours {
			t.Errorf("%d updates in %d hours", updates, hours)
		}
		require.Greater(t, updates, 0) // the watermark of expiry notices moves

		happen(t, h, 1) // and it still works
		time.Sleep(5 * time.Second)
		is.Equal(handled.Load(), int64(12))
		is.Equal(len(deliveries(t, h, w.ID)), 11)
	})
}

// hasProblem reports whether Health has a problem with a code.
func hasProblem(t *testing.T, h *licensing.Handler, code licensing.HealthCode) bool {
	t.Helper()
	return slices.ContainsFunc(h.Health(t.Context()).Problems, func(p licensing.HealthProblem) bool { return p.Code == code })
}

// TestWhatIsOverdueFollowsFromLag: what is overdue shows in the positions of the
// work, so no process has to report that it runs.
func TestWhatIsOverdueFollowsFromLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		opts := postedBy(p)
		opts.Subscribers = []licensing.Subscriber{{Name: "s", Handle: func(context.Context, api.Event) error { return nil }}}
		st := memory.New()
		h := licensing.NewHandler(st, opts)
		waiting := func() bool {
			return hasProblem(t, h, licensing.HealthOverdue) || hasProblem(t, h, licensing.HealthNotRunning)
		}
		is.True(!waiting())
		hook(t, h, "x.example")
		happen(t, h, 3)
		is.True(!waiting()) // not for long
		time.Sleep(2 * time.Minute)
		is.True(waiting())

		stop := begin(t, h)
		time.Sleep(time.Minute)
		is.True(!waiting())
		p.answers("x.example", status(http.StatusInternalServerError))
		happen(t, h, 1)
		time.Sleep(time.Hour)
		is.True(!waiting()) // a receiver that fails is no fault of this process
		stop()
		time.Sleep(2 * time.Hour)
		is.True(waiting()) // expiry notices
	})
}
