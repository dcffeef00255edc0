package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Update changes the fields that p sets and appends a license.updated event
// with the changes. If nothing changes, it writes nothing and keeps the
// revision. When LeaseSeconds is set or shortened, activations that are not
// renewed end within a day plus the new lease. It returns [ErrNotFound], an
// [*AmbiguousError], a [*StaleError], an [*InvalidError] or, if the license
// would move to a product outside the caller's limit, [ErrProductForbidden].
func (s *Service) Update(ctx context.Context, p UpdateParams) (License, error) {
	if (p.ID == "") == (p.Match == nil) {
		return License{}, Invalid("id", CodeRequired, "identify the license by its id, or by product_id and customer_id")
	}
	if p.Match != nil {
		if err := check(ctx, p.Match); err != nil {
			return License{}, err
		}
	}
	shorter := false // LeaseSeconds was set or shortened
	edited, err := s.edit(ctx, edit{
		verb:    "update",
		event:   EventLicenseUpdated,
		find:    func(r store.Reader) (store.License, error) { return s.target(ctx, r, p) },
		ifMatch: p.IfMatch,
		apply: func(l License, next *store.License, _ time.Time) error {
			fields := l.params()
			p.apply(&fields)
			if err := s.checkFields(ctx, &fields); err != nil {
				return err
			}
			was := next.LeaseSeconds
			fields.write(next)
			shorter = next.LeaseSeconds >= 0 && (was < 0 || next.LeaseSeconds < was)
			return nil
		},
	})
	if err == nil && shorter {
		s.cutAllLeases(ctx, edited.ID)
	}
	return edited, err
}

// target returns the record that p selects.
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
// returns the value to set, or false to remove the entry.
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
