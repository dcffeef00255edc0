package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
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
// subscriber's name and the event's Seq. A letter that is to be retried has the
// subscriber's name as Owner and expires when that was requested. Any other has no
// Owner and expires with the last failure.
const letterKind = "dead_letter"

// letterKeep is how long a dead letter is kept after it has expired.
const letterKeep = 30 * 24 * time.Hour

func letterKey(subscriber string, seq int64) string { return fmt.Sprintf("%s/%019d", subscriber, seq) }

// entry returns the entry of a letter that is not to be retried.
func (d DeadLetter) entry() (store.Entry, error) {
	data, err := json.Marshal(d)
	return store.Entry{Kind: letterKind, Key: letterKey(d.Subscriber, d.Seq), Data: data, ExpiresAt: d.At, CreatedAt: d.At}, err
}

func readLetter(e store.Entry) (d DeadLetter, err error) {
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return DeadLetter{}, fmt.Errorf("dead letter %s: %w", e.Key, err)
	}
	d.At = e.CreatedAt
	return d, nil
}

// DeadLetters returns the oldest thousand dead letters of a subscriber; empty: of each
// subscriber, in the order of their names.
func (e *Engine) DeadLetters(ctx context.Context, subscriber string) (letters []DeadLetter, err error) {
	names := []string{subscriber}
	if subscriber == "" {
		all, err := readSubscribers(ctx, e.Store)
		if err != nil {
			return nil, fmt.Errorf("dead letters: %w", err)
		}
		names = nil
		for _, s := range all {
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		some, err := lettersOf(ctx, e.Store, name, 0, store.MaxLimit)
		if err != nil {
			return nil, fmt.Errorf("dead letters: %w", err)
		}
		letters = append(letters, some...)
	}
	return letters, nil
}

// lettersOf returns the oldest dead letters of a subscriber about the event with a Seq
// and later ones, at most as many as limit. Those of subscribers whose names begin with
// this one and a slash may lie between.
func lettersOf(ctx context.Context, r store.Reader, name string, from int64, limit int) (letters []DeadLetter, err error) {
	q := store.EntryQuery{Kind: letterKind, From: letterKey(name, from), Before: store.PrefixEnd(name + "/"), Limit: limit}
	for len(letters) < limit {
		entries, err := r.Entries(ctx, q)
		if err != nil {
			return nil, err
		}
		other := ""
		for _, entry := range entries {
			d, err := readLetter(entry)
			if err != nil {
				return nil, err
			}
			if d.Subscriber != name {
				other = d.Subscriber
				break
			}
			letters = append(letters, d)
		}
		if other == "" {
			break
		}
		q.From = store.PrefixEnd(other + "/") // no letter of this subscriber is before that
	}
	return letters[:min(len(letters), limit)], nil
}

// place returns the position after the event of a letter.
func (d DeadLetter) place() Place { return PlaceOf(store.Event{Seq: d.Seq, ID: d.EventID}) }

// RetryDeadLetter makes the subscriber handle an event again, once. It returns
// an error that is store.ErrNotFound if there is no such letter, and another one if the
// feed does not have its event any more.
func (e *Engine) RetryDeadLetter(ctx context.Context, subscriber string, seq int64) error {
	err := e.Store.Update(ctx, func(tx store.Tx) error {
		entry, err := tx.Entry(ctx, letterKind, letterKey(subscriber, seq))
		if err != nil {
			return err
		}
		d, err := readLetter(entry)
		if err != nil {
			return err
		}
		if exists, err := d.place().Exists(ctx, tx); err != nil || !exists {
			return cmp.Or(err, fmt.Errorf("the feed does not have event %s any more", d.EventID))
		}
		entry.Owner, entry.ExpiresAt = subscriber, e.now()
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
// unless that fails or the feed does not have the event any more.
func (s *subscription) retryLetter(ctx, under context.Context, entry store.Entry) error {
	d, err := readLetter(entry)
	if err != nil {
		return err
	}
	events, err := s.engine.Store.Events(s.Work, store.EventQuery{After: d.Seq - 1, Limit: 1})
	if err != nil {
		return err
	}
	lost := len(events) == 0 || PlaceOf(events[0]) != d.place()
	if !lost {
		err = s.handle(under, events[0], d.Failures+1)
	}
	switch {
	case lost:
		s.engine.Logger.ErrorContext(ctx, "licensing: the event of a dead letter is not in the feed any more", "subscriber", s.Name, "event_id", d.EventID)
	case err == nil:
		return s.replaceLetter(entry, d)
	case under.Err() != nil:
		return nil // the next lease holder continues
	default:
		d.Failures++
		d.At = s.engine.now()
		s.engine.Logger.ErrorContext(ctx, "licensing: subscriber failed on a dead letter", "subscriber", s.Name, "event_id", d.EventID, "event_type", d.EventType, "failures", d.Failures, "error", err)
	}
	again, err := d.entry()
	if err != nil {
		return err
	}
	return s.replaceLetter(entry, d, again)
}

// replaceLetter removes a dead letter after a retry, or replaces it after a failed one,
// unless it has been removed or is to be retried again, or the letter of another event
// has its key because the store was set back.
func (s *subscription) replaceLetter(entry store.Entry, d DeadLetter, again ...store.Entry) error {
	return s.engine.Store.Update(s.Work, func(tx store.Tx) error {
		now, err := tx.Entry(s.Work, letterKind, entry.Key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if stored, err := readLetter(now); err != nil || stored.EventID != d.EventID {
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

// purgeLetters removes old dead letters.
func (e *Engine) purgeLetters(ctx context.Context) (more bool, err error) {
	if more, err = entries.Purge(ctx, e.Store, e.now().Add(-letterKeep), letterKind); err != nil {
		return false, fmt.Errorf("purge dead letters: %w", err)
	}
	return more, nil
}
