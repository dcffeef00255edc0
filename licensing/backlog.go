package licensing

import (
	"context"
	"time"
)

// A Backlog reports whether background work is done on time.
type Backlog struct {
	// Running is false if the work that follows the clock, expiry notices, is
	// overdue: no process has run [Handler.Run] for more than an hour, or
	// ever.
	Running bool
	// Waiting reports whether any work has been overdue for more than a
	// minute: events not yet handed to webhooks or subscribers, or
	// deliveries. Webhooks that are failing, paused or disabled and the
	// subscribers in Failing do not count.
	Waiting bool
	// DueSince is when the oldest overdue delivery was due; nil if there is
	// none.
	DueSince *time.Time
	// Failing lists the subscribers that keep failing on one event.
	Failing []FailingSubscriber
}

// A FailingSubscriber is a subscriber that keeps failing on one event while
// later events wait.
type FailingSubscriber struct {
	Name     string
	EventID  string
	Failures int // in a row
	Since    time.Time
	Error    string // of the last failure; at most about 500 bytes
}

// Backlog reports whether the work of [Handler.Run] is overdue.
func (h *Handler) Backlog(ctx context.Context) (Backlog, error) {
	b, err := h.engine.Backlog(ctx)
	if err != nil {
		return Backlog{}, err
	}
	out := Backlog{Running: b.Running, Waiting: b.Waiting, DueSince: b.DueSince}
	for _, f := range b.Failing {
		out.Failing = append(out.Failing, FailingSubscriber(f))
	}
	return out, nil
}
