package licensing

import (
	"context"
	"net/netip"
	"runtime/debug"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
)

// An Observation reports one request, delivery, call of a subscriber, step of a job
// or store error to [Options.Observe]. Its Kind decides which fields are set. Nothing
// in it is secret, unless the error of a subscriber is, and nothing in it comes from
// the query of a request or the URL of a webhook. Kind, Method, Route, Status, Outcome
// and, unless there are many webhooks, Name have few values, as the labels of a metric
// should.
type Observation struct {
	Kind     ObservationKind
	Duration time.Duration // of the request, attempt, call or step; zero for a store error

	// Of a request.
	Method    string // "other" for a method that HTTP does not know
	Route     string // the template of the path, such as "/license/{licenseID}", or "portal/{license}" of [Handler.Portal]; empty: no route matched
	Status    int    // the HTTP status; of a delivery, that of the response, or 0 without one
	ClientID  string // empty: none. Of a request to an OAuth endpoint: the one that the request names, also if it is refused
	RequestID string // as in X-Request-Id; also set for a store error in a request

	// ClientIP is the address of a request that was refused because of who sent it or how
	// often, by [Options.ClientIP]: of status 401 or 429, of a form from another origin, of an
	// operator that [DashboardOptions.Operator] returns and that is not valid, and of a
	// password or a code that the dashboard refuses. The zero Addr: of any other request,
	// or unknown. It is personal data.
	ClientIP netip.Addr

	// CustomerID is the customer who uses [Handler.Portal]; empty: none. The log
	// does not have it. A host that keeps it erases it with the customer.
	CustomerID string

	// Of any other kind. Name is the ID of the webhook, the name of the
	// subscriber or job, or where the store failed: a job, a method and a
	// route, or "Require" or "WriteError" in a request to the host.
	Name    string
	Outcome ObservationOutcome // of a store error, its kind
	Attempt int                // of a delivery or a call of a subscriber, from 1
	Err     error              // nil: none
}

// An ObservationKind is the kind of an [Observation].
type ObservationKind string

// The kinds of observations.
const (
	ObservationRequest    ObservationKind = feed.ObservedRequest    // "request": a request to the API or the dashboard was answered
	ObservationDelivery   ObservationKind = feed.ObservedDelivery   // "delivery": an attempt to deliver an event to a webhook
	ObservationSubscriber ObservationKind = feed.ObservedSubscriber // "subscriber": a call of [Subscriber.Handle]
	ObservationJob        ObservationKind = feed.ObservedJob        // "job": a step of background work; jobs without work have steps too
	ObservationStoreError ObservationKind = feed.ObservedStoreError // "store_error": the store did not work, in a request or in background work
)

// An ObservationOutcome is the result of the delivery, call, step or store operation
// that an [Observation] reports.
type ObservationOutcome string

// The outcomes of deliveries, calls of subscribers and jobs.
const (
	OutcomeSucceeded ObservationOutcome = feed.Succeeded // "succeeded"
	OutcomeFailed    ObservationOutcome = feed.Failed    // "failed": it is tried again
	OutcomeGaveUp    ObservationOutcome = feed.GaveUp    // "gave_up": it is not tried again, unless an operator or the host says so
	OutcomePostponed ObservationOutcome = feed.Postponed // "postponed": of a delivery: no request was sent because of an error of the service, such as a wrong master key
)

// The kinds of store errors.
const (
	OutcomeConflict    ObservationOutcome = "conflict"        // [store.ErrConflict]
	OutcomeUnavailable ObservationOutcome = "unavailable"     // [store.ErrUnavailable]
	OutcomeUnknown     ObservationOutcome = "unknown_outcome" // [store.ErrUnknownOutcome]
	OutcomeTimeout     ObservationOutcome = "timeout"         // the time of the request or the work ran out
)

// observe reports a finished request, or background work. An error of a request
// is reported separately, if the store caused it.
func (h *Handler) observe(ctx context.Context, seen feed.Report) {
	if seen.Kind == feed.ObservedRequest && seen.Status >= 500 {
		h.requests.add(seen.Method+" "+seen.Route, seen.Err)
	}
	if h.opts.Observe == nil {
		return
	}
	o := Observation{
		Kind: ObservationKind(seen.Kind), Name: seen.Name, Outcome: ObservationOutcome(seen.Outcome), Status: seen.Status,
		Attempt: seen.Attempt, Duration: seen.Duration, Err: seen.Err,
		Method: seen.Method, Route: seen.Route, ClientID: seen.ClientID, CustomerID: seen.CustomerID, RequestID: seen.RequestID, ClientIP: seen.ClientIP,
	}
	if o.Kind == ObservationRequest {
		o.Err = nil
	}
	h.tell(ctx, o)
	if o.Kind == ObservationRequest {
		h.observeStoreError(ctx, seen.Method+" "+seen.Route, seen.RequestID, seen.Err)
	}
}

// observeStoreError reports err if the store caused it and the client has not
// canceled the request.
func (h *Handler) observeStoreError(ctx context.Context, name, requestID string, err error) {
	if h.opts.Observe == nil || ctx.Err() == context.Canceled {
		return
	}
	if kind := feed.StoreErrorKind(err); kind != "" {
		h.tell(ctx, Observation{
			Kind: ObservationStoreError, Name: name, Outcome: ObservationOutcome(kind), Err: err, RequestID: requestID,
		})
	}
}

// tell calls Options.Observe. A panic in it is logged: the answer of a request has been
// written, and the client must get it.
func (h *Handler) tell(ctx context.Context, o Observation) {
	defer func() {
		if v := recover(); v != nil {
			h.opts.Logger.ErrorContext(ctx, "licensing: Options.Observe panicked", "kind", o.Kind, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	h.opts.Observe(ctx, o)
}
