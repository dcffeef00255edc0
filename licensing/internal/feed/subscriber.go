package feed

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// subscriberCursor is the key prefix of the cursors that hold the feed positions
// of subscribers.
const subscriberCursor = "subscriber:"

// A Subscriber is Go code that receives events.
type Subscriber struct {
	Name      string
	Types     []string
	FromStart bool
	// MaxAttempts is how often Handle is called with an event before it
	// becomes a dead letter; zero: without limit.
	MaxAttempts int

	Handle func(context.Context, store.Event) error
}

const (
	subscriberBatch = 100
	// advanceEvery is how often the position of a busy subscriber is
	// written. Events handled since are repeated if the process is killed.
	advanceEvery = 200 * time.Millisecond
	retryFirst   = time.Second
	retryLast    = 5 * time.Minute
	stalledAfter = 5 // consecutive failures
)

// A subscription is a subscriber in one run.
type subscription struct {
	*Run
	Subscriber
	holder   string
	failures int // consecutive, on the next event
	reported bool
}

func (s *subscription) key() string { return subscriberCursor + s.Name }

// idleWait is how long a subscriber waits for its bell. It bounds how long
// events wait for a subscriber whose process was killed.
const idleWait = leaseTTL

// step passes new events to the subscriber unless another process does.
func (s *subscription) step(ctx context.Context) (Next, error) {
	seq, err := s.place()
	if err != nil {
		return Next{}, err
	}
	events, err := s.engine.Store.Events(s.Work, store.EventQuery{After: seq, Limit: 1})
	if err != nil {
		return Next{}, err
	}
	letters, err := s.letters()
	if err != nil || len(events) == 0 && len(letters) == 0 {
		return In(idleWait), err
	}
	if held, err := s.engine.hold(s.Work, s.key(), s.holder); err != nil || !held {
		return In(s.PollInterval), err
	}
	under, stop := s.keepLease()
	more, err := s.handleBatch(ctx, under)
	if err == nil && len(letters) > 0 {
		err = s.retryLetters(ctx, under)
	}
	stop()
	if err := s.engine.release(s.Work, s.key(), s.holder); err != nil {
		return Next{}, err
	}
	switch {
	case err != nil:
		return Next{}, err
	case s.failures > 0:
		return Next{min(retryFirst<<min(s.failures-1, 20), retryLast), true}, nil
	case more:
		return Next{}, nil
	}
	return In(s.PollInterval), nil // in case the lease was lost
}

// place returns the subscriber's position in the feed. A new subscriber starts at
// the end of the feed or, with FromStart, at its beginning.
func (s *subscription) place() (seq int64, err error) {
	seq, ok, err := ReadCursor(s.Work, s.engine.Store, s.key())
	if ok || err != nil {
		return seq, err
	}
	err = s.engine.Store.Update(s.Work, func(tx store.Tx) error {
		if seq, ok, err = ReadCursor(s.Work, tx, s.key()); ok || err != nil {
			return err
		}
		if s.FromStart {
			if seq, err = PurgedThrough(s.Work, tx); err != nil {
				return err
			}
		} else {
			newest, err := tx.Events(s.Work, store.EventQuery{Descending: true, Limit: 1})
			if err != nil {
				return err
			}
			for _, e := range newest {
				seq = e.Seq
			}
		}
		return WriteCursor(s.Work, tx, s.key(), seq, s.engine.now())
	})
	return seq, err
}

// keepLease extends the lease until stop is called. The context ends when the
// lease is lost.
func (s *subscription) keepLease() (under context.Context, stop func()) {
	under, cancel := context.WithCancel(s.Work)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			Pause(under, leaseTTL/3)
			if under.Err() != nil {
				return
			}
			if held, err := s.engine.hold(under, s.key(), s.holder); err != nil || !held {
				cancel()
				return
			}
		}
	}()
	return under, func() { cancel(); <-done }
}

// handleBatch handles a batch of events in order, up to the first that fails, and
// advances the cursor.
func (s *subscription) handleBatch(ctx, under context.Context) (more bool, err error) {
	seq, _, err := ReadCursor(s.Work, s.engine.Store, s.key())
	if err != nil {
		return false, err
	}
	events, err := s.engine.Store.Events(s.Work, store.EventQuery{After: seq, Limit: subscriberBatch})
	if err != nil {
		return false, err
	}
	if seq, err = s.skipPurged(seq, events); err != nil {
		return false, err
	}
	written, at := seq, time.Now()
	for _, e := range events {
		if ctx.Err() != nil || under.Err() != nil { // the next lease holder continues
			break
		}
		if MatchTypes(s.Types, e.Type) {
			if err := s.handle(under, e, s.failures+1); err != nil {
				past, err := s.fail(ctx, under, e, err)
				if err != nil {
					return false, err
				}
				if !past {
					break
				}
				written, at = e.Seq, time.Now()
			}
		}
		if s.failures >= stalledAfter || !s.reported {
			s.report(e.ID, 0, nil)
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

// fail counts a failure on an event, which becomes a dead letter with the last
// attempt. It reports whether the position has moved past the event.
func (s *subscription) fail(ctx, under context.Context, e store.Event, failure error) (past bool, err error) {
	s.failures++
	if s.MaxAttempts > 0 && s.failures >= s.MaxAttempts && under.Err() == nil {
		s.engine.Logger.ErrorContext(ctx, "licensing: subscriber gave up on an event, which is a dead letter now",
			"subscriber", s.Name, "event_id", e.ID, "event_type", e.Type, "failures", s.failures, "error", failure)
		return s.giveUp(e)
	}
	if under.Err() == nil {
		s.logFailure(ctx, e, failure)
	}
	if s.failures >= stalledAfter {
		s.report(e.ID, s.failures, failure)
	}
	return false, nil
}

// logFailure logs a failure of the subscriber, as an error if it keeps failing.
func (s *subscription) logFailure(ctx context.Context, e store.Event, err error) {
	level, message := slog.LevelWarn, "licensing: subscriber failed; retrying the event"
	if s.failures >= stalledAfter {
		level, message = slog.LevelError, "licensing: subscriber keeps failing and later events wait; return nil for an event that cannot be handled"
	}
	s.engine.Logger.Log(ctx, level, message, "subscriber", s.Name, "event_id", e.ID, "event_type", e.Type, "failures", s.failures, "error", err)
}

// report stores how often the subscriber has failed, and the last error, for the
// dashboard and Handler.Backlog. A failure to store it is only logged.
func (s *subscription) report(eventID string, failures int, failure error) {
	if err := s.engine.reportSubscriber(s.Work, s.Name, eventID, failures, failure); err != nil {
		s.engine.Logger.WarnContext(s.Work, "licensing: storing the state of a subscriber failed", "subscriber", s.Name, "error", err)
		s.ObserveStoreError(s.Work, s.key(), err)
		return
	}
	s.reported = true
}

// skipPurged returns the subscriber's position, moved past events that retention
// removed before the subscriber received them, and logs the loss.
func (s *subscription) skipPurged(seq int64, next []store.Event) (int64, error) {
	if len(next) == 0 || next[0].Seq == seq+1 {
		return seq, nil
	}
	purged, err := PurgedThrough(s.Work, s.engine.Store)
	if err != nil || purged <= seq {
		return seq, err
	}
	s.engine.Logger.ErrorContext(s.Work, "licensing: retention removed events before a subscriber received them; continuing after them",
		"subscriber", s.Name, "after_seq", seq, "purged_through_seq", purged)
	return purged, s.advance(purged)
}

// handle calls the subscriber for an attempt at an event, counted from 1, and
// reports it.
func (s *subscription) handle(ctx context.Context, e store.Event, attempt int) error {
	began := time.Now()
	err := s.call(ctx, e)
	if !s.Observing() || err != nil && ctx.Err() != nil { // interrupted, and handled again
		return err
	}
	o := Observation{Kind: ObservedSubscriber, Name: s.Name, Outcome: Succeeded, Attempt: attempt, Duration: time.Since(began), Err: err}
	if err != nil {
		if o.Outcome = Failed; s.MaxAttempts > 0 && attempt >= s.MaxAttempts {
			o.Outcome = GaveUp
		}
	}
	s.Observe(ctx, o)
	return err
}

// call calls the subscriber. A panic becomes an error and is logged with its
// stack.
func (s *subscription) call(ctx context.Context, e store.Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.engine.Logger.ErrorContext(ctx, "licensing: subscriber panicked", "subscriber", s.Name, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return s.Handle(ctx, e)
}

// advance writes the subscriber's position unless another process holds the
// lease.
func (s *subscription) advance(seq int64) error {
	return s.engine.Store.Update(s.Work, func(tx store.Tx) error {
		if held, err := isHolder(s.Work, tx, s.key(), s.holder, s.engine.now()); err != nil || !held {
			return err
		}
		return WriteCursor(s.Work, tx, s.key(), seq, s.engine.now())
	})
}
