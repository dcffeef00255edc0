package license

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/catalog"
	"github.com/seed-d8a106b4/licensekit/store"
)

// NamesParams select customers or products.
type NamesParams struct {
	Prefix string `json:"prefix" validate:"omitempty,wellformed,max=255"`  // names start with it, compared byte by byte
	Search string `json:"search" validate:"omitempty,wellformed,max=1024"` // names have, for each word of it, a word that begins with it, ignoring case
	Cursor string `json:"cursor" validate:"omitempty,wellformed,max=512"`  // NextCursor of the previous page
	Limit  int    `json:"limit" validate:"min=0,max=200"`                  // 0: 50
}

// A NameCount is the ID of a customer or product and its number of licenses.
type NameCount struct {
	Name string
	N    int64
}

// Customers lists the customers that have licenses, sorted by ID in byte
// order. With Search, Prefix has no effect, they are sorted by the word that
// matches, and a page can be short although HasMore is true. It returns an
// [*InvalidError], or [ErrProductForbidden] to a caller limited to some products.
func (s *Service) Customers(ctx context.Context, p NamesParams) (IndexedPage[NameCount], error) {
	return s.names(ctx, catalog.Customer, p)
}

// Products lists the products that have licenses, as [Service.Customers]
// lists customers.
func (s *Service) Products(ctx context.Context, p NamesParams) (IndexedPage[NameCount], error) {
	return s.names(ctx, catalog.Product, p)
}

func (s *Service) names(ctx context.Context, by string, p NamesParams) (IndexedPage[NameCount], error) {
	if err := check(ctx, p); err != nil {
		return IndexedPage[NameCount]{}, err
	}
	if s.caller.Products != nil {
		return IndexedPage[NameCount]{}, fmt.Errorf("list %ss: %w", by, ErrProductForbidden)
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	q := store.EntryQuery{From: p.Prefix, After: store.Position{ID: p.Cursor}, Limit: p.Limit + 1}
	if p.Prefix != "" {
		q.Before = store.PrefixEnd(p.Prefix)
	}
	var list []catalog.Count
	next := ""
	lag, err := s.catalog.Answer(ctx, s.within(), func(in catalog.Snapshot) (err error) {
		if p.Search != "" {
			list, next, err = in.Names(ctx, by, p.Search, p.Cursor, p.Limit)
			return err
		}
		list, err = in.Counts(ctx, by, q)
		return err
	})
	if err != nil {
		return IndexedPage[NameCount]{}, fmt.Errorf("list %ss: %w", by, err)
	}
	page := IndexedPage[NameCount]{
		Page:     Page[NameCount]{Data: make([]NameCount, 0, len(list)), HasMore: next != "", NextCursor: next},
		Indexing: s.indexing(ctx, lag),
	}
	for _, c := range list {
		if len(page.Data) == p.Limit {
			page.HasMore, page.NextCursor = true, page.Data[p.Limit-1].Name
			break
		}
		page.Data = append(page.Data, NameCount(c))
	}
	return page, nil
}
