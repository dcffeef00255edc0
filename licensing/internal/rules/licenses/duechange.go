package licenses

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// DueKind is the kind of the entries of licenses whose terms time will change. Key is the
// license ID, and ExpiresAt the instant of the first change that is stored with it.
const DueKind = "license_change"

// dueBatch is how many licenses one Update of the clock changes.
const dueBatch = 50

// ApplyDue stores a batch of the changes of terms that have come, with one event for all
// of a license, and reports whether there may be more. No answer depends on it: every
// read makes the same changes.
func (s Service) ApplyDue(ctx context.Context) (more bool, err error) {
	more, err = s.DoDue(ctx, "license_terms", DueKind, dueBatch, func(tx *call.Tx, due []store.Entry) error {
		for _, e := range due {
			if err := s.applyDue(ctx, tx, e.Key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("changes of terms: %w", err)
	}
	return more, err
}

// applyDue stores the changes of one license that have come. Another process may have
// been first.
func (s Service) applyDue(ctx context.Context, tx *call.Tx, id string) error {
	row, err := tx.License(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return tx.DeleteEntries(ctx, DueKind, id)
	}
	if err != nil {
		return err
	}
	rec, err := Read(row, tx.Now)
	if err != nil || rec.Stored == nil {
		return err
	}
	l, err := FromRecord(rec, tx.Now)
	if err == nil {
		err = s.appendPassed(ctx, tx, rec, l)
	}
	if err == nil {
		err = s.putUnseen(ctx, tx, rec, rec)
	}
	return err
}

// appendPassed appends the event of the changes that have come since a license, which is
// rec and l now, was stored. Purchases may end without changing a field of the license.
func (s Service) appendPassed(ctx context.Context, tx *call.Tx, rec record.License, l api.License) error {
	if rec.Stored == nil || rec.Stored.Revision == rec.Revision && len(rec.Ended) == 0 {
		return nil
	}
	before, err := FromRecord(*rec.Stored, tx.Now)
	if err != nil {
		return err
	}
	c := s.As(call.Caller{Actor: call.ClockActor})
	return c.Append(ctx, tx, api.EventLicenseUpdated, l, api.EventData{Changes: diff(before, l), Ended: rec.Ended})
}

// putUnseen stores what no caller sees of a license, and the changes that have come.
func (s Service) putUnseen(ctx context.Context, tx *call.Tx, rec, next record.License) error {
	if rec.Stored == nil && rec.Bought == next.Bought && rec.Awaits == next.Awaits && bytes.Equal(rec.Hand, next.Hand) && bytes.Equal(rec.Changes, next.Changes) && bytes.Equal(rec.Suspension, next.Suspension) {
		return nil
	}
	if err := tx.UpdateLicense(ctx, next.Row()); err != nil {
		return err
	}
	return s.putDue(ctx, tx, rec, next)
}

// putDue stores when time will next change a license that was rec, and when notices about
// it are due.
func (s Service) putDue(ctx context.Context, tx *call.Tx, rec, next record.License) error {
	if rec.Stored != nil {
		rec = *rec.Stored
	}
	due, err := s.notices(rec, next, tx.Now)
	switch {
	case err != nil:
		return err
	case next.ChangesAt.Equal(rec.ChangesAt):
	case next.ChangesAt.IsZero():
		if err := tx.DeleteEntries(ctx, DueKind, next.ID); err != nil {
			return err
		}
	default:
		due = append(due, store.Entry{Kind: DueKind, Key: next.ID, ExpiresAt: next.ChangesAt, CreatedAt: tx.Now})
	}
	if len(due) == 0 {
		return nil
	}
	return tx.PutEntries(ctx, due...)
}

// RemoveDue removes the entry of a license that is deleted or revoked.
func RemoveDue(ctx context.Context, tx *call.Tx, id string) error {
	return tx.DeleteEntries(ctx, DueKind, id)
}
