package license

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/catalog"
)

// The ranges of an [Overview].
const (
	OverviewDays  = 365                 // length of Issued
	OverviewWeeks = 53                  // length of Ending
	ExpiringSoon  = 30 * 24 * time.Hour // range of Expiring
)

// An Overview holds license counts at one instant. They are exact unless Indexing
// is set.
type Overview struct {
	At       time.Time
	Indexing *Indexing // nil: the counts include every change
	Total    int64
	// ByStatus counts licenses by status.
	ByStatus map[Status]int64
	// Expiring counts licenses that are neither suspended nor revoked and
	// expire within [ExpiringSoon] after At.
	Expiring int64
	// Issued counts the existing licenses created on each of the last
	// [OverviewDays] days, oldest first and today last.
	Issued []Figure
	// Ending counts licenses, neither suspended nor revoked, that expire in
	// each of [OverviewWeeks] weeks, this week first. Weeks start on Monday.
	Ending []Figure
}

// A Figure is the count of one day or week in UTC.
type Figure struct {
	From time.Time // start of the day or week
	N    int64
}

// Overview returns license counts. It adds up stored counts, which it first
// brings up to date with the event feed: one for each day on which a license has
// ended, one for each hour of this day and of the last day of Expiring, and one for
// each different end in this hour and in the last one. A caller limited to some
// products gets [ErrProductForbidden].
func (s *Service) Overview(ctx context.Context) (o Overview, err error) {
	if s.caller.Products != nil {
		return Overview{}, fmt.Errorf("overview: %w", ErrProductForbidden)
	}
	lag, err := s.catalog.Answer(ctx, s.within(), func(in catalog.Snapshot) (err error) {
		o, err = overview(ctx, in, s.now())
		return err
	})
	if err != nil {
		return Overview{}, fmt.Errorf("overview: %w", err)
	}
	o.Indexing = s.indexing(ctx, lag)
	return o, nil
}

func overview(ctx context.Context, in catalog.Snapshot, now time.Time) (Overview, error) {
	o := Overview{At: now, ByStatus: map[Status]int64{}}
	states, err := in.AllCounts(ctx, catalog.State, "", "")
	if err != nil {
		return o, err
	}
	for _, c := range states {
		o.Total += c.N
		o.ByStatus[Status(c.Name)] = c.N
	}
	past := now.Add(time.Millisecond) // times up to now are before it
	expired, err := in.Between(ctx, catalog.Expires, time.Time{}, past)
	if err != nil {
		return o, err
	}
	// A license starts before it expires, so a scheduled license has not expired.
	scheduled, err := in.Between(ctx, catalog.Starts, past, time.Time{})
	if err != nil {
		return o, err
	}
	o.ByStatus[StatusExpired], o.ByStatus[StatusScheduled] = expired, scheduled
	o.ByStatus[StatusActive] -= expired + scheduled
	if o.Expiring, err = in.Between(ctx, catalog.Expires, past, past.Add(ExpiringSoon)); err != nil {
		return o, err
	}
	today := now.UTC().Truncate(24 * time.Hour)
	if o.Issued, err = figures(ctx, in, catalog.Created, today.AddDate(0, 0, 1-OverviewDays), OverviewDays, 1); err != nil {
		return o, err
	}
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	o.Ending, err = figures(ctx, in, catalog.Expires, monday, OverviewWeeks, 7)
	return o, err
}

// figures adds up daily counts into n figures of the given number of days.
func figures(ctx context.Context, in catalog.Snapshot, by string, from time.Time, n, days int) ([]Figure, error) {
	list := make([]Figure, n)
	for i := range list {
		list[i].From = from.AddDate(0, 0, i*days)
	}
	counts, err := in.AllCounts(ctx, by, from.Format(catalog.Day), from.AddDate(0, 0, n*days).Format(catalog.Day))
	if err != nil {
		return nil, err
	}
	for _, c := range counts {
		day, err := time.Parse(catalog.Day, c.Name)
		if err != nil {
			return nil, err
		}
		i, found := slices.BinarySearchFunc(list, day, func(f Figure, day time.Time) int { return f.From.Compare(day) })
		if !found {
			i--
		}
		list[i].N += c.N
	}
	return list, nil
}
