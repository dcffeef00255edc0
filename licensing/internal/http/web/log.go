package web

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

// observe logs a finished request and calls the host's observer. The line of a probe
// that succeeds is at the level Debug, because load balancers send one every few
// seconds.
func (s *Site) observe(r *http.Request, x *exchange) {
	o := feed.Report{
		Kind: feed.ObservedRequest, Method: loggedMethod(r.Method), Route: x.pattern, Status: x.Status,
		Duration: time.Since(x.start), ClientID: cmp.Or(x.grant.ClientID, x.claimed), CustomerID: x.customer, RequestID: x.id, Err: x.err,
	}
	if x.page && o.Route != "" {
		o.Route = s.pages.Label + o.Route
	}
	level := slog.LevelInfo
	if x.route != nil && x.route.Probe && x.Status < 500 {
		level = slog.LevelDebug
	}
	who := slog.String("client_id", o.ClientID)
	if x.page {
		who = slog.String("operator", x.operator)
	}
	attrs := []slog.Attr{
		slog.String("method", o.Method),
		slog.String("route", o.Route),
		slog.Int("status", o.Status),
		slog.Float64("duration_ms", float64(o.Duration.Microseconds())/1000),
		who,
		slog.String("request_id", o.RequestID),
	}
	if x.refused() {
		if o.ClientIP = s.cfg.clientAddress(r); o.ClientIP.IsValid() {
			attrs = append(attrs, slog.String("client_ip", o.ClientIP.String()))
		}
	}
	s.cfg.RequestLog.LogAttrs(x.ctx, level, "licensing: request", attrs...)
	if s.cfg.Observe != nil {
		s.cfg.Observe(x.ctx, o)
	}
}

// refused reports whether the request was refused because of who sent it, or how often.
func (x *exchange) refused() bool {
	switch {
	case x.Status == http.StatusUnauthorized, x.Status == http.StatusTooManyRequests, x.code == "operator_refused", x.code == "cross_origin":
		return true
	}
	return x.Status == http.StatusUnprocessableEntity && x.route != nil && x.route.SignIn
}

// loggedMethod keeps made-up methods out of logs and metrics.
func loggedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}

// requestIDHeader carries the request ID, in requests and responses.
const requestIDHeader = "X-Request-Id"

// newRequestID returns the request ID sent by the client, or a new one if it is
// missing or not safe to log.
func newRequestID(r *http.Request) string {
	const safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	if ids := r.Header[requestIDHeader]; len(ids) == 1 && ids[0] != "" && len(ids[0]) <= 64 && strings.Trim(ids[0], safe) == "" {
		return ids[0]
	}
	return store.NewID("req", time.Now())
}
