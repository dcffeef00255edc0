package license

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A HistoryEvent is one thing that happened to a license.
type HistoryEvent struct {
	Seq       int64 // its place in the feed
	ID        string
	Type      string // such as [EventLicenseCreated]
	Time      time.Time
	Actor     string // who did it, such as "client:cid_…" or "go"
	RequestID string // the request that did it, if one did
	Data      EventData
}

// HistoryParams select a part of the history of one license.
type HistoryParams struct {
	ID     string
	Before int64 // the Seq of the last event of the page before; 0: from the newest
	Limit  int   // 0: 20; else 1–200
}

// History lists what happened to a license, newest first, as far as the feed
// goes back. A license that does not exist for the caller is [ErrNotFound].
func (s *Service) History(ctx context.Context, p HistoryParams) ([]HistoryEvent, error) {
	if p.Limit == 0 {
		p.Limit = 20
	}
	if p.Limit < 1 || p.Limit > 200 {
		return nil, Invalid("limit", CodeOutOfRange, "must be from 1 to 200")
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
