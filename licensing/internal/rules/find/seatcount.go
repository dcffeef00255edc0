package find

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A SeatNumber is the number of activations of a license that were not released or
// evicted.
type SeatNumber struct {
	N       int
	AtLeast bool // there can be more, because counting stopped at [store.MaxLimit]
}

// SeatCounts returns how many activations of the given licenses were not
// released or evicted, by license ID. Activations whose leases have ended are
// included until their seats are needed, so the number of a license with leases
// is an upper bound. It reads the stored counts together. The activations of a
// license without a stored count, as after a move to another store, are read: up to
// [store.MaxLimit] of them. A license without activations has the zero number or is
// missing. It takes at most 1,000 IDs. A caller limited to some products gets
// [api.ErrProductForbidden].
func (s Service) SeatCounts(ctx context.Context, ids []string) (map[string]SeatNumber, error) {
	if s.Caller.Products != nil {
		return nil, fmt.Errorf("seat counts: %w", api.ErrProductForbidden)
	}
	counts, err := SeatCounts(ctx, s.Reader(), ids)
	if err != nil {
		return nil, fmt.Errorf("seat counts: %w", err)
	}
	return counts, nil
}

// SeatCounts is SeatCounts on one reader.
func SeatCounts(ctx context.Context, r store.Reader, ids []string) (map[string]SeatNumber, error) {
	counts, err := entries.Of(ctx, r, seats.SeatsKind, ids, func(e store.Entry) (SeatNumber, error) {
		n, err := seats.ReadCount(e)
		return SeatNumber{N: n}, err
	})
	for _, id := range ids {
		if _, stored := counts[id]; stored || err != nil {
			continue
		}
		var rows []store.Activation
		rows, err = r.Activations(ctx, store.ActivationQuery{LicenseID: id, LiveAt: time.Unix(0, 0), Limit: store.MaxLimit})
		counts[id] = SeatNumber{len(rows), len(rows) == store.MaxLimit}
	}
	return counts, err
}

// seatUse are numbers of activations that were not released or evicted, by product;
// see SeatCounts.
type seatUse struct {
	ByProduct map[string]int64
	AtLeast   bool // there can be more: counting took too long, or a license has too many that are not counted yet
}

// seatUse adds up the seats of the licenses of each product. It reads licenses for up
// to 250 ms.
func (s Service) seatUse(ctx context.Context) (seatUse, error) {
	u := seatUse{ByProduct: map[string]int64{}}
	const batch = 200 // licenses between two looks at the clock
	q := store.LicenseQuery{Limit: batch}
	for began := time.Now(); ; {
		rows, err := s.Reader().Licenses(ctx, q)
		if err != nil {
			return u, err
		}
		ids := make([]string, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
		}
		counts, err := SeatCounts(ctx, s.Reader(), ids)
		if err != nil {
			return u, err
		}
		for _, row := range rows {
			n := counts[row.ID]
			if n.N > 0 {
				u.ByProduct[row.ProductID] += int64(n.N)
			}
			u.AtLeast = u.AtLeast || n.AtLeast
		}
		if len(rows) < batch {
			return u, nil
		}
		if time.Since(began) >= 250*time.Millisecond {
			u.AtLeast = true
			return u, nil
		}
		q.After.ID = ids[len(ids)-1]
	}
}
