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
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A metrics counts observations, and writes the counts in the text format of
// Prometheus. The client library of Prometheus does the same with a CounterVec
// and a HistogramVec.
type metrics struct {
	mu      sync.Mutex
	count   map[string]int           // by kind and labels
	seconds map[string]time.Duration // the same
}

func newMetrics() *metrics {
	return &metrics{count: make(map[string]int), seconds: make(map[string]time.Duration)}
}

// observe is for Options.Observe. Routes are templates, so there are few. Err,
// Attempt and RequestID are no labels: they have too many values.
func (m *metrics) observe(_ context.Context, o licensing.Observation) {
	labels := fmt.Sprintf("{name=%q,outcome=%q}", o.Name, o.Outcome)
	if o.Kind == licensing.ObservationRequest {
		labels = fmt.Sprintf("{method=%q,route=%q,status=\"%d\"}", o.Method, o.Route, o.Status)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count[string(o.Kind)+"_total"+labels]++
	m.seconds[string(o.Kind)+"_seconds_total"+labels] += o.Duration
}

// serve answers the scraper with the counts and the health of h. A problem that
// has ended is not in the next answer.
func (m *metrics) serve(h *licensing.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		lines := healthMetrics(h.Health(ctx))
		m.mu.Lock()
		defer m.mu.Unlock()
		for name, n := range m.count {
			lines = append(lines, fmt.Sprintf("licensing_%s %d\n", name, n))
		}
		for name, d := range m.seconds {
			lines = append(lines, fmt.Sprintf("licensing_%s %g\n", name, d.Seconds()))
		}
		slices.Sort(lines)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, strings.Join(lines, ""))
	})
}

// healthMetrics returns the gauges that docs/alerts.yml reads. Two problems can
// have the same code and subject, so it counts them.
func healthMetrics(health licensing.Health) []string {
	ready := 0
	if health.Status == "ready" {
		ready = 1
	}
	lines := []string{
		fmt.Sprintf("licensing_ready %d\n", ready),
		fmt.Sprintf("licensing_waiting_purchases %d\n", health.WaitingPurchases),
	}
	problems := make(map[string]int)
	for _, p := range health.Problems {
		problems[fmt.Sprintf("{code=%q,subject=%q}", p.Code, p.Subject)]++
	}
	for labels, n := range problems {
		lines = append(lines, fmt.Sprintf("licensing_problem%s %d\n", labels, n))
	}
	return lines
}

// A host counts requests and background work for Prometheus, and shows it what
// is wrong.
func ExampleOptions_observe() {
	m := newMetrics()
	mailed := make(chan struct{})
	h := licensing.NewHandler(memory.New(), licensing.Options{
		Logger:  slog.New(slog.DiscardHandler),
		Observe: m.observe,
		Subscribers: []licensing.Subscriber{{Name: "mailer", FromStart: true, Types: []string{"license.created"}, Handle: func(context.Context, api.Event) error {
			close(mailed)
			return nil
		}}},
	})
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	mux.Handle("GET /metrics", m.serve(h)) // on an internal address, in production

	get := func(path string) string {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Body.String()
	}
	get("/licensing/ready")
	get("/licensing/ready")
	get("/licensing/license/lic_1")

	h.Service().Create(context.Background(), api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "initech"})
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { h.Run(ctx) })
	<-mailed
	stop()
	work.Wait()
	for line := range strings.Lines(get("/metrics")) {
		if !strings.Contains(line, "_seconds_total") && !strings.HasPrefix(line, "licensing_job_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// licensing_ready 1
	// licensing_request_total{method="GET",route="/license/{licenseID}",status="401"} 1
	// licensing_request_total{method="GET",route="/ready",status="200"} 2
	// licensing_subscriber_total{name="mailer",outcome="succeeded"} 1
	// licensing_waiting_purchases 0
}
