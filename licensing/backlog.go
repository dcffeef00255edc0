package licensing

import (
	"context"
	"time"
)

// A Backlog reports whether events and deliveries leave the service on time.
type Backlog struct {
	// Running reports whether some process runs [Handler.Run] on the store,
	// or did within the last minute.
	Running bool
	// Waiting reports whether any work is overdue: events not yet handed to
	// webhooks or subscribers, or deliveries due for more than a minute.
	// Paused and disabled webhooks do not count.
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
}

// Backlog reports whether any event or delivery is overdue, and whether
// [Handler.Run] is running.
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
