package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// How many events one call examines for a filter.
const (
	feedBatch  = 500
	feedBudget = 1000
)

// Events reads the event feed in commit order; see package license.
func (s Service) Events(ctx context.Context, p api.ListEventsParams) (api.Page[api.Event], error) {
	broken := call.CheckTags(p)
	if slices.ContainsFunc(p.Types, func(t string) bool { return !feed.IsPattern(t, api.EventTypes()) }) {
		broken = append(broken, api.FieldError{Field: "type", Code: api.FieldUnknown, Detail: `must be a family such as "license.*", or one of ` + strings.Join(api.EventTypes(), ", ")})
	}
	if !p.Before.IsZero() && !p.NewestFirst {
		broken = append(broken, api.FieldError{Field: "before", Code: api.FieldOutOfRange, Detail: "is for a list with newest_first; set that, or omit before"})
	}
	after, ok := feed.ParsePlace(p.After)
	if !ok {
		broken = append(broken, api.FieldError{Field: "after", Code: api.FieldInvalidFormat, Detail: "must be the next_cursor of a page of events; omit it to start over"})
	}
	if len(broken) > 0 {
		return api.Page[api.Event]{}, &api.InvalidError{Fields: broken}
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	return call.View(ctx, s.Call, "events", func(r store.Reader) (page api.Page[api.Event], err error) {
		if !p.Before.IsZero() && p.After == "" {
			if after, err = feed.Before(ctx, r, p.Before); err != nil {
				return page, err
			}
		}
		if page, err = s.readEvents(ctx, r, p, after); err == nil {
			err = s.hideReferences(ctx, r, page.Data)
		}
		return page, err
	})
}

// EventsBefore returns the cursor of a list of events, newest first, that has every event
// from before an instant; see [feed.Before].
func (s Service) EventsBefore(ctx context.Context, at time.Time) (cursor string, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		p, err := feed.Before(ctx, r, at)
		if p != (feed.Place{}) {
			cursor = p.String()
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("events: %w", err)
	}
	return cursor, nil
}

// readEvents reads one page from a snapshot.
func (s Service) readEvents(ctx context.Context, r store.Reader, p api.ListEventsParams, at feed.Place) (api.Page[api.Event], error) {
	if !p.NewestFirst { // a backward list cannot miss new events
		purged, err := feed.ReadPurged(ctx, r)
		if err != nil {
			return api.Page[api.Event]{}, err
		}
		if p.After == "" {
			at = purged
		} else if err := at.Check(ctx, r, purged); err != nil {
			return api.Page[api.Event]{}, err
		}
	}
	q := store.EventQuery{
		Subject: p.Subject, CustomerID: p.CustomerID,
		After: at.Seq(), Descending: p.NewestFirst, Limit: p.Limit + 1,
	}
	if len(p.Types) > 0 || !p.Before.IsZero() || len(s.Caller.Products) > 1 {
		q.Limit = feedBatch
	}
	page := api.Page[api.Event]{Data: make([]api.Event, 0, min(p.Limit, valid.DefaultLimit))}
	for examined := 0; ; {
		rows, more, err := s.listEvents(ctx, r, q)
		if err != nil {
			return api.Page[api.Event]{}, err
		}
		for _, row := range rows {
			if feed.MatchTypes(p.Types, row.Type) && (p.Before.IsZero() || row.Time.Before(p.Before)) {
				if len(page.Data) == p.Limit {
					page.HasMore, page.NextCursor = true, at.String()
					return page, nil
				}
				page.Data = append(page.Data, feed.NewEvent(row))
			}
			at = feed.PlaceOf(row)
		}
		q.After = at.Seq()
		examined += len(rows)
		page.HasMore = more
		if !page.HasMore && !p.NewestFirst && (p.Subject != "" || p.CustomerID != "" || s.Caller.Products != nil) {
			// The rest of the feed was examined too. A cursor at the last match
			// would be gone as soon as retention removes that event.
			newest, err := r.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
			if err != nil {
				return api.Page[api.Event]{}, err
			}
			if len(newest) > 0 {
				at = feed.PlaceOf(newest[0])
			}
		}
		if page.HasMore || !p.NewestFirst {
			page.NextCursor = at.String()
		}
		if !page.HasMore || examined >= feedBudget {
			return page, nil
		}
	}
}

// listEvents returns events of q that exist for the caller, and whether more may
// follow them. A store filters by one product at a time, so it reads one list
// per product of a limited caller and merges them.
func (s Service) listEvents(ctx context.Context, r store.Reader, q store.EventQuery) (rows []store.Event, more bool, err error) {
	if s.Caller.Products == nil {
		rows, err = r.Events(ctx, q)
		return rows, len(rows) == q.Limit, err
	}
	products := s.OnlyProducts()
	limit := q.Limit
	q.Limit = limit/max(len(products), 1) + 1
	var end int64 // where the first of the lists that continue has been read to
	for _, q.ProductID = range products {
		part, err := r.Events(ctx, q)
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, part...)
		if len(part) == q.Limit {
			last := part[len(part)-1].Seq
			if !more || last < end != q.Descending {
				end = last
			}
			more = true
		}
	}
	slices.SortFunc(rows, func(a, b store.Event) int {
		if q.Descending {
			a, b = b, a
		}
		return cmp.Compare(a.Seq, b.Seq)
	})
	for i, row := range rows {
		if i == limit || more && row.Seq > end != q.Descending && row.Seq != end {
			return rows[:i], true, nil
		}
	}
	return rows, more, nil
}
