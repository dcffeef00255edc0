package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Customers lists the customers that have licenses, sorted by ID in byte order; see package
// license.
func (s Service) Customers(ctx context.Context, p api.NamesParams) (api.Page[api.NameCount], error) {
	return s.names(ctx, "customer", store.ByCustomer, p)
}

// Products lists the products that have licenses, as [Service.Customers]
// lists customers.
func (s Service) Products(ctx context.Context, p api.NamesParams) (api.Page[api.NameCount], error) {
	return s.names(ctx, "product", store.ByProduct, p)
}

func (s Service) names(ctx context.Context, kind string, by store.NameOrder, p api.NamesParams) (api.Page[api.NameCount], error) {
	if err := call.Check(p); err != nil {
		return api.Page[api.NameCount]{}, err
	}
	if s.Caller.Products != nil {
		return api.Page[api.NameCount]{}, fmt.Errorf("list %ss: %w", kind, api.ErrProductForbidden)
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	alone := s.Kept.counting
	if p.Search != "" {
		alone = s.Kept.reading
	}
	page, err := kept(ctx, s, fmt.Sprintf("%s %q %q %q %d", kind, p.Prefix, p.Search, p.Cursor, p.Limit), alone, func() (api.Page[api.NameCount], error) { return s.readNames(ctx, by, p) })
	if err != nil {
		return api.Page[api.NameCount]{}, fmt.Errorf("list %ss: %w", kind, err)
	}
	page.Data = slices.Clone(page.Data)
	return page, nil
}

// firstNames is how many names a search examines at least.
const firstNames = 200

// readNames reads one name more than the page has.
func (s Service) readNames(ctx context.Context, by store.NameOrder, p api.NamesParams) (page api.Page[api.NameCount], err error) {
	page.Data = []api.NameCount{}
	words := call.SearchWords(p.Search)
	if p.Search != "" && len(words) == 0 {
		return page, nil
	}
	r, examine := s.Reader(), s.budget(firstNames)
	q := store.NamesQuery{By: by, After: p.Cursor, Limit: p.Limit + 1}
	if p.Search != "" {
		q.Limit = examine()
	}
	if q.After < p.Prefix { // a list of names after the prefix does not have the prefix itself
		q.After = p.Prefix
		if call.ContainsAll(call.Fold(p.Prefix), words) {
			n, err := r.CountLicenses(ctx, exactly(by, p.Prefix))
			if err != nil {
				return page, err
			}
			if n[0] > 0 {
				page.Data = append(page.Data, api.NameCount{Name: p.Prefix, N: n[0]})
			}
		}
	}
	for {
		list, err := r.LicenseNames(ctx, q)
		if err != nil {
			return page, err
		}
		for _, x := range list {
			q.After = x.Name
			if !strings.HasPrefix(x.Name, p.Prefix) {
				return page, nil
			}
			if len(words) > 0 && !call.ContainsAll(call.Fold(x.Name), words) {
				continue
			}
			if len(page.Data) == p.Limit {
				page.HasMore, page.NextCursor = true, page.Data[p.Limit-1].Name
				return page, nil
			}
			page.Data = append(page.Data, api.NameCount{Name: x.Name, N: x.Count})
		}
		if len(list) < q.Limit {
			return page, nil
		}
		if q.Limit = examine(); q.Limit == 0 {
			page.HasMore, page.NextCursor = true, q.After
			return page, nil
		}
	}
}

// exactly selects the licenses of one customer or product.
func exactly(by store.NameOrder, name string) store.LicenseQuery {
	if by == store.ByProduct {
		return store.LicenseQuery{ProductID: name}
	}
	return store.LicenseQuery{CustomerID: name}
}
