package license

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Update changes the fields of a licence that p sets, and appends
// "license.updated" with what changed. An update that changes nothing leaves
// the revision and the feed as they are. The error is [ErrNotFound], an
// [*AmbiguousError], a [*StaleError], an [*InvalidError], or, if the licence
// would move to a product outside the caller's limit, [ErrProductForbidden].
func (s *Service) Update(ctx context.Context, p UpdateParams) (License, error) {
	if (p.ID == "") == (p.Match == nil) {
		return License{}, Invalid("id", CodeRequired, "name the licence by its id, or by product_id and customer_id")
	}
	if p.Match != nil {
		if err := check(p.Match); err != nil {
			return License{}, err
		}
	}
	var updated License
	err := s.update(ctx, func(tx *transaction) error {
		rec, err := s.target(ctx, tx, p)
		if err != nil {
			return err
		}
		before, err := fromRecord(rec, tx.now)
		if err != nil {
			return err
		}
		if err := before.at(p.IfMatch); err != nil {
			return err
		}
		fields := before.params()
		p.apply(&fields)
		fields.Faults = p.Faults
		if err := s.checkFields(&fields); err != nil {
			return err
		}
		next := rec
		fields.write(&next)
		updated, err = s.change(ctx, tx, EventLicenseUpdated, rec, next)
		return err
	})
	if err != nil {
		return License{}, fmt.Errorf("update license: %w", err)
	}
	return updated, nil
}

// target returns the record that p names.
func (s *Service) target(ctx context.Context, r store.Reader, p UpdateParams) (store.License, error) {
	if p.Match != nil {
		return s.match(ctx, r, *p.Match)
	}
	return s.find(ctx, r, p.ID)
}

// apply changes the fields that p sets.
func (p UpdateParams) apply(fields *CreateParams) {
	set(&fields.Name, p.Name)
	set(&fields.ProductID, p.ProductID)
	set(&fields.CustomerID, p.CustomerID)
	p.StartsAt.apply(&fields.StartsAt)
	p.ExpiresAt.apply(&fields.ExpiresAt)
	set(&fields.GraceSeconds, p.GraceSeconds)
	p.MaxActivations.apply(&fields.MaxActivations)
	p.LeaseSeconds.apply(&fields.LeaseSeconds)
	fields.Entitlements = mergeMap(fields.Entitlements, p.Entitlements, func(v any) (any, bool) { return v, v != nil })
	fields.Metadata = mergeMap(fields.Metadata, p.Metadata, func(v *string) (string, bool) {
		if v == nil {
			return "", false
		}
		return *v, true
	})
}

func set[T any](field *T, v *T) {
	if v != nil {
		*field = *v
	}
}

// mergeMap returns old, which it may change, with c merged into it. keep
// returns a value to set, or false for one that removes its name.
func mergeMap[V, P any](old map[string]V, c Change[map[string]P], keep func(P) (V, bool)) map[string]V {
	if !c.Set {
		return old
	}
	if c.Null {
		return nil
	}
	merged := make(map[string]V, len(old)+len(c.Value))
	for name, v := range old {
		merged[name] = v
	}
	for name, patch := range c.Value {
		if v, ok := keep(patch); ok {
			merged[name] = v
		} else {
			delete(merged, name)
		}
	}
	return merged
}

// change replaces a record, counts it anew and tells what changed. A change
// of nothing is none.
func (s *Service) change(ctx context.Context, tx *transaction, eventType string, rec, next store.License) (License, error) {
	before, err := fromRecord(rec, tx.now)
	if err != nil {
		return License{}, err
	}
	after, err := fromRecord(next, tx.now)
	if err != nil {
		return License{}, err
	}
	changes := diff(before, after)
	if len(changes) == 0 {
		return before, nil
	}
	next.Revision++
	next.UpdatedAt = tx.now
	after.Revision, after.UpdatedAt = next.Revision, next.UpdatedAt
	if err := tx.UpdateLicense(ctx, next); err != nil {
		return License{}, err
	}
	if err := tx.tally(ctx, rec, next); err != nil {
		return License{}, err
	}
	return after, s.append(ctx, tx, eventType, after, EventData{Changes: changes})
}
