package revocations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// List returns the licenses of a product some files of which are refused, for the
// revocation list of the product, in the order in which they leave it, or one of them and
// when that was last changed; a licenseID of "" means all. It returns [api.ErrNotFound] if the product has no license and there is nothing to
// return, and [licensefile.ErrTooLarge] for more than [licensefile.MaxListed].
func (s Service) List(ctx context.Context, productID, licenseID string) (all []licensefile.RevokedLicense, changed time.Time, err error) {
	if productID == "" {
		return nil, changed, api.Invalid("product_id", api.FieldRequired, "is required")
	}
	err = s.Read(ctx, func(r store.Reader) (err error) {
		if licenseID != "" {
			all, changed, err = rowOf(ctx, r, productID, licenseID, s.Now())
		} else {
			all, err = whole(ctx, r, productID, s.Now())
		}
		if err != nil || len(all) > 0 {
			return err
		}
		licenses, err := r.Licenses(ctx, store.LicenseQuery{ProductID: productID, Limit: 1})
		if err == nil && len(licenses) == 0 {
			err = fmt.Errorf("product %q: %w", productID, api.ErrNotFound)
		}
		return err
	})
	if err != nil {
		return nil, changed, fmt.Errorf("revoked files: %w", err)
	}
	return all, changed, nil
}

// rowOf returns the row of one license in the revocation list of a
// product at an instant, if it has one, and when it was last changed.
func rowOf(ctx context.Context, r store.Reader, productID, licenseID string, at time.Time) ([]licensefile.RevokedLicense, time.Time, error) {
	row, err := r.Entry(ctx, Kind, key(licenseID, productID))
	if errors.Is(err, store.ErrNotFound) || err == nil && !row.ExpiresAt.After(at) {
		return nil, time.Time{}, nil
	} else if err != nil {
		return nil, time.Time{}, err
	}
	one, err := listed(row)
	return []licensefile.RevokedLicense{one}, row.CreatedAt, err
}

func listed(row store.Entry) (licensefile.RevokedLicense, error) {
	var is refused
	err := call.Decode(row.Data, &is)
	return licensefile.RevokedLicense{
		Hash: licensefile.LicenseHash(is.LicenseID), MinGeneration: is.MinGeneration, Until: row.ExpiresAt,
	}, err
}

// whole returns the revocation list of a product at an instant.
func whole(ctx context.Context, r store.Reader, productID string, at time.Time) (all []licensefile.RevokedLicense, err error) {
	q := store.EntryQuery{Kind: Kind, Order: store.ByExpiry, Owner: productID, Expires: store.TimeRange{From: at.Add(time.Millisecond)}}
	for row, err := range entries.All(ctx, r, q) {
		var one licensefile.RevokedLicense
		if err == nil {
			one, err = listed(row)
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
