package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Subscriber is Go code that gets events.
type Subscriber struct {
	Name      string
	Types     []string
	FromStart bool
	Handle    func(context.Context, license.Event) error
}

const (
	subscriberBatch = 100
	// advanceEvery is how often the place of a subscriber is written while
	// it goes on: what has been handled since would be repeated after a kill.
	advanceEvery = 200 * time.Millisecond
	retryFirst   = time.Second
	retryLast    = 5 * time.Minute
	stalledAfter = 5 // failures in a row
)

// A subscription is a subscriber in one run.
type subscription struct {
	*run
	Subscriber
	holder   string
	failures int // in a row, of the event that is next
	reported bool
}

func (s *subscription) key() string { return license.SubscriberCursor + s.Name }

// step hands the subscriber what is new, if no other process does.
func (s *subscription) step(ctx context.Context) (wait time.Duration, err error) {
	seq, err := s.place()
	if err != nil {
		return s.Poll, err
	}
	if events, err := s.Store.Events(s.work, store.EventQuery{After: seq, Limit: 1}); err != nil || len(events) == 0 {
		return s.Poll, err
	}
	if held, err := s.hold(s.work, s.key(), s.holder); err != nil || !held {
		return s.Poll, err
	}
	under, stop := s.keepLease()
	more, err := s.handleBatch(ctx, under)
	stop()
	if err := s.release(s.work, s.key(), s.holder); err != nil {
		return s.Poll, err
	}
	switch {
	case err != nil:
		return s.Poll, err
	case s.failures > 0:
		wait := min(retryFirst<<min(s.failures-1, 20), retryLast)
		return max(s.Poll+1, wait+rand.N(wait/4)), nil // not to be woken before
	case more:
		return 0, nil
	}
	return s.Poll, nil
}

// place returns how far the subscriber has come in the feed. A new one begins at the end
// of the feed, or at its beginning if it asks for that.
func (s *subscription) place() (seq int64, err error) {
	seq, ok, err := readCursor(s.work, s.Store, s.key())
	if ok || err != nil {
		return seq, err
	}
	err = s.Store.Update(s.work, func(tx store.Tx) error {
		if seq, ok, err = readCursor(s.work, tx, s.key()); ok || err != nil {
			return err
		}
		if s.FromStart {
			if seq, err = license.PurgedThrough(s.work, tx); err != nil {
				return err
			}
		} else {
			newest, err := tx.Events(s.work, store.EventQuery{Descending: true, Limit: 1})
			if err != nil {
				return err
			}
			for _, e := range newest {
				seq = e.Seq
			}
		}
		return writeCursor(s.work, tx, s.key(), seq, s.now())
	})
	return seq, err
}

// keepLease prolongs the lease until stop is called. The context ends when the
// lease is lost.
func (s *subscription) keepLease() (under context.Context, stop func()) {
	under, cancel := context.WithCancel(s.work)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			pause(under, nil, leaseTTL/3)
			if under.Err() != nil {
				return
			}
			if held, err := s.hold(under, s.key(), s.holder); err != nil || !held {
				cancel()
				return
			}
		}
	}()
	return under, func() { cancel(); <-done }
}

// handleBatch hands over a batch of events, one after another, up to the first
// that fails, and moves the cursor along.
func (s *subscription) handleBatch(ctx, under context.Context) (more bool, err error) {
	seq, _, err := readCursor(s.work, s.Store, s.key())
	if err != nil {
		return false, err
	}
	events, err := s.Store.Events(s.work, store.EventQuery{After: seq, Limit: subscriberBatch})
	if err != nil {
		return false, err
	}
	if seq, err = s.skipPurged(seq, events); err != nil {
		return false, err
	}
	written, at := seq, time.Now()
	for _, e := range events {
		if ctx.Err() != nil || under.Err() != nil { // what follows is the next holder's
			break
		}
		if license.MatchTypes(s.Types, e.Type) {
			if err := s.handle(under, license.NewEvent(e)); err != nil {
				if s.failures++; under.Err() == nil {
					s.logFailure(ctx, e, err)
				}
				if s.failures >= stalledAfter {
					s.report(e.ID, s.failures)
				}
				break
			}
		}
		if s.failures >= stalledAfter || !s.reported {
			s.report(e.ID, 0)
		}
		s.failures = 0
		if seq = e.Seq; time.Since(at) > advanceEvery {
			if err := s.advance(seq); err != nil {
				return false, err
			}
			written, at = seq, time.Now()
		}
	}
	if seq != written {
		err = s.advance(seq)
	}
	return len(events) == subscriberBatch, err
}

// logFailure says that the subscriber failed, and, when it keeps failing, that
// it stands still.
func (s *subscription) logFailure(ctx context.Context, e store.Event, err error) {
	level, message := slog.LevelWarn, "licensing: a subscriber failed; the event is tried again"
	if s.failures >= stalledAfter {
		level, message = slog.LevelError, "licensing: a subscriber keeps failing, and the events after this one wait; let it return nil for an event that it cannot handle"
	}
	s.Logger.Log(ctx, level, message, "subscriber", s.Name, "event_id", e.ID, "event_type", e.Type, "failures", s.failures, "error", err)
}

// report stores how often the subscriber has failed, for the dashboard and the
// health of the service; a failure to store it is logged alone.
func (s *subscription) report(eventID string, failures int) {
	if err := s.Licenses.ReportSubscriber(s.work, s.Name, eventID, failures); err != nil {
		s.Logger.WarnContext(s.work, "licensing: the state of a subscriber could not be stored", "subscriber", s.Name, "error", err)
		return
	}
	s.reported = true
}

// skipPurged returns the subscriber's place in the feed, moved past the events
// that retention removed before the subscriber got them. The log says so.
func (s *subscription) skipPurged(seq int64, next []store.Event) (int64, error) {
	if len(next) == 0 || next[0].Seq == seq+1 {
		return seq, nil
	}
	purged, err := license.PurgedThrough(s.work, s.Store)
	if err != nil || purged <= seq {
		return seq, err
	}
	s.Logger.ErrorContext(s.work, "licensing: retention removed events before a subscriber got them; it continues after them",
		"subscriber", s.Name, "after_seq", seq, "purged_through_seq", purged)
	return purged, s.advance(purged)
}

// handle calls the subscriber. A panic in it is an error, and logged with
// where it came from.
func (s *subscription) handle(ctx context.Context, e license.Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.Logger.ErrorContext(ctx, "licensing: a subscriber panicked", "subscriber", s.Name, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return s.Handle(ctx, e)
}

// advance writes the subscriber's place, unless another process has taken
// over.
func (s *subscription) advance(seq int64) error {
	return s.Store.Update(s.work, func(tx store.Tx) error {
		if held, err := isHolder(s.work, tx, s.key(), s.holder, s.now()); err != nil || !held {
			return err
		}
		return writeCursor(s.work, tx, s.key(), seq, s.now())
	})
}

// touchCursors marks the places of this process's subscribers as in use, so
// that the events behind them are kept however long they cannot go on.
func (r *run) touchCursors() error {
	if len(r.Subscribers) == 0 {
		return nil
	}
	return r.Store.Update(r.work, func(tx store.Tx) error {
		for _, s := range r.Subscribers {
			seq, ok, err := readCursor(r.work, tx, license.SubscriberCursor+s.Name)
			if err == nil && ok {
				err = writeCursor(r.work, tx, license.SubscriberCursor+s.Name, seq, r.now())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
