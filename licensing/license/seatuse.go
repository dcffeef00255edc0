package license

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// seatUse are numbers of activations that were not released or evicted, by product;
// see SeatCounts.
type seatUse struct {
	ByProduct map[string]int64
	AtLeast   bool // there can be more, because counting took too long
}

// SeatUse adds up the seat counts of the licenses of each product. It reads them for
// up to 250 ms, which is enough for about 30,000 licenses that were activated, and
// keeps the sums for up to 20 times as long as that took. A caller limited to some
// products gets [ErrProductForbidden].
func (s internals) SeatUse(ctx context.Context) (seatUse, error) {
	if s.caller.Products != nil {
		return seatUse{}, fmt.Errorf("seats by product: %w", ErrProductForbidden)
	}
	u, err := kept(ctx, s.Service, "seats", s.counts.reading, func() (seatUse, error) { return s.seatUse(ctx) })
	if err != nil {
		return seatUse{}, fmt.Errorf("seats by product: %w", err)
	}
	return u, nil
}

func (s *Service) seatUse(ctx context.Context) (seatUse, error) {
	u := seatUse{ByProduct: map[string]int64{}}
	q := store.EntryQuery{Kind: seatsKind, Limit: store.MaxLimit}
	for began := time.Now(); ; {
		entries, err := s.reader().Entries(ctx, q)
		if err != nil {
			return u, err
		}
		counts := make(map[string]int64, len(entries))
		ids := make([]string, len(entries))
		for i, e := range entries {
			if counts[e.Key], err = strconv.ParseInt(string(e.Data), 10, 64); err != nil {
				return u, fmt.Errorf("license %s: count of seats: %w", e.Key, err)
			}
			ids[i] = e.Key
		}
		rows, err := s.reader().Licenses(ctx, store.LicenseQuery{IDs: ids})
		if err != nil {
			return u, err
		}
		for _, row := range rows {
			u.ByProduct[row.ProductID] += counts[row.ID]
		}
		more := len(entries) == q.Limit
		if u.AtLeast = more && time.Since(began) >= searchTime; !more || u.AtLeast {
			return u, nil
		}
		q.After.ID = ids[len(ids)-1]
	}
}
