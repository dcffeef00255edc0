package feed

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The kinds of a [Report].
const (
	ObservedRequest    = "request"
	ObservedDelivery   = "delivery"
	ObservedSubscriber = "subscriber"
	ObservedJob        = "job"
	ObservedStoreError = "store_error"
)

// The outcomes of a [Report] that is not a store error.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	GaveUp    = "gave_up"
	Postponed = "postponed"
)

// A Report describes a request or background work that ended, or a store
// error in it. It contains no secrets and nothing from the query of a request.
type Report struct {
	Kind     string
	Name     string // ID of the webhook, name of the subscriber or the job, or where the store failed
	Outcome  string // of a store error: its kind
	Status   int    // HTTP status of a request or a delivery; 0: no response
	Attempt  int    // of a delivery or a subscriber, from 1
	Duration time.Duration
	Err      error // of a request: why it failed on the side of the service

	// Of a request.
	Method     string
	Route      string // path template, such as "/license/{licenseID}"; empty: no route matched
	ClientID   string // empty: no client
	CustomerID string // empty: no customer
	RequestID  string
	ClientIP   netip.Addr // of one that was refused; not valid: unknown, or another request
}

// Observe calls Config.Observe, which does not panic. It must not be called
// within an Update.
func (r *Run) Observe(ctx context.Context, o Report) { r.engine.observe(ctx, o) }

// ObserveStoreError reports err, of a job, if the store caused it.
func (r *Run) ObserveStoreError(ctx context.Context, job string, err error) {
	r.engine.observeStoreError(ctx, job, err)
}

// Observing reports whether Config.Observe is set.
func (r *Run) Observing() bool { return r.engine.Config.Observe != nil }

func (e *Engine) observe(ctx context.Context, o Report) {
	if e.Observe != nil {
		e.Observe(ctx, o)
	}
}

func (e *Engine) observeStoreError(ctx context.Context, job string, err error) {
	if e.Observe == nil {
		return
	}
	if kind := StoreErrorKind(err); kind != "" {
		e.observe(ctx, Report{Kind: ObservedStoreError, Name: job, Outcome: kind, Err: err})
	}
}

// StoreErrorKind returns the kind of an error that the store causes when it does
// not work, or "" for any other error.
func StoreErrorKind(err error) string {
	switch {
	case errors.Is(err, store.ErrConflict):
		return "conflict"
	case errors.Is(err, store.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, store.ErrUnknownOutcome):
		return "unknown_outcome"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return ""
}
