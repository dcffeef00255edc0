package leave

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/refusals"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

// DeletedKind is the kind of entries that name deleted licenses whose
// activations have yet to be removed. Key is the license ID, and ExpiresAt is when to do so.
const DeletedKind = "license_deleted"

// activationBatch is how many activations of deleted licenses one Update
// deletes.
const activationBatch = 100

// Delete removes a license with its activations and appends a license.deleted event that
// holds the license's last state; see package license.
func (s Service) Delete(ctx context.Context, p api.DeleteLicenseParams) error {
	var left bool
	err := s.Write(ctx, func(tx *call.Tx) error {
		if err := tx.Want(ctx, store.Wanted{
			LicenseID: p.ID, Activations: true, Absent: [][2]string{{refusals.RefusalKind, p.ID}, {revocations.FilesKind, p.ID}},
		}); err != nil {
			return err
		}
		rec, err := licenses.Of(s.Call).Find(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		l, err := licenses.FromRecord(rec, tx.Now)
		if err != nil {
			return err
		}
		if err := call.CheckVersion(l.Version(), p.IfMatch); err != nil {
			return err
		}
		n, err := s.remove(ctx, tx, rec, l)
		left = n == activationBatch
		return err
	})
	if err != nil {
		return fmt.Errorf("delete license: %w", err)
	}
	if left {
		_ = s.ClearAllDeleted(ctx) // the license is deleted, whatever comes of this
	}
	return nil
}

// remove deletes a license, whose record is rec, with a batch of its activations and
// what else is stored about it, and appends the event. It returns how many activations
// it deleted: a full batch may leave others, which an entry of deletedKind names.
func (s Service) remove(ctx context.Context, tx *call.Tx, rec record.License, l api.License) (n int, err error) {
	if err := tx.DeleteLicense(ctx, l.ID); err != nil {
		return 0, err
	}
	if err := leave(ctx, tx, departure{how: licenseDeleted, from: rec, released: &n, call: s.Call}); err != nil {
		return 0, err
	}
	if n == activationBatch {
		if err := tx.PutEntries(ctx, store.Entry{Kind: DeletedKind, Key: l.ID, ExpiresAt: tx.Now, CreatedAt: tx.Now}); err != nil {
			return 0, err
		}
	}
	return n, s.Append(ctx, tx, api.EventLicenseDeleted, l, api.EventData{})
}

// deleteSeats deletes a batch of the activations of a license. If it is transferred
// and Options.HoldOffline is set, the seats that license files hold become spent seats.
func deleteSeats(ctx context.Context, tx *call.Tx, d departure) error {
	rows, err := tx.Activations(ctx, store.ActivationQuery{LicenseID: d.from.ID, Limit: activationBatch})
	if err != nil || len(rows) == 0 {
		return err
	}
	if d.how == licenseTransferred && d.exact {
		if err := seats.SpendAll(ctx, tx, rows); err != nil {
			return err
		}
	}
	if d.released != nil {
		*d.released = len(rows)
	}
	return deleteActivations(ctx, tx, d.from.ID, rows)
}

func deleteActivations(ctx context.Context, tx *call.Tx, id string, rows []store.Activation) error {
	ids := make([]string, len(rows))
	for i, a := range rows {
		ids[i] = a.ID
	}
	return tx.DeleteActivations(ctx, id, ids...)
}

// ClearAllDeleted deletes the activations of all deleted licenses.
func (s Service) ClearAllDeleted(ctx context.Context) error {
	for {
		if more, err := s.ClearDeleted(ctx); err != nil || !more {
			return err
		}
	}
}

// ClearDeleted deletes a batch of the activations of a deleted license and
// reports whether there may be more to do. Inside Atomically or Once it does nothing:
// Run does it afterwards.
func (s Service) ClearDeleted(ctx context.Context) (more bool, err error) {
	if s.Tx != nil {
		return false, nil
	}
	more, err = s.DoDue(ctx, "purge", DeletedKind, 1, func(tx *call.Tx, deleted []store.Entry) error {
		_, err := ClearDeletedLicense(ctx, tx, deleted[0].Key)
		return err
	})
	if err != nil {
		err = fmt.Errorf("activations of deleted licenses: %w", err)
	}
	return more, err
}

// ClearDeletedLicense deletes a batch of the activations of a deleted license and reports
// whether more may be left. It deletes nothing if another process has removed them all:
// a license with the same ID may have been imported since.
func ClearDeletedLicense(ctx context.Context, tx *call.Tx, id string) (left bool, err error) {
	_, err = tx.Entry(ctx, DeletedKind, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n := 0
	gone := departure{how: licenseDeleted, released: &n}
	gone.from.ID = id
	if err := deleteSeats(ctx, tx, gone); err != nil || n == activationBatch {
		return err == nil, err
	}
	return false, tx.DeleteEntries(ctx, DeletedKind, id)
}
