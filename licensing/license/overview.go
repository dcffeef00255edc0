package license

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// The ranges of an Overview.
const (
	overviewDays  = 365 // length of Issued
	overviewWeeks = 53  // length of Ending
)

// An Overview holds the counts of all licenses and their charts.
type Overview struct {
	Counts
	// Issued counts the existing licenses created on each of the last 365
	// days, oldest first and today last. The time is that in the
	// ID, from which the CreatedAt of a license that was imported with its ID
	// can differ.
	Issued []Figure
	// Ending counts licenses, neither suspended nor revoked, that expire in
	// each of 53 weeks, this week first. Weeks start on Monday.
	Ending []Figure
}

// A Figure is the count of one day or week in UTC.
type Figure struct {
	From time.Time // start of the day or week
	N    int64
}

// Overview returns exact license counts, which it keeps as [Service.Count] does. A
// caller limited to some products gets [api.ErrProductForbidden].
func (s *Service) Overview(ctx context.Context) (Overview, error) {
	if s.caller.Products != nil {
		return Overview{}, fmt.Errorf("overview: %w", api.ErrProductForbidden)
	}
	o, err := kept(ctx, s, "overview", s.counts.counting, func() (o Overview, err error) {
		err = s.read(ctx, func(r store.Reader) error {
			o, err = overview(ctx, r, s.now())
			return err
		})
		return o, err
	})
	if err != nil {
		return Overview{}, fmt.Errorf("overview: %w", err)
	}
	o.ByStatus, o.Issued, o.Ending = maps.Clone(o.ByStatus), slices.Clone(o.Issued), slices.Clone(o.Ending)
	return o, nil
}

func overview(ctx context.Context, r store.Reader, now time.Time) (o Overview, err error) {
	o.Counts = Counts{At: now, ByStatus: map[api.LicenseStatus]int64{}}
	if err := o.add(ctx, r, api.ListLicensesParams{}); err != nil {
		return o, err
	}
	today := now.UTC().Truncate(24 * time.Hour)
	created := func(t time.Time) store.Position { return store.Position{ID: idFrom(t)} }
	if o.Issued, err = figures(ctx, r, store.LicenseQuery{}, today.AddDate(0, 0, 1-overviewDays), overviewDays, 1, created); err != nil {
		return o, err
	}
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	ends := func(t time.Time) store.Position { return store.Position{Time: t} }
	o.Ending, err = figures(ctx, r, store.LicenseQuery{State: store.StateActive, Order: store.ByExpiresAt}, monday, overviewWeeks, 7, ends)
	return o, err
}

// figures counts licenses in n ranges of the given number of days.
func figures(ctx context.Context, r store.Reader, q store.LicenseQuery, from time.Time, n, days int, edge func(time.Time) store.Position) ([]Figure, error) {
	list := make([]Figure, n)
	edges := make([]store.Position, n+1)
	for i := range edges {
		edges[i] = edge(from.AddDate(0, 0, i*days))
	}
	counts, err := r.CountLicenses(ctx, q, edges...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] = Figure{from.AddDate(0, 0, i*days), counts[i]}
	}
	return list, nil
}
