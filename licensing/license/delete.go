package license

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Delete removes a license with its activations and appends a
// license.deleted event that holds the license's last state. If the license
// has more than a thousand activations, Delete first removes the released
// and evicted ones in batches, so that other writes do not wait. It returns
// [ErrNotFound] or a [*StaleError].
func (s *Service) Delete(ctx context.Context, p DeleteParams) error {
	err := s.clearEnded(ctx, p.ID, p.IfMatch)
	if err != nil {
		return fmt.Errorf("delete license: %w", err)
	}
	err = s.update(ctx, func(tx *transaction) error {
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

// endedBatch is how many ended activations one Update of clearEnded deletes.
const endedBatch = 100

// clearEnded deletes the ended activations of a license before its deletion
// if it has many, one batch per Update. It stops if the license is not at
// one of the required versions. Inside Atomically or Once it does nothing.
func (s *Service) clearEnded(ctx context.Context, id string, ifMatch []Version) error {
	if s.tx != nil {
		return nil
	}
	q := store.ActivationQuery{LicenseID: id}
	for {
		rows, err := s.st.Activations(ctx, q)
		if err != nil || q.After == "" && len(rows) < store.MaxLimit || len(rows) == 0 {
			return err
		}
		q.After = rows[len(rows)-1].ID
		ended := slices.DeleteFunc(rows, func(a store.Activation) bool { return a.EndedAt.IsZero() })
		for batch := range slices.Chunk(ended, endedBatch) {
			err := s.update(ctx, func(tx *transaction) error { return s.clearBatch(ctx, tx, id, ifMatch, batch) })
			if err != nil {
				return err
			}
		}
	}
}

func (s *Service) clearBatch(ctx context.Context, tx *transaction, id string, ifMatch []Version, batch []store.Activation) error {
	rec, err := s.find(ctx, tx, id)
	if err != nil {
		return err
	}
	l, err := fromRecord(rec, tx.now)
	if err != nil {
		return err
	}
	if err := l.at(ifMatch); err != nil {
		return err
	}
	for _, a := range batch {
		// An ended activation may have been deleted since, but never becomes active again.
		err := tx.DeleteActivations(ctx, id, a.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// remove deletes a record and appends the event.
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
	if err := tx.index(ctx, rec, store.License{}); err != nil {
		return err
	}
	return s.append(ctx, tx, EventLicenseDeleted, l, EventData{})
}
