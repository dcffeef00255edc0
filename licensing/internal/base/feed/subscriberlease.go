package feed

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Errors of settle.
var (
	errLeaseLost  = errors.New("another process runs the subscriber")
	errEventsLost = errors.New("the event feed has lost events that the subscriber has received")
)

// acquire makes this process the holder of the subscriber's lease, unless another
// process is, and returns the record. A new subscriber starts at the end of the feed
// or, with FromStart, at its beginning.
func (s *subscription) acquire() (rec subscriberRecord, held bool, err error) {
	err = s.engine.Store.Update(s.Work, func(tx store.Tx) error {
		var found bool
		if rec, found, err = readSubscriber(s.Work, tx, s.Name); err != nil {
			return err
		}
		now := s.engine.now()
		if held = rec.Holder == s.holder || !rec.leased(now); !held {
			return nil
		}
		if !found {
			if rec.Seq, err = s.start(tx); err != nil {
				return err
			}
		}
		rec.Holder, rec.Until = s.holder, now.Add(leaseTTL)
		return rec.put(s.Work, tx, now)
	})
	s.acquired = s.acquired || held || err != nil
	return rec, held && err == nil, err
}

// start returns the first position of a new subscriber.
func (s *subscription) start(tx store.Tx) (seq int64, err error) {
	if s.FromStart {
		return PurgedThrough(s.Work, tx)
	}
	newest, err := Newest(s.Work, tx)
	return newest.seq, err
}

// extend extends the lease. It returns false if this process is not the holder any
// more: only acquire reads the position that another process may have moved.
func (s *subscription) extend(ctx context.Context) (held bool, err error) {
	err = s.engine.Store.Update(ctx, func(tx store.Tx) error {
		rec, _, err := readSubscriber(ctx, tx, s.Name)
		if held = rec.Holder == s.holder; err != nil || !held {
			return err
		}
		now := s.engine.now()
		rec.Until = now.Add(leaseTTL)
		return rec.put(ctx, tx, now)
	})
	return held && err == nil, err
}

// keepLease extends the lease until stop is called. The context ends when the lease
// is lost, or has expired because the store does not answer.
func (s *subscription) keepLease(rec subscriberRecord) (under context.Context, stop func()) {
	under, cancel := context.WithCancel(s.Work)
	done := make(chan struct{})
	go func() {
		defer close(done)
		until := time.Now().Add(rec.Until.Sub(s.engine.now()))
		for Pause(under, leaseTTL/3); under.Err() == nil; Pause(under, leaseTTL/3) {
			var held bool
			err := s.engine.contain(under, s.key(), func() (err error) {
				held, err = s.extend(under)
				return err
			})
			switch {
			case held:
				until = time.Now().Add(leaseTTL)
			case err == nil || !time.Now().Before(until):
				cancel()
			}
		}
	}()
	return under, func() { cancel(); <-done }
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
		if stored.Holder != s.holder || stored.Seq != rec.Seq {
			return errLeaseLost
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
		now := s.engine.now()
		stored.progress, stored.Until = next, now.Add(leaseTTL)
		return stored.put(s.Work, tx, now)
	})
	if err == nil {
		*rec = stored
	}
	return err
}

// release releases the lease at the end of the Run.
func (s *subscription) release() {
	if !s.acquired {
		return
	}
	err := s.engine.Store.Update(s.Work, func(tx store.Tx) error {
		rec, _, err := readSubscriber(s.Work, tx, s.Name)
		if err != nil || rec.Holder != s.holder {
			return err
		}
		rec.Holder, rec.Until = "", time.Time{}
		return rec.put(s.Work, tx, s.engine.now())
	})
	if err != nil && s.Work.Err() == nil {
		s.engine.Logger.WarnContext(s.Work, "licensing: releasing a lease failed; it expires", "lease", s.key(), "error", err)
	}
}
