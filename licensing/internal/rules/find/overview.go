package find

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// The ranges of an Overview.
const (
	OverviewDays  = 365 // length of Issued
	overviewWeeks = 53  // length of Ending
)

// Overview returns exact license counts, which it keeps as [Service.Count] does. A
// caller limited to some products gets [api.ErrProductForbidden].
func (s Service) Overview(ctx context.Context) (api.Overview, error) {
	if s.Caller.Products != nil {
		return api.Overview{}, fmt.Errorf("overview: %w", api.ErrProductForbidden)
	}
	o, err := kept(ctx, s, "overview", s.Kept.counting, func() (o api.Overview, err error) {
		err = s.Read(ctx, func(r store.Reader) error {
			o, err = overview(ctx, r, s.Now())
			return err
		})
		return o, err
	})
	if err != nil {
		return api.Overview{}, fmt.Errorf("overview: %w", err)
	}
	o.ByStatus, o.Issued, o.Ending = maps.Clone(o.ByStatus), slices.Clone(o.Issued), slices.Clone(o.Ending)
	return o, nil
}

func overview(ctx context.Context, r store.Reader, now time.Time) (o api.Overview, err error) {
	o.Counts = api.Counts{At: now, ByStatus: map[api.LicenseStatus]int64{}}
	if err := addCounts(ctx, &o.Counts, r, api.ListLicensesParams{}); err != nil {
		return o, err
	}
	today := now.UTC().Truncate(24 * time.Hour)
	created := func(t time.Time) store.Position { return store.Position{ID: licenses.IdFrom(t)} }
	if o.Issued, err = figures(ctx, r, store.LicenseQuery{}, today.AddDate(0, 0, 1-OverviewDays), OverviewDays, 1, created); err != nil {
		return o, err
	}
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	ends := func(t time.Time) store.Position { return store.Position{Time: t} }
	o.Ending, err = figures(ctx, r, store.LicenseQuery{State: store.StateActive, Order: store.ByExpiresAt}, monday, overviewWeeks, 7, ends)
	return o, err
}

// figures counts licenses in n ranges of the given number of days.
func figures(ctx context.Context, r store.Reader, q store.LicenseQuery, from time.Time, n, days int, edge func(time.Time) store.Position) ([]api.Figure, error) {
	list := make([]api.Figure, n)
	edges := make([]store.Position, n+1)
	for i := range edges {
		edges[i] = edge(from.AddDate(0, 0, i*days))
	}
	counts, err := r.CountLicenses(ctx, q, edges...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] = api.Figure{From: from.AddDate(0, 0, i*days), N: counts[i]}
	}
	return list, nil
}
