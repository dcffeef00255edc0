package feed

import (
	"context"
	"fmt"
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
		subscribers, err := readSubscribers(ctx, r)
		if err != nil {
			return err
		}
		for _, s := range subscribers {
			lag := Lag{Name: s.Name}
			if len(last) > 0 && last[0].Seq > s.Seq {
				next, err := r.Events(ctx, store.EventQuery{After: s.Seq, Limit: 1})
				if err != nil {
					return err
				}
				lag.Events, lag.Since = last[0].Seq-s.Seq, &next[0].Time
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
