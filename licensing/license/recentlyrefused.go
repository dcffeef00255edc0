package license

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A refusedLicense is a license that was refused, with the reasons.
type refusedLicense struct {
	License  License
	Refusals []Refusal // as from [Service.Refusals]
}

// recentlyRefusedDays is how far back RecentlyRefused looks.
const recentlyRefusedDays = 7

// maxRecentlyRefused is the most licenses that RecentlyRefused returns.
const maxRecentlyRefused = 20

// RecentlyRefused returns licenses that were refused in the last seven days,
// the latest first, at most 20. If more were refused on one day, it returns
// some of them. It has the limits of [Service.Refusals]. A caller limited to
// some products gets [ErrProductForbidden].
func (s internals) RecentlyRefused(ctx context.Context) (list []refusedLicense, err error) {
	if s.caller.Products != nil {
		return nil, fmt.Errorf("recently refused: %w", ErrProductForbidden)
	}
	err = s.view(ctx, func(r store.Reader) error {
		now := s.now()
		ids := s.pending.ids(maxRecentlyRefused)
		records, err := stored[refusalRecord](ctx, r, refusalKind, ids)
		if err != nil {
			return err
		}
		for day := dayOf(now); day > dayOf(now)-recentlyRefusedDays && len(ids) < maxRecentlyRefused; day-- {
			expires := store.TimeRange{From: startOf(day + refusalDays), Before: startOf(day + refusalDays + 1)}
			entries, err := r.Entries(ctx, store.EntryQuery{Kind: refusalKind, Order: store.ByExpiry, Expires: expires, Limit: maxRecentlyRefused})
			if err != nil {
				return err
			}
			for _, e := range entries {
				if slices.Contains(ids, e.Key) || len(ids) == maxRecentlyRefused {
					continue
				}
				var record refusalRecord
				if err := decode(e.Data, &record); err != nil {
					return err
				}
				ids, records[e.Key] = append(ids, e.Key), record
			}
		}
		list = nil
		if len(ids) == 0 {
			return nil
		}
		rows, err := r.Licenses(ctx, store.LicenseQuery{IDs: ids})
		if err != nil {
			return err
		}
		for _, row := range rows {
			l, err := fromRow(row, now)
			if err != nil {
				return err
			}
			record := records[l.ID]
			s.pending.copyTo(&record, l.ID)
			record.trim(now)
			list = append(list, refusedLicense{l, record.refusals()})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recently refused: %w", err)
	}
	list = slices.DeleteFunc(list, func(l refusedLicense) bool { return len(l.Refusals) == 0 }) // stored and deleted meanwhile
	slices.SortFunc(list, func(a, b refusedLicense) int { return b.Refusals[0].LastAt.Compare(a.Refusals[0].LastAt) })
	return list, nil
}
