package meters

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TellAll appends the events of the usage of a license that has no event yet, also if the
// clock of the process that counted it is ahead.
func (s Service) TellAll(ctx context.Context, tx *call.Tx, l record.License) error {
	q := entries.Expired(MeterKind, tx.Now.Add(tellEvery+feed.ClockSkew), 0)
	q.Owner = l.ID
	for e, err := range entries.All(ctx, tx, q) {
		if err != nil {
			return err
		}
		r, err := readRow(e)
		if err != nil {
			return err
		}
		if r.Used == r.Told {
			continue
		}
		if err := s.tellRow(ctx, tx, l, e.Key, r); err != nil {
			return err
		}
	}
	return nil
}

// RemoveLasting deletes the rows of a license that never expire.
func RemoveLasting(ctx context.Context, tx *call.Tx, licenseID string) error {
	prefix := rowKey(licenseID, time.Time{}, "")
	return entries.Remove(ctx, tx, store.EntryQuery{Kind: MeterKind, From: prefix, Before: store.PrefixEnd(prefix)})
}

// ManyEnded reports whether the rows of a license whose period has ended are as many as
// RemoveEnded deletes.
func ManyEnded(ctx context.Context, r store.Reader, licenseID string, now time.Time) (bool, error) {
	keys, err := ended(ctx, r, licenseID, now)
	return len(keys) == store.MaxLimit, err
}

// RemoveEnded deletes a batch of the rows of a license whose period has ended.
func RemoveEnded(ctx context.Context, tx *call.Tx, licenseID string) error {
	keys, err := ended(ctx, tx, licenseID, tx.Now)
	if err != nil || len(keys) == 0 {
		return err
	}
	return tx.DeleteEntries(ctx, MeterKind, keys...)
}

// ended returns the keys of the rows of a license whose period has ended, at most as many
// as one call of DeleteEntries takes. The keys of rows begin with the start of their
// period, so that no period that has not begun is read; one that has begun may still last.
func ended(ctx context.Context, r store.Reader, licenseID string, now time.Time) (keys []string, err error) {
	q := rowsOf(licenseID)
	q.Before = rowKey(licenseID, now, "")
	for e, err := range entries.All(ctx, r, q) {
		if err != nil {
			return nil, err
		}
		r, err := readRow(e)
		if err != nil {
			return nil, err
		}
		lasts := r.To.IsZero() || r.To.After(now)
		if lasts {
			continue
		}
		if keys = append(keys, e.Key); len(keys) == store.MaxLimit {
			break
		}
	}
	return keys, nil
}
