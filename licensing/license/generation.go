package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// generation returns the generation of a license.
func generation(rec record.License) int64 { return max(1, rec.Generation) }

// outdates reports whether a change of a license makes its earlier files
// promise too much: another key or product, an earlier end or end of updates, a later start, an
// entitlement that was removed or changed, or a limit on activations where
// there was none.
func outdates(before, after api.License) bool {
	if before.Key != after.Key || before.ProductID != after.ProductID {
		return true
	}
	earlier := func(was, is time.Time) bool { return !is.IsZero() && (was.IsZero() || is.Before(was)) }
	if earlier(endOf(before), endOf(after)) || earlier(timeOrZero(before.UpdatesUntil), timeOrZero(after.UpdatesUntil)) {
		return true
	}
	if timeOrZero(after.StartsAt).After(timeOrZero(before.StartsAt)) {
		return true
	}
	for name, v := range before.Entitlements {
		if after.Entitlements[name] != v {
			return true
		}
	}
	return before.MaxActivations == nil && after.MaxActivations != nil
}

// endOf returns when a license stops being valid; zero: never.
func endOf(l api.License) time.Time {
	if l.ExpiresAt == nil {
		return time.Time{}
	}
	return l.ExpiresAt.Add(time.Duration(l.GraceSeconds) * time.Second)
}

// VoidFiles raises the generation of a license, so that all its files are
// refused once programs see the next revocation list, and appends a
// license_file.voided event with the reason. Seats stay held until the files
// expire. Programs that reach the service get new files.
// Errors are those of [Service.Suspend], except for [*api.MoveError].
func (s *Service) VoidFiles(ctx context.Context, p api.MoveLicenseParams) (api.License, error) {
	if err := check(p); err != nil {
		return api.License{}, err
	}
	return s.edit(ctx, edit{
		verb:    "void files of",
		event:   api.EventFilesVoided,
		reason:  p.Reason,
		find:    func(r store.Reader) (record.License, error) { return s.find(ctx, r, p.ID) },
		ifMatch: p.IfMatch,
		apply: func(_ api.License, next *record.License, _ time.Time) error {
			next.Generation = generation(*next) + 1
			return nil
		},
	})
}

// filesKind is the kind of the entries that say until when a license has files.
// Key is the license ID; ExpiresAt is after the end of every file, by up to a
// tenth of its lifetime, so that most files write no entry.
const filesKind = "license_file"

// licenseFiles is the data of such an entry.
type licenseFiles struct {
	Terms   string `json:"terms,omitempty"`   // of the last file without an activation; see termsOf
	Deleted int64  `json:"deleted,omitempty"` // the generation of a license when it was deleted
}

// filesOf returns what is stored about the files of a license, and until when it
// may have some; zero: it has none.
func filesOf(ctx context.Context, r store.Reader, id string) (known licenseFiles, until time.Time, err error) {
	e, err := r.Entry(ctx, filesKind, id)
	if errors.Is(err, store.ErrNotFound) {
		return known, time.Time{}, nil
	}
	if err == nil {
		err = decode(e.Data, &known)
	}
	return known, e.ExpiresAt, err
}

// putFiles stores what filesOf returns.
func putFiles(ctx context.Context, tx *transaction, id string, known licenseFiles, until time.Time) error {
	return tx.PutEntries(ctx, store.Entry{Kind: filesKind, Key: id, Data: record.Encode(known), ExpiresAt: until, CreatedAt: tx.now})
}

// FilesUntil returns until when the license files of a license may run: no file
// that was issued expires later, voided files included. The zero time means that
// the license has no files. It returns [api.ErrNotFound].
func (s internals) FilesUntil(ctx context.Context, licenseID string) (until time.Time, err error) {
	err = s.read(ctx, func(r store.Reader) error {
		if _, err := s.find(ctx, r, licenseID); err != nil {
			return err
		}
		_, until, err = filesOf(ctx, r, licenseID)
		if !until.After(s.now()) {
			until = time.Time{}
		}
		return err
	})
	return until, err
}

// revokedKind is the kind of the entries of revocation lists: the licenses
// some files of which are refused. Key is the license ID, a slash and the
// product of the files; Owner is the product, and ExpiresAt is when the last
// file has expired.
const revokedKind = "file_revocation"

// A revokedFiles is the data of such an entry.
type revokedFiles struct {
	LicenseID     string `json:"license_id"`
	MinGeneration int64  `json:"min_generation"` // files of lower generations are refused
}

// revokeFiles puts a license on the revocation list of its product if the change
// from one record to the next outdates its files.
func revokeFiles(ctx context.Context, tx *transaction, before, after record.License) error {
	if before.State == after.State && generation(before) == generation(after) {
		return nil
	}
	_, until, err := filesOf(ctx, tx, before.ID)
	if err != nil || !until.After(tx.now) {
		return err
	}
	least := leastGeneration(after)
	if err := revokeBelow(ctx, tx, before.ID, before.ProductID, least, until); err != nil || before.ProductID == after.ProductID {
		return err
	}
	// A license that returns to a product may still be on the product's list.
	if _, err = tx.Entry(ctx, revokedKind, revokedKey(after.ID, after.ProductID)); err == nil {
		return revokeBelow(ctx, tx, after.ID, after.ProductID, least, until)
	} else if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// revokeDeletedFiles refuses all files of a license that is deleted, and stores its
// generation for outdateDeleted.
func revokeDeletedFiles(ctx context.Context, tx *transaction, l record.License) error {
	_, until, err := filesOf(ctx, tx, l.ID)
	if err != nil || !until.After(tx.now) {
		return err
	}
	if err := putFiles(ctx, tx, l.ID, licenseFiles{Deleted: generation(l)}, until); err != nil {
		return err
	}
	return revokeBelow(ctx, tx, l.ID, l.ProductID, licensefile.AllGenerations, until)
}

// outdateDeleted gives a license that is imported with the ID of a deleted one a
// higher generation, if the deleted one may still have files: those stay refused,
// and new files are accepted.
func outdateDeleted(ctx context.Context, tx *transaction, rec *record.License) error {
	deleted, until, err := filesOf(ctx, tx, rec.ID)
	if err != nil || !until.After(tx.now) {
		return err
	}
	rec.Generation = max(generation(*rec), deleted.Deleted) + 1
	return revokeBelow(ctx, tx, rec.ID, rec.ProductID, leastGeneration(*rec), until)
}

// leastGeneration returns the lowest generation of the files of a license that
// are accepted.
func leastGeneration(rec record.License) int64 {
	if rec.State != store.StateActive {
		return licensefile.AllGenerations
	}
	return generation(rec)
}

// revokeBelow refuses the files of a license for a product that have a lower
// generation, until the last file of the license has expired.
func revokeBelow(ctx context.Context, tx *transaction, id, productID string, least int64, until time.Time) error {
	return tx.PutEntries(ctx, store.Entry{
		Kind: revokedKind, Key: revokedKey(id, productID), Owner: productID, ExpiresAt: until, CreatedAt: tx.now,
		Data: record.Encode(revokedFiles{LicenseID: id, MinGeneration: least}),
	})
}

func revokedKey(licenseID, productID string) string { return licenseID + "/" + productID }

// RevokedFiles returns the licenses of a product some files of which are
// refused, for the revocation list of the product, in the order in which they
// leave it, or one of them and when that was last changed; a licenseID of "" means
// all. It returns [api.ErrNotFound] if the product has no license and there is nothing to
// return, and [licensefile.ErrTooLarge] for more than [licensefile.MaxListed].
func (s internals) RevokedFiles(ctx context.Context, productID, licenseID string) (all []licensefile.RevokedLicense, changed time.Time, err error) {
	if productID == "" {
		return nil, changed, api.Invalid("product_id", api.FieldRequired, "is required")
	}
	err = s.read(ctx, func(r store.Reader) (err error) {
		if licenseID != "" {
			all, changed, err = revokedFilesOf(ctx, r, productID, licenseID, s.now())
		} else {
			all, err = allRevokedFiles(ctx, r, productID, s.now())
		}
		if err != nil || len(all) > 0 {
			return err
		}
		licenses, err := r.Licenses(ctx, store.LicenseQuery{ProductID: productID, Limit: 1})
		if err == nil && len(licenses) == 0 {
			err = fmt.Errorf("product: %w", api.ErrNotFound)
		}
		return err
	})
	if err != nil {
		return nil, changed, fmt.Errorf("revoked files: %w", err)
	}
	return all, changed, nil
}

// revokedFilesOf returns the row of one license in the revocation list of a
// product at an instant, if it has one, and when it was last changed.
func revokedFilesOf(ctx context.Context, r store.Reader, productID, licenseID string, at time.Time) ([]licensefile.RevokedLicense, time.Time, error) {
	row, err := r.Entry(ctx, revokedKind, revokedKey(licenseID, productID))
	if errors.Is(err, store.ErrNotFound) || err == nil && !row.ExpiresAt.After(at) {
		return nil, time.Time{}, nil
	} else if err != nil {
		return nil, time.Time{}, err
	}
	one, err := revokedLicense(row)
	return []licensefile.RevokedLicense{one}, row.CreatedAt, err
}

func revokedLicense(row store.Entry) (licensefile.RevokedLicense, error) {
	var refused revokedFiles
	err := decode(row.Data, &refused)
	return licensefile.RevokedLicense{
		Hash: licensefile.LicenseHash(refused.LicenseID), MinGeneration: refused.MinGeneration, Until: row.ExpiresAt,
	}, err
}

// allRevokedFiles returns the revocation list of a product at an instant.
func allRevokedFiles(ctx context.Context, r store.Reader, productID string, at time.Time) (all []licensefile.RevokedLicense, err error) {
	q := store.EntryQuery{Kind: revokedKind, Order: store.ByExpiry, Owner: productID, Expires: store.TimeRange{From: at.Add(time.Millisecond)}}
	for row, err := range entries.All(ctx, r, q) {
		var one licensefile.RevokedLicense
		if err == nil {
			one, err = revokedLicense(row)
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, one); len(all) > licensefile.MaxListed {
			return nil, fmt.Errorf("%w: the files of more than %d licenses are refused", licensefile.ErrTooLarge, licensefile.MaxListed)
		}
	}
	return all, nil
}
