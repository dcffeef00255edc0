package license

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// NamesParams select customers or products.
type NamesParams struct {
	Prefix string `json:"prefix" validate:"omitempty,wellformed,max=255"` // names start with it, compared byte by byte
	After  string `json:"after" validate:"omitempty,wellformed,max=255"`  // the last Name of the previous page
	Limit  int    `json:"limit" validate:"min=0,max=200"`                 // 0: 50
}

// A NameCount is the ID of a customer or product and its number of licenses.
type NameCount struct {
	Name string
	N    int64
}

// Customers lists the customers that have licenses, sorted by ID in byte
// order. It returns [ErrProductForbidden] to a caller limited to some
// products.
func (s *Service) Customers(ctx context.Context, p NamesParams) ([]NameCount, error) {
	return s.names(ctx, TallyCustomer, p)
}

// Products lists the products that have licenses, as [Service.Customers]
// lists customers.
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
