package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// metrics are those of the service, of the Go runtime and of the process.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec // whose counts are those of requests
	work     *prometheus.HistogramVec
}

func newMetrics() *metrics {
	buckets := []float64{.001, .005, .01, .05, .1, .5, 1, 5, 30}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "licensing_request_seconds", Help: "Requests that were answered.", Buckets: buckets,
		}, []string{"method", "route", "status"}),
		work: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "licensing_work_seconds", Help: "Deliveries, calls of subscribers, steps of jobs, and errors of the store, which take no time.", Buckets: buckets,
		}, []string{"kind", "name", "outcome"}),
	}
	m.registry.MustRegister(m.requests, m.work, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observe is for Options.Observe. Routes are templates, so there are few. Err,
// Attempt and RequestID are no labels: they have too many values.
func (m *metrics) observe(_ context.Context, o licensing.Observation) {
	if o.Kind == licensing.ObservationRequest {
		m.requests.WithLabelValues(o.Method, o.Route, strconv.Itoa(o.Status)).Observe(o.Duration.Seconds())
		return
	}
	m.work.WithLabelValues(string(o.Kind), o.Name, string(o.Outcome)).Observe(o.Duration.Seconds())
}

// handler answers GET /metrics, with the health of h.
func (m *metrics) handler(h *licensing.Handler) http.Handler {
	m.registry.MustRegister(health{h})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// The gauges that licensing/docs/alerts.yml reads.
var (
	ready   = prometheus.NewDesc("licensing_ready", "Whether the store answers.", nil, nil)
	waiting = prometheus.NewDesc("licensing_waiting_purchases", "Purchases that are paid for and have no license.", nil, nil)
	build   = prometheus.NewDesc("licensing_build_info", "1, with the version of licensekit.", []string{"version"}, nil)
	problem = prometheus.NewDesc("licensing_problem", "Conditions to act on.", []string{"code", "subject"}, nil)
)

// health reads the gauges from Handler.Health for each scrape. A problem that has ended
// is not in the next one.
type health struct{ h *licensing.Handler }

func (health) Describe(ch chan<- *prometheus.Desc) {
	ch <- ready
	ch <- waiting
	ch <- build
	ch <- problem
}

func (c health) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	state := c.h.Health(ctx)
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	isReady := 0.0
	if state.Status == "ready" {
		isReady = 1
	}
	gauge(ready, isReady)
	gauge(waiting, float64(state.WaitingPurchases))
	gauge(build, 1, api.ModuleVersion())
	problems := make(map[[2]string]float64) // two can have the same code and subject
	for _, p := range state.Problems {
		problems[[2]string{string(p.Code), p.Subject}]++
	}
	for labels, n := range problems {
		gauge(problem, n, labels[0], labels[1])
	}
}
