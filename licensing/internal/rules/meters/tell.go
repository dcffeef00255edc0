package meters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	tellCheck = time.Minute
	tellBatch = 50
)

// TellTask returns the task of Run that appends usage.counted events.
func (s Service) TellTask(r *feed.Run) feed.Task {
	return feed.Task{Name: "usage_events", Step: func(context.Context) (feed.Next, error) {
		more, err := s.TellUsage(r.Work)
		if more {
			return feed.In(0), err
		}
		return feed.In(tellCheck), err
	}}
}

// TellUsage appends a usage.counted event for each meter and period whose usage of the last
// hour no event has told, and removes periods that are no longer kept, a batch of both. It
// reports whether there may be more to do. Event and row are written in one Update, so a
// process that is killed tells nothing twice and loses nothing.
func (s Service) TellUsage(ctx context.Context) (more bool, err error) {
	as := s.As(call.Caller{Actor: call.ClockActor})
	s = Of(&as)
	more, err = s.DoDue(ctx, "usage_events", MeterKind, tellBatch, func(tx *call.Tx, due []store.Entry) error {
		return s.tellRows(ctx, tx, due)
	})
	if err != nil {
		err = fmt.Errorf("usage events: %w", err)
	}
	return more, err
}

// tellRows tells what is due, and removes what is no longer kept and what is left of deleted
// licenses.
func (s Service) tellRows(ctx context.Context, tx *call.Tx, due []store.Entry) error {
	var gone []string
	for _, e := range due {
		r, err := readRow(e)
		if err != nil {
			return err
		}
		id, _, _ := parseRowKey(e.Key)
		var l record.License
		if r.Used != r.Told {
			l, err = licenseOf(ctx, tx, id)
		}
		if r.Used == r.Told || errors.Is(err, store.ErrNotFound) {
			gone = append(gone, e.Key)
			continue
		}
		if err == nil {
			err = s.tellRow(ctx, tx, l, e.Key, r)
		}
		if err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return tx.DeleteEntries(ctx, MeterKind, gone...)
}

// licenseOf returns a license, or [store.ErrNotFound].
func licenseOf(ctx context.Context, tx *call.Tx, id string) (record.License, error) {
	stored, err := tx.License(ctx, id)
	if err != nil {
		return record.License{}, err
	}
	return licenses.Read(stored, tx.Now)
}

// tellRow reports what no event has reported of a row.
func (s Service) tellRow(ctx context.Context, tx *call.Tx, l record.License, key string, r row) error {
	meters, err := metersOf(l)
	if err != nil {
		return err
	}
	_, _, meter := parseRowKey(key)
	return s.tell(ctx, tx, l.License, key, r, r, meters[meter].Limit, "")
}

// tell appends a usage.counted event about a row, and writes the row, all of which has been
// told then.
func (s Service) tell(ctx context.Context, tx *call.Tx, l store.License, key string, before, r row, limit *int64, reason string) error {
	_, from, meter := parseRowKey(key)
	count := countOf(meter, from, r, limit)
	count.Counted, r.Told = r.Used-r.Told, r.Used
	if err := s.AppendAbout(ctx, tx, api.EventUsageCounted, l, api.EventData{Usage: &count, Reason: reason}); err != nil {
		return err
	}
	return tx.PutEntries(ctx, r.entry(key, before, tx.Now))
}
