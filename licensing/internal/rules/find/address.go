package find

import (
	"context"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// addressPage is how many entries of an address are read at a time.
const addressPage = 200

// readAddress is readPage for a call that acts for an address. It reads the licenses that the
// entries of the address name, at most q.Examine of them.
func (s Service) readAddress(ctx context.Context, q store.LicenseQuery) (recs []store.License, end store.Position, err error) {
	prefix := licenses.AddressPrefix(s.Owner.Address)
	eq := store.EntryQuery{Kind: licenses.AddressKind, From: prefix, Before: store.PrefixEnd(prefix), Descending: q.Descending, Limit: min(q.Limit, addressPage)}
	if q.After.ID != "" {
		eq.After.ID = prefix + q.After.ID
	}
	err = s.Read(ctx, func(r store.Reader) error {
		recs, end = nil, store.Position{}
		eq := eq
		for examined := 0; examined < q.Examine; examined += eq.Limit {
			found, err := r.Entries(ctx, eq)
			if err != nil || len(found) == 0 {
				end = store.Position{}
				return err
			}
			ids := make([]string, len(found))
			for i, e := range found {
				ids[i] = strings.TrimPrefix(e.Key, prefix)
			}
			rows, err := r.Licenses(ctx, store.LicenseQuery{IDs: ids, Descending: q.Descending})
			if err != nil {
				return err
			}
			for _, row := range rows {
				rec, err := licenses.Read(row, s.Now())
				if err != nil {
					return err
				}
				if owned, err := s.Owned(rec); err != nil {
					return err
				} else if owned && selects(q, row) && s.Sees(row.ProductID) {
					if recs = append(recs, row); len(recs) == q.Limit {
						end = q.Position(row)
						return nil
					}
				}
			}
			if end = (store.Position{}); len(found) < eq.Limit {
				return nil
			}
			end.ID, eq.After.ID = ids[len(ids)-1], found[len(found)-1].Key
		}
		return nil
	})
	return recs, end, err
}
