package license

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// NamesParams select customers or products.
type NamesParams struct {
	Prefix string `json:"prefix" validate:"omitempty,wellformed,max=255"` // what they begin with, byte for byte
	After  string `json:"after" validate:"omitempty,wellformed,max=255"`  // the Name of the last one of the page before
	Limit  int    `json:"limit" validate:"min=0,max=200"`                 // 0: 50
}

// A NameCount is the identifier of a customer or a product, and how many
// licenses it has.
type NameCount struct {
	Name string
	N    int64
}

// Customers lists those who have licenses, in the order of their identifiers,
// byte by byte. A caller who is limited to some products gets
// [ErrProductForbidden].
func (s *Service) Customers(ctx context.Context, p NamesParams) ([]NameCount, error) {
	return s.names(ctx, TallyCustomer, p)
}

// Products lists what there are licenses of, as [Service.Customers] does.
func (s *Service) Products(ctx context.Context, p NamesParams) ([]NameCount, error) {
	return s.names(ctx, TallyProduct, p)
}

func (s *Service) names(ctx context.Context, name string, p NamesParams) ([]NameCount, error) {
	if err := check(ctx, p); err != nil {
		return nil, err
	}
	if s.caller.Products != nil {
		return nil, fmt.Errorf("list %ss: %w", name, ErrProductForbidden)
	}
	q := store.EntryQuery{From: p.Prefix, After: store.Position{ID: p.After}, Limit: p.Limit}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	if p.Prefix != "" {
		q.Before = store.PrefixEnd(p.Prefix)
	}
	list, err := counts(ctx, s.reader(), name, q)
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", name, err)
	}
	return list, nil
}
