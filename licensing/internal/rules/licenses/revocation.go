package licenses

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Generation returns the generation of a license.
func Generation(rec record.License) int64 { return max(1, rec.Generation) }

// outdates reports whether a change of a license makes its earlier files promise too
// much: another key, a later start, or what [terms.Outdates] says.
func outdates(was, is record.License) (bool, error) {
	if was.Key != is.Key || is.StartsAt.After(was.StartsAt) {
		return true, nil
	}
	before, err := StateOf(was)
	if err != nil {
		return false, err
	}
	after, err := StateOf(is)
	return terms.Outdates(before, after), err
}

// VoidFiles raises the generation of a license, so that all its files are refused once
// programs see the next revocation list, and appends a license_file.voided event with the
// reason; see package license.
func (s Service) VoidFiles(ctx context.Context, p api.MoveLicenseParams) (api.License, error) {
	if err := call.Check(p); err != nil {
		return api.License{}, err
	}
	return s.Edit(ctx, Edit{
		Verb:    "void files of",
		Event:   api.EventFilesVoided,
		Reason:  p.Reason,
		Find:    func(r store.Reader) (record.License, error) { return s.Find(ctx, r, p.ID) },
		IfMatch: p.IfMatch,
		Apply: func(_ api.License, next *record.License, _ time.Time) error {
			next.Generation = Generation(*next) + 1
			return nil
		},
	})
}

// FilesKind is the kind of the entries that say until when a license has files.
// Key is the license ID; ExpiresAt is after the end of every file, by up to a
// tenth of its lifetime, so that most files write no entry.
const FilesKind = "license_file"

// LicenseFiles is the data of such an entry.
type LicenseFiles struct {
	Terms   string `json:"terms,omitempty"`   // of the last file without an activation; see termsOf
	Deleted int64  `json:"deleted,omitempty"` // the generation of a license when it was deleted
}

// FilesOf returns what is stored about the files of a license, and until when it
// may have some; zero: it has none.
func FilesOf(ctx context.Context, r store.Reader, id string) (known LicenseFiles, until time.Time, err error) {
	e, err := r.Entry(ctx, FilesKind, id)
	if errors.Is(err, store.ErrNotFound) {
		return known, time.Time{}, nil
	}
	if err == nil {
		err = call.Decode(e.Data, &known)
	}
	return known, e.ExpiresAt, err
}

// PutFiles stores what filesOf returns.
func PutFiles(ctx context.Context, tx *call.Tx, id string, known LicenseFiles, until time.Time) error {
	return tx.PutEntries(ctx, store.Entry{Kind: FilesKind, Key: id, Data: record.Encode(known), ExpiresAt: until, CreatedAt: tx.Now})
}

// FilesUntil returns until when the license files of a license may run: no file
// that was issued expires later, voided files included. The zero time means that
// the license has no files. It returns [api.ErrNotFound].
func (s Service) FilesUntil(ctx context.Context, licenseID string) (until time.Time, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		if _, err := s.Find(ctx, r, licenseID); err != nil {
			return err
		}
		_, until, err = FilesOf(ctx, r, licenseID)
		if !until.After(s.Now()) {
			until = time.Time{}
		}
		return err
	})
	return until, err
}

// RevokedKind is the kind of the entries of revocation lists: the licenses
// some files of which are refused. Key is the license ID, a slash and the
// product of the files; Owner is the product, and ExpiresAt is when the last
// file has expired.
const RevokedKind = "file_revocation"

// A revokedFiles is the data of such an entry.
type revokedFiles struct {
	LicenseID     string `json:"license_id"`
	MinGeneration int64  `json:"min_generation"` // files of lower generations are refused
}

// revokeFiles puts a license on the revocation list of its product if the change
// from one record to the next outdates its files.
func revokeFiles(ctx context.Context, tx *call.Tx, before, after record.License) error {
	if before.State == after.State && Generation(before) == Generation(after) {
		return nil
	}
	_, until, err := FilesOf(ctx, tx, before.ID)
	if err != nil || !until.After(tx.Now) {
		return err
	}
	least := leastGeneration(after)
	if err := revokeBelow(ctx, tx, before.ID, before.ProductID, least, until); err != nil || before.ProductID == after.ProductID {
		return err
	}
	// A license that returns to a product may still be on the product's list.
	if _, err = tx.Entry(ctx, RevokedKind, revokedKey(after.ID, after.ProductID)); err == nil {
		return revokeBelow(ctx, tx, after.ID, after.ProductID, least, until)
	} else if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// RevokeDeletedFiles refuses all files of a license that is deleted, and stores its
// generation for outdateDeleted.
func RevokeDeletedFiles(ctx context.Context, tx *call.Tx, l record.License) error {
	_, until, err := FilesOf(ctx, tx, l.ID)
	if err != nil || !until.After(tx.Now) {
		return err
	}
	if err := PutFiles(ctx, tx, l.ID, LicenseFiles{Deleted: Generation(l)}, until); err != nil {
		return err
	}
	return revokeBelow(ctx, tx, l.ID, l.ProductID, licensefile.AllGenerations, until)
}

// OutdateDeleted gives a license that is imported with the ID of a deleted one a
// higher generation, if the deleted one may still have files: those stay refused,
// and new files are accepted.
func OutdateDeleted(ctx context.Context, tx *call.Tx, rec *record.License) error {
	deleted, until, err := FilesOf(ctx, tx, rec.ID)
	if err != nil || !until.After(tx.Now) {
		return err
	}
	rec.Generation = max(Generation(*rec), deleted.Deleted) + 1
	return revokeBelow(ctx, tx, rec.ID, rec.ProductID, leastGeneration(*rec), until)
}

// leastGeneration returns the lowest generation of the files of a license that
// are accepted.
func leastGeneration(rec record.License) int64 {
	if rec.State != store.StateActive {
		return licensefile.AllGenerations
	}
	return Generation(rec)
}

// revokeBelow refuses the files of a license for a product that have a lower
// generation, until the last file of the license has expired.
func revokeBelow(ctx context.Context, tx *call.Tx, id, productID string, least int64, until time.Time) error {
	return tx.PutEntries(ctx, store.Entry{
		Kind: RevokedKind, Key: revokedKey(id, productID), Owner: productID, ExpiresAt: until, CreatedAt: tx.Now,
		Data: record.Encode(revokedFiles{LicenseID: id, MinGeneration: least}),
	})
}

func revokedKey(licenseID, productID string) string { return licenseID + "/" + productID }

// RevokedFiles returns the licenses of a product some files of which are
// refused, for the revocation list of the product, in the order in which they
// leave it, or one of them and when that was last changed; a licenseID of "" means
// all. It returns [api.ErrNotFound] if the product has no license and there is nothing to
// return, and [licensefile.ErrTooLarge] for more than [licensefile.MaxListed].
func (s Service) RevokedFiles(ctx context.Context, productID, licenseID string) (all []licensefile.RevokedLicense, changed time.Time, err error) {
	if productID == "" {
		return nil, changed, api.Invalid("product_id", api.FieldRequired, "is required")
	}
	err = s.Read(ctx, func(r store.Reader) (err error) {
		if licenseID != "" {
			all, changed, err = revokedFilesOf(ctx, r, productID, licenseID, s.Now())
		} else {
			all, err = allRevokedFiles(ctx, r, productID, s.Now())
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
	row, err := r.Entry(ctx, RevokedKind, revokedKey(licenseID, productID))
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
	err := call.Decode(row.Data, &refused)
	return licensefile.RevokedLicense{
		Hash: licensefile.LicenseHash(refused.LicenseID), MinGeneration: refused.MinGeneration, Until: row.ExpiresAt,
	}, err
}

// allRevokedFiles returns the revocation list of a product at an instant.
func allRevokedFiles(ctx context.Context, r store.Reader, productID string, at time.Time) (all []licensefile.RevokedLicense, err error) {
	q := store.EntryQuery{Kind: RevokedKind, Order: store.ByExpiry, Owner: productID, Expires: store.TimeRange{From: at.Add(time.Millisecond)}}
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
