package license

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A HistoryEvent is an event about a license with its data decoded.
type HistoryEvent struct {
	Seq       int64 // position in the feed
	ID        string
	Type      string // such as [EventLicenseCreated]
	Time      time.Time
	Actor     string // such as "client:cid_…" or "go"
	RequestID string // of the request that caused it, if any
	Data      EventData
}

// HistoryParams select a page of a license's history.
type HistoryParams struct {
	ID     string
	Before int64 // the last Seq of the previous page; 0: start with the newest
	Limit  int   // 1 to 200; 0: 20
}

// History returns a page of the events about a license that are still in the
// feed, newest first. It returns [ErrNotFound] if the license does not exist
// for the caller.
func (s *Service) History(ctx context.Context, p HistoryParams) ([]HistoryEvent, error) {
	if p.Limit == 0 {
		p.Limit = 20
	}
	if p.Limit < 1 || p.Limit > 200 {
		return nil, Invalid("limit", CodeOutOfRange, "must be between 1 and 200")
	}
	if _, err := s.Get(ctx, p.ID); err != nil {
		return nil, err
	}
	events, err := s.reader().Events(ctx, store.EventQuery{Subject: p.ID, After: p.Before, Descending: true, Limit: p.Limit})
	if err != nil {
		return nil, fmt.Errorf("history of license %s: %w", p.ID, err)
	}
	history := make([]HistoryEvent, len(events))
	for i, e := range events {
		history[i] = HistoryEvent{Seq: e.Seq, ID: e.ID, Type: e.Type, Time: e.Time, Actor: e.Actor, RequestID: e.RequestID}
		if err := json.Unmarshal(e.Data, &history[i].Data); err != nil {
			return nil, fmt.Errorf("history of license %s: event %s: %w", p.ID, e.ID, err)
		}
	}
	return history, nil
}
