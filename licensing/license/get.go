package license

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Get returns the license with the given ID, or [ErrNotFound].
func (s *Service) Get(ctx context.Context, id string) (License, error) {
	rec, err := s.find(ctx, s.reader(), id)
	if err != nil {
		return License{}, err
	}
	l, err := fromRecord(rec, s.now())
	return s.shown(l), err
}

// find returns the record with the given ID if it exists for the caller.
func (s *Service) find(ctx context.Context, r store.Reader, id string) (record.License, error) {
	if !record.IsID("lic", id) {
		return record.License{}, fmt.Errorf("license: %w", ErrNotFound)
	}
	row, err := r.License(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !(s.sees(row.ProductID) && s.owned(row.CustomerID)) {
		return record.License{}, fmt.Errorf("license %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return record.License{}, err
	}
	return record.ReadLicense(row)
}

// maxAmbiguous is how many IDs an [*AmbiguousError] lists.
const maxAmbiguous = 20

// match returns the only license of a product and a customer.
func (s *Service) match(ctx context.Context, r store.Reader, m Match) (record.License, error) {
	if !s.sees(m.ProductID) {
		return record.License{}, fmt.Errorf("license: %w", ErrNotFound)
	}
	recs, err := r.Licenses(ctx, store.LicenseQuery{ProductID: m.ProductID, CustomerID: m.CustomerID, Limit: maxAmbiguous})
	switch {
	case err != nil:
		return record.License{}, err
	case len(recs) == 0:
		return record.License{}, fmt.Errorf("license: %w", ErrNotFound)
	case len(recs) > 1:
		ambiguous := &AmbiguousError{}
		for _, rec := range recs {
			ambiguous.IDs = append(ambiguous.IDs, rec.ID)
		}
		return record.License{}, ambiguous
	}
	return record.ReadLicense(recs[0])
}

// checkVersion returns a [*StaleError] unless the current version is one of those
// given, if there are any.
func checkVersion(current Version, given []Version) error {
	if given == nil || slices.Contains(given, current) {
		return nil
	}
	return &StaleError{Current: current}
}
