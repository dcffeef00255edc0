package feed

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Lag is how far a subscriber is behind the feed.
type Lag struct {
	Name   string
	Events int64      // how many events it has not received, including those of other types
	Since  *time.Time // when the first of them was written; nil: none
}

// Lags returns the lag of each subscriber that has a stored position, in any
// process.
func (e *Engine) Lags(ctx context.Context) (lags []Lag, err error) {
	err = e.Store.View(ctx, func(r store.Reader) error {
		lags = nil
		last, err := r.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
		if err != nil {
			return err
		}
		cursors, err := r.Entries(ctx, store.EntryQuery{Kind: cursorKind, From: subscriberCursor, Before: store.PrefixEnd(subscriberCursor)})
		if err != nil {
			return err
		}
		for _, c := range cursors {
			seq, _, err := ReadCursor(ctx, r, c.Key)
			if err != nil {
				return err
			}
			lag := Lag{Name: strings.TrimPrefix(c.Key, subscriberCursor)}
			if len(last) > 0 && last[0].Seq > seq {
				next, err := r.Events(ctx, store.EventQuery{After: seq, Limit: 1})
				if err != nil {
					return err
				}
				lag.Events, lag.Since = last[0].Seq-seq, &next[0].Time
			}
			lags = append(lags, lag)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lags: %w", err)
	}
	return lags, nil
}
