package movein

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/leave"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/store"
)

// errExists: the license of a row already exists.
var errExists = errors.New("exists")

// importVisible returns an [*api.InvalidError] if the caller may not see the license of
// a row.
func (s Service) importVisible(row api.LicenseRow) error {
	if !s.Sees(row.ProductID) {
		return api.Invalid("product_id", api.FieldUnknown, "is outside the caller's product limit")
	}
	return nil
}

// importExists checks whether the license of a row exists. It returns errExists with
// the ID of the license, or an [*api.InvalidError] if another license has its ID or key.
func (s Service) importExists(ctx context.Context, r store.Reader, row api.LicenseRow) (id string, err error) {
	if err := s.importVisible(row); err != nil {
		return "", err
	}
	if row.ID != "" {
		rec, err := r.License(ctx, row.ID)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return "", err
		case err == nil && s.Sees(rec.ProductID) && (row.Key == "" || call.CanonicalKey(row.Key) == rec.Key):
			return rec.ID, errExists
		case err == nil && s.Sees(rec.ProductID):
			return "", api.Invalid("id", api.FieldTaken, "is used by another license")
		case s.Caller.Products != nil: // the same for a free ID, so that it does not reveal other licenses
			return "", api.Invalid("id", api.FieldUnknown, "is not the id of a license of the caller's products, and a caller limited to products cannot choose an id; omit it")
		}
	}
	if row.Key != "" {
		rec, err := r.LicenseByKey(ctx, call.CanonicalKey(row.Key))
		if err == nil && s.Sees(rec.ProductID) && row.ID == "" {
			return rec.ID, errExists
		}
		if err == nil {
			return "", api.Invalid("key", api.FieldTaken, "is used by another license")
		}
		if !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
	}
	return row.ID, nil
}

// importIDs returns store.ErrExists if licenses with these IDs must be imported
// row by row: the caller may not choose IDs, or one is that of a deleted license
// whose files may still run, or whose activations have yet to be removed.
func (s Service) importIDs(ctx context.Context, tx *call.Tx, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if s.Caller.Products != nil {
		return store.ErrExists
	}
	for _, kind := range []string{leave.DeletedKind, revocations.FilesKind} {
		if found, err := tx.Entries(ctx, store.EntryQuery{Kind: kind, Keys: ids}); err != nil {
			return err
		} else if len(found) > 0 {
			return store.ErrExists
		}
	}
	return nil
}

// importDeleted removes what is left of a deleted license with the ID of a row, so
// that its activations do not become those of the new license. It returns an
// [*api.InvalidError] if that is more than a batch.
func importDeleted(ctx context.Context, tx *call.Tx, id string) error {
	if id == "" {
		return nil
	}
	left, err := leave.ClearDeletedLicense(ctx, tx, id)
	if left {
		return api.Invalid("id", api.FieldTaken, "is the id of a deleted license whose activations are still being removed; import the row again later")
	}
	return err
}
