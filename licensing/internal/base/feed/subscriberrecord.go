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

// The entry of a subscriber has this kind. Its Key is subscriberCursor and the name, and
// its Data a [subscriberRecord].
const (
	cursorKind       = "subscriber_cursor"
	subscriberCursor = "subscriber:"
)

// A subscriberRecord is what is stored about a subscriber. Every write sets WrittenAt, so
// that retention knows that a process runs the subscriber.
type subscriberRecord struct {
	progress
	Name      string    `json:"-"`
	WrittenAt time.Time `json:"-"`
}

// A progress is the position of a subscriber in the feed, and how it fails there.
type progress struct {
	Seq int64 `json:"seq"` // of the last event that the subscriber does not need any more

	// The next event that the subscriber needs, if it has failed on it.
	Event    string    `json:"event,omitempty"` // its ID; empty: it has not failed
	Failures int       `json:"failures,omitempty"`
	Since    time.Time `json:"since,omitzero"` // the first failure
	Next     time.Time `json:"next,omitzero"`  // when the event is handled again
	Error    string    `json:"error,omitempty"`
}

// failuresOn returns how many times the subscriber has failed on an event.
func (p progress) failuresOn(e store.Event) int {
	if p.Event != e.ID {
		return 0
	}
	return p.Failures
}

// failed returns the progress after another failure on an event, at the position of
// p.
func (p progress) failed(e store.Event, failure error, now time.Time) progress {
	failures, since := p.failuresOn(e)+1, p.Since
	if failures == 1 {
		since = now
	}
	wait := min(retryFirst<<min(failures-1, 20), retryLast)
	return progress{Seq: p.Seq, Event: e.ID, Failures: failures, Since: since, Next: now.Add(wait), Error: errorText(failure)}
}

// pause returns how long it takes until the next event is handled again. A time that
// is further ahead than the longest pause was stored while a clock was ahead.
func (p progress) pause(now time.Time) time.Duration {
	if wait := p.Next.Sub(now); wait > 0 && wait <= retryLast {
		return wait
	}
	return 0
}

// put stores the record.
func (rec subscriberRecord) put(ctx context.Context, tx store.Tx, now time.Time) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("subscriber %s: %w", rec.Name, err)
	}
	return tx.PutEntries(ctx, store.Entry{Kind: cursorKind, Key: subscriberCursor + rec.Name, Data: data, CreatedAt: now})
}

// readSubscriber returns the record of a subscriber, if it exists.
func readSubscriber(ctx context.Context, r store.Reader, name string) (rec subscriberRecord, found bool, err error) {
	e, err := r.Entry(ctx, cursorKind, subscriberCursor+name)
	if errors.Is(err, store.ErrNotFound) {
		return subscriberRecord{Name: name}, false, nil
	}
	if err == nil {
		rec, err = readSubscriberEntry(e)
	}
	if err != nil {
		return subscriberRecord{}, false, fmt.Errorf("subscriber %s: %w", name, err)
	}
	return rec, true, nil
}

// readSubscribers returns the records of all subscribers, in the order of their
// names.
func readSubscribers(ctx context.Context, r store.Reader) (all []subscriberRecord, err error) {
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: cursorKind, From: subscriberCursor, Before: store.PrefixEnd(subscriberCursor)})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		rec, err := readSubscriberEntry(e)
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}

func readSubscriberEntry(e store.Entry) (rec subscriberRecord, err error) {
	rec.Name, rec.WrittenAt = strings.TrimPrefix(e.Key, subscriberCursor), e.CreatedAt
	if err := json.Unmarshal(e.Data, &rec); err != nil {
		return rec, fmt.Errorf("cursor %s: %w", e.Key, err)
	}
	return rec, nil
}

// maxError is how many bytes of an error are kept.
const maxError = 500

// errorText returns the beginning of the text of an error.
func errorText(err error) string {
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	return text
}
