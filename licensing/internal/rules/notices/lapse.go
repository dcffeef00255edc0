package notices

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// giveLapses appends license.lapsed for a batch of licenses whose grace period has ended,
// once each. A license has an entry from license.expired on, or from a change of its end
// after that. The entry is removed with the event. If the license was renewed, the entry is
// removed without one.
func (s Service) giveLapses(ctx context.Context) (more bool, err error) {
	q := store.EntryQuery{Kind: licenses.NoticeKind, Order: store.ByExpiry, Expires: store.TimeRange{Before: s.Now().Add(1)}, Limit: noticeBatch}
	due, err := s.Reader().Entries(ctx, q)
	if err != nil || len(due) == 0 {
		return false, err
	}
	err = s.Write(ctx, func(tx *call.Tx) error {
		due, err := tx.Entries(ctx, q) // another process may have been first
		if err != nil {
			return err
		}
		more = len(due) == noticeBatch
		var ids []string
		for _, e := range due {
			ids = append(ids, e.Key)
		}
		if err := tx.DeleteEntries(ctx, licenses.NoticeKind, ids...); err != nil {
			return err
		}
		rows, err := tx.Licenses(ctx, store.LicenseQuery{IDs: ids, Limit: noticeBatch})
		for _, row := range rows {
			if err == nil && row.State != store.StateRevoked {
				err = s.lapse(ctx, tx, row)
			}
		}
		return err
	})
	return more, err
}

// lapse appends the event of a license, unless its end has become later.
func (s Service) lapse(ctx context.Context, tx *call.Tx, row store.License) error {
	rec, err := licenses.Read(row, tx.Now)
	if err != nil || rec.ExpiresAt.IsZero() {
		return err
	}
	if licenses.GraceEnd(rec).After(tx.Now) {
		return tx.PutEntries(ctx, licenses.LapseEntry(rec, tx.Now))
	}
	l, err := licenses.FromRecord(rec, tx.Now)
	if err != nil {
		return err
	}
	return s.Append(ctx, tx, api.EventLicenseLapsed, l, api.EventData{})
}
