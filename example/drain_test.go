package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

const drainHooks = 10

// TestDrainMemory is BenchmarkDrain, shorter, with its bound.
func TestDrainMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	is := is.New(t)
	_, peak := drain(t, 300)
	is.True(peak <= 64<<20 || raceDetector)
}

// BenchmarkDrain delivers 10,000 events to ten webhooks over loopback, from
// SQLite, and reports how fast, and how much memory the process takes at most
// above what it takes when idle, its receivers included. Run it with
//
//	go test -run '^$' -bench Drain -benchtime 1x ./example
func BenchmarkDrain(b *testing.B) {
	for b.Loop() {
		took, peak := drain(b, 10_000)
		b.ReportMetric(10_000*drainHooks/took.Seconds(), "deliveries/s")
		b.ReportMetric(float64(peak)/(1<<20), "MiB-above-idle")
	}
}

// drain delivers so many events to all webhooks, once each.
func drain(tb testing.TB, events int) (took time.Duration, peak int64) {
	is := is.New(tb)
	st, err := sqlite.Open(filepath.Join(tb.TempDir(), "drain.db"))
	is.NoErr(err)
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{
		Logger:   slog.New(slog.DiscardHandler),
		Webhooks: webhook.Options{AllowPrivate: true},
	})
	var came atomic.Int64
	var seen sync.Map // of the first webhook alone, to see what is repeated
	var repeated atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		came.Add(1)
		if r.URL.Path != "/0" {
			return
		}
		if _, again := seen.LoadOrStore(r.Header.Get("webhook-id"), true); again {
			repeated.Add(1)
		}
	}))
	defer receiver.Close()
	for i := range drainHooks {
		_, _, err := h.Webhooks().Create(tb.Context(), api.CreateWebhookParams{
			URL: receiver.URL + "/" + strconv.Itoa(i), Types: []string{api.EventLicenseCreated},
		})
		is.NoErr(err)
	}
	for made := 0; made < events; {
		is.NoErr(h.Service().Atomically(tb.Context(), func(s *license.Service) error {
			for range min(500, events-made) {
				if _, err := s.Create(tb.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"}); err != nil {
					return err
				}
			}
			return nil
		}))
		made += min(500, events-made)
	}

	runtime.GC()
	debug.FreeOSMemory()
	idle := resident(tb)
	ctx, cancel := context.WithCancel(tb.Context())
	var wg sync.WaitGroup
	began := time.Now()
	wg.Go(func() { is.NoErr(h.Run(ctx)) })
	for deadline := began.Add(10 * time.Minute); came.Load() < int64(events*drainHooks) && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		peak = max(peak, resident(tb)-idle)
	}
	took = time.Since(began)
	cancel()
	wg.Wait()
	is.Equal(came.Load(), int64(events*drainHooks))
	is.Equal(repeated.Load(), int64(0))
	return took, peak
}

// resident returns how many bytes of memory the process has.
func resident(tb testing.TB) int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Skip("the memory of a process is read from /proc")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
