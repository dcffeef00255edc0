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

// TellAll tells what no event has told of the usage of a license, also if the clock of the
// process that counted it is ahead.
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
	return remove(ctx, tx, store.EntryQuery{Kind: MeterKind, From: prefix, Before: store.PrefixEnd(prefix)}, func(row) bool { return true })
}

// ManyEnded reports whether the rows of a license whose period has begun are as many as
// RemoveEnded reads.
func ManyEnded(ctx context.Context, r store.Reader, licenseID string, now time.Time) (bool, error) {
	found, err := r.Entries(ctx, begun(licenseID, now))
	return len(found) == store.MaxLimit, err
}

// begun selects the rows of a license whose period has begun.
func begun(licenseID string, now time.Time) store.EntryQuery {
	q := rowsOf(licenseID)
	q.Before = rowKey(licenseID, now, "")
	return q
}

// RemoveEnded deletes the rows of periods that have ended, of a batch of rows.
func RemoveEnded(ctx context.Context, tx *call.Tx, licenseID string) error {
	q := begun(licenseID, tx.Now)
	return remove(ctx, tx, q, func(r row) bool { return !r.To.IsZero() && !r.To.After(tx.Now) })
}

// remove deletes those of a batch of rows that are gone.
func remove(ctx context.Context, tx *call.Tx, q store.EntryQuery, gone func(row) bool) error {
	found, err := tx.Entries(ctx, q)
	if err != nil {
		return err
	}
	var keys []string
	for _, e := range found {
		r, err := readRow(e)
		if err != nil {
			return err
		}
		if gone(r) {
			keys = append(keys, e.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return tx.DeleteEntries(ctx, MeterKind, keys...)
}
