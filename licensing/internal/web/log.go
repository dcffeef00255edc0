package web

import (
	"log/slog"
	"net/http"
	"time"
)

// An Observation is what a finished request was. Nothing in it is a secret,
// and nothing in it comes from the query.
type Observation struct {
	Method    string
	Route     string // the template, such as "/license/{licenseID}"; empty: the path leads nowhere
	Status    int
	Duration  time.Duration
	ClientID  string // empty: no client
	RequestID string
}

// observe writes the line of a finished request into the log, and tells the
// host's observer.
func (s *Site) observe(r *http.Request, x *exchange) {
	o := Observation{
		Method: loggedMethod(r.Method), Route: x.pattern(), Status: x.Status,
		Duration: time.Since(x.start), ClientID: x.client, RequestID: x.id,
	}
	who := slog.String("client_id", o.ClientID)
	if x.page {
		who = slog.String("operator", x.operator)
	}
	s.cfg.Logger.LogAttrs(r.Context(), slog.LevelInfo, "licensing: request",
		slog.String("method", o.Method),
		slog.String("route", o.Route),
		slog.Int("status", o.Status),
		slog.Duration("duration", o.Duration),
		who,
		slog.String("request_id", o.RequestID),
	)
	if s.cfg.Observe != nil {
		s.cfg.Observe(r.Context(), o)
	}
}

// loggedMethod keeps what a stranger makes up as a method out of logs and
// metrics.
func loggedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}
