package feed

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The kinds of an [Observation].
const (
	ObservedDelivery   = "delivery"
	ObservedSubscriber = "subscriber"
	ObservedJob        = "job"
	ObservedStoreError = "store_error"
)

// The outcomes of an [Observation] that is not a store error.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	GaveUp    = "gave_up"
	Postponed = "postponed"
)

// An Observation describes background work that ended, or a store error in it.
type Observation struct {
	Kind     string
	Name     string // ID of the webhook, or name of the subscriber or the job
	Outcome  string // of a store error: its kind
	Status   int    // HTTP status of a delivery; 0: no response
	Attempt  int    // of a delivery or a subscriber, from 1
	Duration time.Duration
	Err      error
}

// Observe calls Config.Observe. A panic in it is logged. It must not be called
// within an Update.
func (r *Run) Observe(ctx context.Context, o Observation) { r.engine.observe(ctx, o) }

// ObserveStoreError reports err, of a job, if the store caused it.
func (r *Run) ObserveStoreError(ctx context.Context, job string, err error) {
	r.engine.observeStoreError(ctx, job, err)
}

// Observing reports whether Config.Observe is set.
func (r *Run) Observing() bool { return r.engine.Config.Observe != nil }

func (e *Engine) observe(ctx context.Context, o Observation) {
	if e.Observe == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			e.Logger.ErrorContext(ctx, "licensing: Options.Observe panicked", "kind", o.Kind, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	e.Observe(ctx, o)
}

func (e *Engine) observeStoreError(ctx context.Context, job string, err error) {
	if e.Observe == nil {
		return
	}
	if kind := StoreErrorKind(err); kind != "" {
		e.observe(ctx, Observation{Kind: ObservedStoreError, Name: job, Outcome: kind, Err: err})
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
