package revocations

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Generation returns the generation of a license.
func Generation(rec record.License) int64 { return max(1, rec.Generation) }

// FilesKind is the kind of the entries that say until when a license has files.
// Key is the license ID; ExpiresAt is after the end of every file, by up to a
// tenth of its lifetime, so that most files write no entry.
const FilesKind = "license_file"

// Files is the data of such an entry.
type Files struct {
	Terms   string `json:"terms,omitempty"`   // of the last file without an activation; see package seats
	Deleted int64  `json:"deleted,omitempty"` // the generation of a license when it was deleted
}

// FilesOf returns what is stored about the files of a license, and until when it
// may have some; zero: it has none.
func FilesOf(ctx context.Context, r store.Reader, id string) (known Files, until time.Time, err error) {
	e, err := r.Entry(ctx, FilesKind, id)
	if errors.Is(err, store.ErrNotFound) {
		return known, time.Time{}, nil
	}
	if err == nil {
		err = call.Decode(e.Data, &known)
	}
	return known, e.ExpiresAt, err
}

// PutFiles stores what FilesOf returns.
func PutFiles(ctx context.Context, tx *call.Tx, id string, known Files, until time.Time) error {
	return tx.PutEntries(ctx, store.Entry{Kind: FilesKind, Key: id, Data: record.Encode(known), ExpiresAt: until, CreatedAt: tx.Now})
}

// Kind is the kind of the entries of revocation lists: the licenses
// some files of which are refused. Key is the license ID, a slash and the
// product of the files; Owner is the product, and ExpiresAt is when the last
// file has expired.
const Kind = "file_revocation"

// A refused is the data of such an entry.
type refused struct {
	LicenseID     string `json:"license_id"`
	MinGeneration int64  `json:"min_generation"` // files of lower generations are refused
}

// Follow puts a license on the revocation list of its product if the change
// from one record to the next outdates its files.
func Follow(ctx context.Context, tx *call.Tx, before, after record.License) error {
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
	if _, err = tx.Entry(ctx, Kind, key(after.ID, after.ProductID)); err == nil {
		return revokeBelow(ctx, tx, after.ID, after.ProductID, least, until)
	} else if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Delete refuses all files of a license that is deleted, and stores its
// generation for Readmit.
func Delete(ctx context.Context, tx *call.Tx, l record.License) error {
	_, until, err := FilesOf(ctx, tx, l.ID)
	if err != nil || !until.After(tx.Now) {
		return err
	}
	if err := PutFiles(ctx, tx, l.ID, Files{Deleted: Generation(l)}, until); err != nil {
		return err
	}
	return revokeBelow(ctx, tx, l.ID, l.ProductID, licensefile.AllGenerations, until)
}

// Readmit gives a license that is imported with the ID of a deleted one a
// higher generation, if the deleted one may still have files: those stay refused,
// and new files are accepted.
func Readmit(ctx context.Context, tx *call.Tx, rec *record.License) error {
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
		Kind: Kind, Key: key(id, productID), Owner: productID, ExpiresAt: until, CreatedAt: tx.Now,
		Data: record.Encode(refused{LicenseID: id, MinGeneration: least}),
	})
}

func key(licenseID, productID string) string { return licenseID + "/" + productID }
