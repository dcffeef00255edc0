package feed

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

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
	lease *Lease
}

func (s *subscription) key() string { return subscriberCursor + s.Name }

// idleWait is how long a subscriber waits for its bell. It bounds how long
// events wait for a subscriber whose process was killed.
const idleWait = leaseTTL

// Errors of settle.
var (
	errLeaseLost  = errors.New("another process runs the subscriber")
	errEventsLost = errors.New("the event feed has lost events that the subscriber has received")
)

// step passes new events to the subscriber unless another process does. The lease
// outlasts the step: a step that follows soon continues without an Update, and a
// holder that is idle lets the lease expire.
func (s *subscription) step(ctx context.Context) (Next, error) {
	rec, found, err := readSubscriber(s.Work, s.engine.Store, s.Name)
	if err != nil {
		return Next{}, err
	}
	letters, err := s.letters()
	if err != nil {
		return Next{}, err
	}
	if found {
		events, err := s.engine.Store.Events(s.Work, store.EventQuery{After: rec.Seq, Limit: 1})
		if err != nil || len(events) == 0 && len(letters) == 0 {
			return In(idleWait), err
		}
	}
	held, fresh, _, err := s.lease.Hold(s.Work)
	if err != nil || !held {
		return In(s.PollInterval), err
	}
	if fresh || !found { // another process may have moved the position
		if rec, err = s.begin(); err != nil {
			return Next{}, err
		}
	}
	if wait := rec.pause(s.engine.now()); wait > 0 { // also after a restart
		return Next{wait, true}, nil
	}
	under, stop := s.lease.Keep(s.Work)
	more, err := s.handleBatch(ctx, under, &rec)
	if err == nil && len(letters) > 0 {
		err = s.retryLetters(ctx, under)
	}
	stop()
	switch wait := rec.pause(s.engine.now()); {
	case errors.Is(err, errLeaseLost):
		return In(s.PollInterval), nil
	case errors.Is(err, errEventsLost):
		s.engine.Logger.WarnContext(ctx, "licensing: the event feed has lost events that a subscriber has received; continuing from the stored position", "subscriber", s.Name)
		return In(s.PollInterval), nil
	case err != nil:
		return Next{}, err
	case wait > 0:
		return Next{wait, true}, nil
	case more:
		return Next{}, nil
	}
	return In(s.PollInterval), nil // in case the lease was lost
}

// handleBatch handles a batch of events in order, up to the first that fails, and
// stores the progress in rec.
func (s *subscription) handleBatch(ctx, under context.Context, rec *subscriberRecord) (more bool, err error) {
	events, err := s.engine.Store.Events(s.Work, store.EventQuery{After: rec.Seq, Limit: subscriberBatch})
	if err == nil {
		err = s.skipPurged(rec, events)
	}
	if err != nil {
		return false, err
	}
	var last store.Event // before reached
	reached, at := rec.progress, time.Now()
	for _, e := range events {
		if ctx.Err() != nil || under.Err() != nil { // the next lease holder continues
			break
		}
		failed := reached.failuresOn(e) > 0
		if MatchTypes(s.Types, e.Type) {
			failure := s.handle(under, e, reached.failuresOn(e)+1)
			if failure != nil && under.Err() != nil { // interrupted, and handled again
				break
			}
			if failure != nil {
				past, err := s.fail(ctx, rec, reached, e, failure)
				if err != nil || !past {
					return false, err
				}
				reached, at = rec.progress, time.Now()
				continue
			}
		}
		last, reached = e, progress{Seq: e.Seq}
		if failed || time.Since(at) > advanceEvery {
			if err := s.settle(rec, reached, last); err != nil {
				return false, err
			}
			at = time.Now()
		}
	}
	if reached.Seq != rec.Seq {
		err = s.settle(rec, reached, last)
	}
	return len(events) == subscriberBatch, err
}

// fail stores a failure on an event, which becomes a dead letter with the last
// attempt. It reports whether the position has moved past the event.
func (s *subscription) fail(ctx context.Context, rec *subscriberRecord, reached progress, e store.Event, failure error) (past bool, err error) {
	next := reached.failed(e, failure, s.engine.now())
	if s.MaxAttempts == 0 || next.Failures < s.MaxAttempts {
		s.logFailure(ctx, e, next.Failures, failure)
		return false, s.settle(rec, next, e)
	}
	letter, err := DeadLetter{Subscriber: s.Name, EventID: e.ID, EventType: e.Type, Seq: e.Seq, Failures: next.Failures, At: s.engine.now()}.entry()
	if err == nil {
		err = s.settle(rec, progress{Seq: e.Seq}, e, letter)
	}
	if err != nil {
		return false, err
	}
	s.engine.Logger.ErrorContext(ctx, "licensing: subscriber gave up on an event, which is a dead letter now",
		"subscriber", s.Name, "event_id", e.ID, "event_type", e.Type, "failures", next.Failures, "error", failure)
	return true, nil
}

// logFailure logs a failure of the subscriber, as an error if it keeps failing.
func (s *subscription) logFailure(ctx context.Context, e store.Event, failures int, err error) {
	level, message := slog.LevelWarn, "licensing: subscriber failed; retrying the event"
	if failures >= stalledAfter {
		level, message = slog.LevelError, "licensing: subscriber keeps failing and later events wait; return nil for an event that cannot be handled"
	}
	s.engine.Logger.Log(ctx, level, message, "subscriber", s.Name, "event_id", e.ID, "event_type", e.Type, "failures", failures, "error", err)
}

// skipPurged moves the position past events that retention removed before the
// subscriber received them, and logs the loss.
func (s *subscription) skipPurged(rec *subscriberRecord, next []store.Event) error {
	if len(next) == 0 || next[0].Seq == rec.Seq+1 {
		return nil
	}
	purged, err := PurgedThrough(s.Work, s.engine.Store)
	if err != nil || purged <= rec.Seq {
		return err
	}
	s.engine.Logger.ErrorContext(s.Work, "licensing: retention removed events before a subscriber received them; continuing after them",
		"subscriber", s.Name, "after_seq", rec.Seq, "purged_through_seq", purged)
	return s.settle(rec, progress{Seq: purged}, next[0])
}

// handle calls the subscriber for an attempt at an event, counted from 1, and
// reports it.
func (s *subscription) handle(ctx context.Context, e store.Event, attempt int) error {
	began := time.Now()
	err := s.call(ctx, e)
	if !s.Observing() || err != nil && ctx.Err() != nil { // interrupted, and handled again
		return err
	}
	o := Report{Kind: ObservedSubscriber, Name: s.Name, Outcome: Succeeded, Attempt: attempt, Duration: time.Since(began), Err: err}
	if err != nil {
		if o.Outcome = Failed; s.MaxAttempts > 0 && attempt >= s.MaxAttempts {
			o.Outcome = GaveUp
		}
	}
	s.Observe(ctx, o)
	return err
}

// call calls the subscriber.
func (s *subscription) call(ctx context.Context, e store.Event) error {
	return s.engine.contain(ctx, s.key(), func() error { return s.Handle(ctx, e) })
}

// begin returns the record. A new subscriber starts at the end of the feed or, with
// FromStart, at its beginning.
func (s *subscription) begin() (rec subscriberRecord, err error) {
	err = s.engine.Store.Update(s.Work, func(tx store.Tx) error {
		var found bool
		if rec, found, err = readSubscriber(s.Work, tx, s.Name); err != nil || found {
			return err
		}
		if rec.Seq, err = s.start(tx); err != nil {
			return err
		}
		return rec.put(s.Work, tx, s.engine.now())
	})
	return rec, err
}

// start returns the first position of a new subscriber.
func (s *subscription) start(tx store.Tx) (seq int64, err error) {
	if s.FromStart {
		return PurgedThrough(s.Work, tx)
	}
	newest, err := Newest(s.Work, tx)
	return newest.seq, err
}

// settle stores the progress since rec, and dead letters with it. The progress comes
// from the events up to last. It returns errLeaseLost if this process does not hold the
// lease any more or the position is not that of rec, and errEventsLost if the feed does
// not have last any more.
func (s *subscription) settle(rec *subscriberRecord, next progress, last store.Event, letters ...store.Entry) error {
	var stored subscriberRecord
	err := s.engine.Store.Update(s.Work, func(tx store.Tx) (err error) {
		if stored, _, err = readSubscriber(s.Work, tx, s.Name); err != nil {
			return err
		}
		if held, err := s.lease.Check(s.Work, tx); err != nil || !held || stored.Seq != rec.Seq {
			return cmp.Or(err, errLeaseLost)
		}
		exists, err := PlaceOf(last).Exists(s.Work, tx)
		if err == nil && !exists {
			err = errEventsLost
		}
		if err != nil {
			return err
		}
		if len(letters) > 0 {
			if err := tx.PutEntries(s.Work, letters...); err != nil {
				return err
			}
		}
		stored.progress = next
		return stored.put(s.Work, tx, s.engine.now())
	})
	switch {
	case err == nil:
		*rec = stored
	case errors.Is(err, errLeaseLost):
		s.lease.Recheck()
	}
	return err
}
