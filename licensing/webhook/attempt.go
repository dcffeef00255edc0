package webhook

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// An outcome is the result of one attempt.
type outcome struct {
	kind       outcomeKind
	attempt    api.Attempt
	retryAfter time.Duration // requested by the receiver
	slow       bool          // the receiver is overloaded
	gone       bool          // the receiver answered 410
	err        error         // of an untried delivery: our own failure
}

type outcomeKind int

const (
	untried   outcomeKind = iota // left for later
	delivered                    // answered 2xx
	failed                       // will be retried
	hopeless                     // will not be retried, for a reason on our side
)

// maxPayload is the maximum message size of Standard Webhooks, in bytes.
const maxPayload = 20_000

// truncated replaces the data of an oversized event; the feed has all of it.
var truncated = json.RawMessage(`{"truncated":true}`)

// attempt makes one delivery attempt. A panic postpones the delivery.
func (b *batch) attempt(ctx context.Context, s *sending) (o outcome) {
	err := b.Contain(ctx, sendJob, func() error {
		o = b.try(ctx, s)
		return nil
	})
	if err != nil {
		return b.untried(ctx, s.Delivery, err)
	}
	return o
}

// try makes one delivery attempt.
func (b *batch) try(ctx context.Context, s *sending) outcome {
	r, d := b.run, s.Delivery
	at := r.now()
	began := time.Now()
	w := b.hook.webhook(at)
	e, err := r.eventOf(ctx, s)
	if err != nil {
		return r.untried(ctx, d, err)
	}
	if e == nil {
		return outcome{kind: hopeless, attempt: api.Attempt{At: at, Error: skippedError}}
	}
	if allowed, err := r.allows(ctx, w, *e); err != nil {
		return r.untried(ctx, d, err)
	} else if !allowed {
		return outcome{kind: hopeless, attempt: api.Attempt{At: at, Error: "the client that created the webhook is not allowed to see the event"}}
	}
	if selected, err := selects(w, *e, d); err != nil {
		return r.untried(ctx, d, err)
	} else if !selected {
		return outcome{kind: hopeless, attempt: api.Attempt{At: at, Error: unselectedError}}
	}
	message, err := newMessage(feed.NewEvent(*e))
	if err != nil {
		return r.untried(ctx, d, err)
	}
	signature, err := r.sign(b.hook, message.id, at, message.body)
	if err != nil {
		return r.untried(ctx, d, err)
	}
	o := r.request(ctx, w, message, at, signature)
	if o.kind != delivered && ctx.Err() != nil {
		return outcome{} // interrupted because the process is stopping
	}
	o.attempt.At, o.attempt.DurationMS = at, time.Since(began).Milliseconds()
	return o
}

// eventOf returns the event of a delivery, or nil if it is not kept any more.
func (r *run) eventOf(ctx context.Context, s *sending) (*store.Event, error) {
	if s.event != nil {
		return s.event, nil
	}
	return storedEvent(ctx, r.store(), s.Delivery)
}

// allows reports whether the actor that created a webhook may see an event now.
func (r *run) allows(ctx context.Context, w api.Webhook, e store.Event) (bool, error) {
	if r.limit == nil {
		return true, nil
	}
	products, ok, err := r.limit(ctx, w.CreatedBy)
	if err != nil || !ok {
		return false, err
	}
	return products == nil || e.Type == api.EventWebhookTest || slices.Contains(products, e.ProductID), nil
}

// unselectedError is the attempt error of a delivery whose event the webhook does
// not select any more.
const unselectedError = "skipped: the webhook no longer selects this event type"

// selects reports whether a webhook selects the event of a delivery now. It always
// selects tests and what an operator has resent.
func selects(w api.Webhook, e store.Event, d outbox.Delivery) (bool, error) {
	if e.Type == api.EventWebhookTest || wants(w, e) {
		return true, nil
	}
	var data deliveryData
	err := readData(d.Data, &data)
	return data.Resent, err
}

// request makes the request. A panic in the host's transport is logged and counts
// as a failed attempt.
func (r *run) request(ctx context.Context, w api.Webhook, m message, at time.Time, signature string) (o outcome) {
	defer func() {
		if v := recover(); v != nil {
			r.logger.ErrorContext(ctx, "licensing: the webhook transport panicked", "webhook_id", w.ID, "panic", v, "stack", string(debug.Stack()))
			o = failure("the transport panicked")
		}
	}()
	return r.sender.send(ctx, w.URL, m, at, signature)
}

// untried postpones a delivery because of a failure on our side.
func (r *run) untried(ctx context.Context, d outbox.Delivery, err error) outcome {
	if ctx.Err() == nil {
		r.logger.WarnContext(ctx, "licensing: a delivery could not be prepared; it is tried again",
			"webhook_id", d.WebhookID, "delivery_id", d.ID, "error", err)
		return outcome{err: err}
	}
	return outcome{}
}

// A message is what every attempt sends to the receiver.
type message struct {
	id   string
	body []byte
}

func newMessage(e api.Event) (message, error) {
	body, err := json.Marshal(e)
	if err == nil && len(body) > maxPayload {
		e.Data = truncated
		body, err = json.Marshal(e)
	}
	return message{e.ID, body}, err
}
