package web

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/feed"
)

// observe logs a finished request and calls the host's observer.
func (s *Site) observe(r *http.Request, x *exchange) {
	o := feed.Report{
		Kind: feed.ObservedRequest, Method: loggedMethod(r.Method), Route: x.pattern, Status: x.Status,
		Duration: time.Since(x.start), ClientID: x.grant.ClientID, RequestID: x.id, Err: x.err,
	}
	who := slog.String("client_id", o.ClientID)
	if x.page {
		who = slog.String("operator", x.operator)
	}
	s.cfg.RequestLog.LogAttrs(x.ctx, slog.LevelInfo, "licensing: request",
		slog.String("method", o.Method),
		slog.String("route", o.Route),
		slog.Int("status", o.Status),
		slog.Float64("duration_ms", float64(o.Duration.Microseconds())/1000),
		who,
		slog.String("request_id", o.RequestID),
	)
	if s.cfg.Observe != nil {
		s.cfg.Observe(x.ctx, o)
	}
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
