package licenses

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Get returns the license with the given ID, or [api.ErrNotFound].
func (s Service) Get(ctx context.Context, id string) (api.License, error) {
	rec, err := s.Find(ctx, s.Reader(), id)
	if err != nil {
		return api.License{}, err
	}
	l, err := FromRecord(rec, s.Now())
	return s.Shown(l), err
}

// Find returns the record with the given ID if it exists for the caller.
func (s Service) Find(ctx context.Context, r store.Reader, id string) (record.License, error) {
	if !record.IsID("lic", id) {
		return record.License{}, fmt.Errorf("license: %w", api.ErrNotFound)
	}
	row, err := r.License(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return record.License{}, err
	}
	if err == nil && s.Sees(row.ProductID) {
		rec, err := Read(row, s.Now())
		owned, wrong := s.Owned(rec)
		if err = cmp.Or(err, wrong); err != nil || owned {
			return rec, err
		}
	}
	return record.License{}, fmt.Errorf("license %q: %w", id, api.ErrNotFound)
}

// ByKey returns the license with a typed key if it exists for the caller.
func (s Service) ByKey(ctx context.Context, r store.Reader, typed string) (rec record.License, ok bool, err error) {
	row, err := s.RowByKey(ctx, r, typed)
	if errors.Is(err, store.ErrNotFound) {
		return record.License{}, false, nil
	}
	if err == nil {
		rec, err = Read(row, s.Now())
	}
	return rec, err == nil, err
}

// RowByKey is ByKey for the stored license; the error is [store.ErrNotFound] if there is none.
// A malformed key is looked up like any other, and a license that does not exist for the
// caller takes as many look-ups as none, so that the time the store takes reveals nothing.
func (s Service) RowByKey(ctx context.Context, r store.Reader, typed string) (store.License, error) {
	key := call.CanonicalKey(typed)
	if !call.IsKey(key) {
		key = call.NewKey() // no license has it
	}
	row, err := s.withKey(ctx, r, key)
	if errors.Is(err, store.ErrNotFound) {
		if others := call.OtherKeys(typed); len(others) > 0 {
			return s.withOneOf(ctx, r, others)
		}
	}
	return row, err
}

// withOneOf returns the license with the first of these keys that one has, on one snapshot.
func (s Service) withOneOf(ctx context.Context, r store.Reader, keys []string) (row store.License, err error) {
	if st, ok := r.(store.Store); ok {
		err = st.View(ctx, func(r store.Reader) error {
			row, err = s.withOneOf(ctx, r, keys)
			return err
		})
		return row, err
	}
	for _, key := range keys {
		if row, err = s.withKey(ctx, r, key); !errors.Is(err, store.ErrNotFound) {
			break
		}
	}
	return row, err
}

// withKey returns the license with exactly this key if it exists for the caller.
func (s Service) withKey(ctx context.Context, r store.Reader, key string) (store.License, error) {
	row, err := r.LicenseByKey(ctx, key)
	if err == nil && !s.Sees(row.ProductID) {
		err = store.ErrNotFound
	}
	return row, err
}

// Existing returns the licenses with these IDs that exist for the caller.
func (s Service) Existing(ctx context.Context, r store.Reader, ids []string, now time.Time) (map[string]api.License, error) {
	licenses := make(map[string]api.License, len(ids))
	slices.Sort(ids)
	rows, err := r.Licenses(ctx, store.LicenseQuery{IDs: slices.Compact(ids)})
	for _, row := range rows {
		if !s.Sees(row.ProductID) {
			continue
		}
		l, err := FromRow(row, now)
		if err != nil {
			return nil, err
		}
		licenses[row.ID] = s.Shown(l)
	}
	return licenses, err
}

// maxAmbiguous is how many IDs an [*api.AmbiguousError] lists.
const maxAmbiguous = 20

// match returns the only license of a product and a customer.
func (s Service) match(ctx context.Context, r store.Reader, m api.Match) (record.License, error) {
	if !s.Sees(m.ProductID) {
		return record.License{}, fmt.Errorf("license: %w", api.ErrNotFound)
	}
	recs, err := r.Licenses(ctx, store.LicenseQuery{ProductID: m.ProductID, CustomerID: m.CustomerID, Limit: maxAmbiguous})
	switch {
	case err != nil:
		return record.License{}, err
	case len(recs) == 0:
		return record.License{}, fmt.Errorf("license: %w", api.ErrNotFound)
	case len(recs) > 1:
		ambiguous := &api.AmbiguousError{}
		for _, rec := range recs {
			ambiguous.IDs = append(ambiguous.IDs, rec.ID)
		}
		return record.License{}, ambiguous
	}
	return Read(recs[0], s.Now())
}
