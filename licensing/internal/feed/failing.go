package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A FailingSubscriber is a subscriber that keeps failing on one event while
// later events wait.
type FailingSubscriber struct {
	Name     string    `json:"name"`
	EventID  string    `json:"event_id"`
	Failures int       `json:"failures"` // in a row
	Since    time.Time `json:"since"`
	Error    string    `json:"error"` // of the last failure, cut to maxError bytes
}

// maxError is how many bytes of an error are kept.
const maxError = 500

const (
	failingKind = "subscriber_failing" // kind of entries, one for each failing subscriber
	// failingTTL is how long a report counts. It is longer than the longest
	// pause between two attempts.
	failingTTL = time.Hour
)

// reportSubscriber records how many times in a row a subscriber has failed
// on an event, and the last error; zero failures clear the record.
func (e *Engine) reportSubscriber(ctx context.Context, name, eventID string, failures int, failure error) error {
	err := e.Store.Update(ctx, func(tx store.Tx) error {
		now := e.now()
		if failures == 0 {
			if err := tx.DeleteEntries(ctx, failingKind, name); !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return nil
		}
		f := FailingSubscriber{Name: name, EventID: eventID, Failures: failures, Since: now, Error: errorText(failure)}
		old, err := tx.Entry(ctx, failingKind, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil {
			var before FailingSubscriber
			if err := json.Unmarshal(old.Data, &before); err != nil {
				return err
			}
			if before.EventID == eventID {
				f.Since = before.Since
			}
		}
		data, err := json.Marshal(f)
		if err != nil {
			return err
		}
		return tx.PutEntries(ctx, store.Entry{Kind: failingKind, Key: name, Data: data, ExpiresAt: now.Add(failingTTL), CreatedAt: now, Move: store.Passing})
	})
	if err != nil {
		return fmt.Errorf("report subscriber %s: %w", name, err)
	}
	return nil
}

// errorText returns the beginning of the text of an error.
func errorText(err error) string {
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	return text
}

// failingSubscribers returns the subscribers that keep failing.
func failingSubscribers(ctx context.Context, r store.Reader, now time.Time) (failing []FailingSubscriber, err error) {
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: failingKind, Order: store.ByExpiry, Expires: store.TimeRange{From: now}})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		var f FailingSubscriber
		if err := json.Unmarshal(e.Data, &f); err != nil {
			return nil, fmt.Errorf("subscriber %s: %w", e.Key, err)
		}
		failing = append(failing, f)
	}
	return failing, nil
}
