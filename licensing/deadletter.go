package licensing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A DeadLetter is an event that a subscriber gave up on after
// [Subscriber.MaxAttempts].
type DeadLetter struct {
	Subscriber string // its name
	EventID    string
	EventType  string
	Seq        int64 // of the event
	Failures   int
	At         time.Time // of the last failure
}

// DeadLetters returns the oldest thousand dead letters of a subscriber, in feed
// order. An empty name selects the oldest thousand of each subscriber, in the order
// of the names.
func (h *Handler) DeadLetters(ctx context.Context, subscriber string) ([]DeadLetter, error) {
	letters, err := h.engine.DeadLetters(ctx, subscriber)
	if err != nil {
		return nil, err
	}
	out := make([]DeadLetter, len(letters))
	for i, d := range letters {
		out[i] = DeadLetter(d)
	}
	return out, nil
}

// RetryDeadLetter calls the subscriber once more with the event of a dead letter,
// in a process that runs it. After a success the letter is removed. It returns
// [api.ErrNotFound] if there is no such letter, and another error, which keeps the
// letter, if the feed does not have its event any more.
func (h *Handler) RetryDeadLetter(ctx context.Context, d DeadLetter) error {
	err := h.engine.RetryDeadLetter(ctx, d.Subscriber, d.Seq)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("dead letter %d of subscriber %q: %w", d.Seq, d.Subscriber, api.ErrNotFound)
	}
	return err
}
