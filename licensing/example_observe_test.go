package licensing_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A metrics counts requests, and writes the counts in the text format of
// Prometheus. The client library of Prometheus does the same with a CounterVec
// and a HistogramVec.
type metrics struct {
	mu       sync.Mutex
	requests map[string]int           // by labels
	duration map[string]time.Duration // by labels
}

func newMetrics() *metrics {
	return &metrics{requests: make(map[string]int), duration: make(map[string]time.Duration)}
}

// observe is for Options.Observe. Routes are templates, so there are few.
func (m *metrics) observe(_ context.Context, o licensing.Observation) {
	labels := fmt.Sprintf("{method=%q,route=%q,status=\"%d\"}", o.Method, o.Route, o.Status)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[labels]++
	m.duration[labels] += o.Duration
}

// ServeHTTP answers the scraper.
func (m *metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for labels, n := range m.requests {
		lines = append(lines,
			fmt.Sprintf("licensing_requests_total%s %d\n", labels, n),
			fmt.Sprintf("licensing_request_seconds_total%s %g\n", labels, m.duration[labels].Seconds()))
	}
	slices.Sort(lines)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprint(w, strings.Join(lines, ""))
}

// A host counts requests for Prometheus.
func ExampleOptions_observe() {
	m := newMetrics()
	h := licensing.NewHandler(memory.New(), licensing.Options{
		Logger:  slog.New(slog.DiscardHandler),
		Observe: m.observe,
	})
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	mux.Handle("GET /metrics", m) // on an internal address, in production

	get := func(path string) string {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Body.String()
	}
	get("/licensing/ready")
	get("/licensing/ready")
	get("/licensing/license/lic_1")
	for line := range strings.Lines(get("/metrics")) {
		if strings.HasPrefix(line, "licensing_requests_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// licensing_requests_total{method="GET",route="/license/{licenseID}",status="401"} 1
	// licensing_requests_total{method="GET",route="/ready",status="200"} 2
}
