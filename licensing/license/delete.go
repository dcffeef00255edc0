package license

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Delete removes a licence with its activations, and appends
// "license.deleted" with the licence as it last was. The error is
// [ErrNotFound] or a [*StaleError].
func (s *Service) Delete(ctx context.Context, p DeleteParams) error {
	err := s.update(ctx, func(tx *transaction) error {
		rec, err := s.find(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		l, err := fromRecord(rec, tx.now)
		if err != nil {
			return err
		}
		if err := l.at(p.IfMatch); err != nil {
			return err
		}
		return s.remove(ctx, tx, rec)
	})
	if err != nil {
		return fmt.Errorf("delete license: %w", err)
	}
	return nil
}

// remove deletes a record, counts it no more and tells of it.
func (s *Service) remove(ctx context.Context, tx *transaction, rec store.License) error {
	l, err := fromRecord(rec, tx.now)
	if err != nil {
		return err
	}
	if err := tx.DeleteLicense(ctx, rec.ID); err != nil {
		return err
	}
	if err := tx.removeSeats(ctx, rec.ID); err != nil {
		return err
	}
	if err := tx.tally(ctx, rec, store.License{}); err != nil {
		return err
	}
	return s.append(ctx, tx, EventLicenseDeleted, l, EventData{})
}
