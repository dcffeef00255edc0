//go:build linux

package soak

import (
	"cmp"
	"context"
	"flag"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

var long = flag.Duration("long", 0, "how long TestSoak runs; 0: some seconds")

const (
	speed   = 4000 // of the clock
	shortly = 5 * time.Second

	// After enough, the store is as large as it gets: events are kept for a day, and
	// for five days more while a webhook that is failing needs them.
	enough = 6 * 24 * time.Hour / speed

	// restarts is how often Run begins again, and with it the removal of what has
	// expired, which otherwise is too rare for a clock that is so fast.
	restarts = 10 * time.Second
)

// TestSoak checks that nothing grows after some time.
func TestSoak(t *testing.T) {
	duration := cmp.Or(*long, shortly)
	for _, fault := range soak(t, duration, nil, bare, duration*2/5 >= enough) {
		t.Error(fault)
	}
}

// bare is the service without anything around it.
func bare(h http.Handler, _ *slog.Logger, _ string) http.Handler { return h }

// panicking is how long TestSoakWithPanics runs in its short form.
const panicking = 10 * time.Second

// TestSoakWithPanics is TestSoak while background work panics now and then: the process and
// the service go on, and nothing grows but the log, which has the stacks.
func TestSoakWithPanics(t *testing.T) {
	var st panickingStore
	duration := cmp.Or(*long, panicking)
	faults := soak(t, duration, &st, bare, duration*2/5 >= enough)
	for _, fault := range faults {
		if !strings.HasPrefix(fault, "the log") {
			t.Error(fault)
		}
	}
	t.Log(st.panics.Load(), "panics")
	if st.panics.Load() == 0 {
		t.Error("nothing panicked")
	}
}

// A panickingStore panics at one in ten writes of what only background work writes.
type panickingStore struct {
	store.Store
	panics atomic.Int64
}

func (s *panickingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(panickingTx{tx, s}) })
}

type panickingTx struct {
	store.Tx
	s *panickingStore
}

func (tx panickingTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		if slices.Contains([]string{"sales_counted", "watermark", "usage", "subscriber_cursor"}, e.Kind) && rand.N(10) == 0 {
			tx.s.panics.Add(1)
			panic("now and then")
		}
	}
	return tx.Tx.PutEntries(ctx, entries...)
}

// TestSoakFindsLeaks checks that TestSoak would find a service that leaks.
func TestSoakFindsLeaks(t *testing.T) {
	is := is.New(t)
	var mu sync.Mutex
	var memory [][]byte
	var open []*os.File
	requests := 0
	never := make(chan struct{})
	defer close(never)
	faults := soak(t, shortly, nil, func(next http.Handler, log *slog.Logger, store string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			mu.Lock()
			defer mu.Unlock()
			requests++
			memory = append(memory, make([]byte, 32<<10))
			go func() { <-never }()
			if f, err := os.Open(os.DevNull); err == nil && len(open) < 500 {
				open = append(open, f)
			}
			log.Info("the same once more", "text", strings.Repeat("x", requests*requests/50))
			if f, err := os.OpenFile(store+"-journal", os.O_RDWR|os.O_CREATE, 0o600); err == nil { // as if the store grew
				f.Truncate(int64(requests) << 15)
				f.Close()
			}
		})
	}, true)
	for _, f := range open {
		f.Close()
	}
	t.Log(faults)
	is.Equal(len(faults), 5)
}

// soak runs a service under load and returns what grew. The service is around the
// handler, and gets its log and the file of its store. If there is a panicking store, it is
// around the store.
func soak(t *testing.T, duration time.Duration, panics *panickingStore, around func(http.Handler, *slog.Logger, string) http.Handler, withStore bool) []string {
	t.Helper()
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "licenses.db")
	st, err := sqlite.Open(file)
	is.NoErr(err)
	defer st.Close()
	var logged counter
	logger := slog.New(slog.NewTextHandler(&logged, nil))
	began := time.Now()
	var used store.Store = st
	if panics != nil {
		panics.Store, used = st, panics
	}
	h := licensing.NewHandler(used, licensing.Options{
		Now:    func() time.Time { return began.Add(speed * time.Since(began)) },
		Logger: logger, RequestLog: slog.New(slog.DiscardHandler), PollInterval: 10 * time.Millisecond,
		Limits: licensing.LimitOptions{ClientRate: -1, AddressRate: -1, KeyRate: -1},
		Events: license.EventOptions{Retention: 24 * time.Hour},
		Dashboard: licensing.DashboardOptions{Operator: func(http.ResponseWriter, *http.Request) (operator.Operator, bool) {
			return operator.Operator{ID: "op", Email: "ada@example.com", Role: operator.RoleAdmin}, true
		}},
		Webhooks:    webhook.Options{AllowPrivate: true, DeliveryRetention: 6 * time.Hour},
		Subscribers: []licensing.Subscriber{{Name: "s", Handle: func(context.Context, api.Event) error { return nil }}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		for ctx.Err() == nil {
			part, end := context.WithTimeout(ctx, restarts)
			h.Run(part)
			end()
		}
	})
	server := httptest.NewServer(around(h, logger, file))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	l := newLoad(t, h, server.URL)
	for worker := range workers {
		work.Go(func() { l.work(ctx, worker) })
	}
	var samples []sample
	for tick := time.Tick(duration / 60); time.Since(began) < duration && !t.Failed(); {
		<-tick
		s, err := measure(began, file)
		is.NoErr(err)
		s.log, s.requests = logged.Load(), l.requests.Load()
		samples = append(samples, s)
	}
	cancel()
	work.Wait()
	for _, p := range h.Health(t.Context()).Problems {
		if p.Code == licensing.HealthUncounted || p.Code == licensing.HealthJob {
			t.Error(p)
		}
	}
	t.Logf("\n%s\n%d deliveries, answers: %v", table(samples), l.received.Load(), l.statuses)
	return grown(samples[len(samples)*2/5:], withStore)
}
