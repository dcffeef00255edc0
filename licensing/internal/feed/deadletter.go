package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A DeadLetter is an event that a subscriber gave up on.
type DeadLetter struct {
	Subscriber string    `json:"subscriber"`
	EventID    string    `json:"event_id"`
	EventType  string    `json:"event_type"`
	Seq        int64     `json:"seq"`
	Failures   int       `json:"failures"`
	At         time.Time `json:"-"` // of the last failure
}

// letterKind is the kind of the entries that hold dead letters. The Key is the
// subscriber's name and the event's Seq; the Owner is the name. One expires when
// it is to be retried.
const letterKind = "dead_letter"

func letterKey(subscriber string, seq int64) string { return fmt.Sprintf("%s/%019d", subscriber, seq) }

// entry returns the entry of a letter that is retried at an instant; zero: not.
func (d DeadLetter) entry(retry time.Time) (store.Entry, error) {
	data, err := json.Marshal(d)
	return store.Entry{Kind: letterKind, Key: letterKey(d.Subscriber, d.Seq), Owner: d.Subscriber, Data: data, ExpiresAt: retry, CreatedAt: d.At}, err
}

func readLetter(e store.Entry) (d DeadLetter, err error) {
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return DeadLetter{}, fmt.Errorf("dead letter %s: %w", e.Key, err)
	}
	d.At = e.CreatedAt
	return d, nil
}

// DeadLetters returns the oldest thousand dead letters of a subscriber; empty: of
// all.
func (e *Engine) DeadLetters(ctx context.Context, subscriber string) (letters []DeadLetter, err error) {
	q := store.EntryQuery{Kind: letterKind}
	if subscriber != "" {
		q.From, q.Before = subscriber+"/", store.PrefixEnd(subscriber+"/")
	}
	entries, err := e.Store.Entries(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	for _, entry := range entries {
		d, err := readLetter(entry)
		if err != nil {
			return nil, err
		}
		if subscriber == "" || d.Subscriber == subscriber { // a name may contain a slash
			letters = append(letters, d)
		}
	}
	return letters, nil
}

// RetryDeadLetter makes the subscriber handle an event again, once. It returns
// an error that is store.ErrNotFound if there is no such letter.
func (e *Engine) RetryDeadLetter(ctx context.Context, subscriber string, seq int64) error {
	err := e.Store.Update(ctx, func(tx store.Tx) error {
		entry, err := tx.Entry(ctx, letterKind, letterKey(subscriber, seq))
		if err != nil {
			return err
		}
		entry.ExpiresAt = e.now()
		return tx.PutEntries(ctx, entry)
	})
	if err != nil {
		return fmt.Errorf("retry dead letter: %w", err)
	}
	e.Nudge()
	return nil
}

// letters returns the dead letters that are to be retried.
func (s *subscription) letters() ([]store.Entry, error) {
	return s.engine.Store.Entries(s.Work, store.EntryQuery{Kind: letterKind, Order: store.ByExpiry, Owner: s.Name, Limit: subscriberBatch})
}

// retryLetters handles the events of dead letters again, each once.
func (s *subscription) retryLetters(ctx, under context.Context) error {
	entries, err := s.letters()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if ctx.Err() != nil || under.Err() != nil {
			return nil
		}
		if err := s.retryLetter(ctx, under, entry); err != nil {
			return err
		}
	}
	return nil
}

// retryLetter handles the event of a dead letter again. It removes the letter
// unless that fails.
func (s *subscription) retryLetter(ctx, under context.Context, entry store.Entry) error {
	d, err := readLetter(entry)
	if err != nil {
		return err
	}
	events, err := s.engine.Store.Events(s.Work, store.EventQuery{After: d.Seq - 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(events) == 0 || events[0].ID != d.EventID {
		s.engine.Logger.ErrorContext(ctx, "licensing: retention removed the event of a dead letter", "subscriber", s.Name, "event_id", d.EventID)
	} else if err := s.handle(under, events[0], d.Failures+1); err != nil && under.Err() != nil {
		return nil // the next lease holder continues
	} else if err != nil {
		d.Failures++
		s.engine.Logger.ErrorContext(ctx, "licensing: subscriber failed on a dead letter", "subscriber", s.Name, "event_id", d.EventID, "event_type", d.EventType, "failures", d.Failures, "error", err)
		d.At = s.engine.now()
		again, err := d.entry(time.Time{})
		if err != nil {
			return err
		}
		return s.replaceLetter(entry, again)
	}
	return s.replaceLetter(entry)
}

// replaceLetter removes a dead letter after a retry, or replaces it after a failed one,
// unless it has been removed or is to be retried again.
func (s *subscription) replaceLetter(entry store.Entry, again ...store.Entry) error {
	return s.engine.Store.Update(s.Work, func(tx store.Tx) error {
		now, err := tx.Entry(s.Work, letterKind, entry.Key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(again) == 0 {
			return tx.DeleteEntries(s.Work, letterKind, entry.Key)
		}
		if !now.ExpiresAt.Equal(entry.ExpiresAt) {
			return nil
		}
		return tx.PutEntries(s.Work, again...)
	})
}
