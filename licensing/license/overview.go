package license

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/catalog"
	"github.com/seed-d8a106b4/licensekit/store"
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
// ended, and one for each different end today and on the last day of Expiring. A
// caller limited to some products gets [ErrProductForbidden].
func (s *Service) Overview(ctx context.Context) (o Overview, err error) {
	if s.caller.Products != nil {
		return Overview{}, fmt.Errorf("overview: %w", ErrProductForbidden)
	}
	lag, err := s.catalog.Counts.Answer(ctx, s.within(), func(r store.Reader, kind string) (err error) {
		o, err = overview(ctx, counted{r, kind}, s.now())
		return err
	})
	if err != nil {
		return Overview{}, fmt.Errorf("overview: %w", err)
	}
	o.Indexing = s.indexing(ctx, lag)
	return o, nil
}

func overview(ctx context.Context, r counted, now time.Time) (Overview, error) {
	o := Overview{At: now, ByStatus: map[Status]int64{}}
	states, err := tallies(ctx, r, catalog.State, "", "")
	if err != nil {
		return o, err
	}
	for _, t := range states {
		o.Total += t.N
		o.ByStatus[Status(t.Name)] = t.N
	}
	past := now.Add(time.Millisecond) // times up to now are before it
	expired, err := tallied(ctx, r, catalog.Expires, catalog.ExpiresAt, time.Time{}, past)
	if err != nil {
		return o, err
	}
	// A license starts before it expires, so a scheduled license has not expired.
	scheduled, err := tallied(ctx, r, catalog.Starts, catalog.StartsAt, past, time.Time{})
	if err != nil {
		return o, err
	}
	o.ByStatus[StatusExpired], o.ByStatus[StatusScheduled] = expired, scheduled
	o.ByStatus[StatusActive] -= expired + scheduled
	if o.Expiring, err = tallied(ctx, r, catalog.Expires, catalog.ExpiresAt, past, past.Add(ExpiringSoon)); err != nil {
		return o, err
	}
	today := midnight(now)
	if o.Issued, err = figures(ctx, r, catalog.Created, today.AddDate(0, 0, 1-OverviewDays), OverviewDays, 1); err != nil {
		return o, err
	}
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	o.Ending, err = figures(ctx, r, catalog.Expires, monday, OverviewWeeks, 7)
	return o, err
}

// figures adds up daily counts into n figures of the given number of days.
func figures(ctx context.Context, r counted, kind string, from time.Time, n, days int) ([]Figure, error) {
	list := make([]Figure, n)
	for i := range list {
		list[i].From = from.AddDate(0, 0, i*days)
	}
	ts, err := tallies(ctx, r, kind, from.Format(catalog.Day), from.AddDate(0, 0, n*days).Format(catalog.Day))
	if err != nil {
		return nil, err
	}
	for _, t := range ts {
		day, err := time.Parse(catalog.Day, t.Name)
		if err != nil {
			return nil, err
		}
		i, found := slices.BinarySearchFunc(list, day, func(f Figure, day time.Time) int { return f.From.Compare(day) })
		if !found {
			i--
		}
		list[i].N += t.N
	}
	return list, nil
}

// tallied adds up the counts in [from, before); a zero bound is open. It
// takes whole days from the counts by day and the rest from those by
// instant.
func tallied(ctx context.Context, r counted, byDay, byInstant string, from, before time.Time) (n int64, err error) {
	first, last := midnight(from), midnight(before)
	if first.Before(from) {
		first = first.AddDate(0, 0, 1)
	}
	if !before.IsZero() && !first.Before(last) { // no whole day in the range
		return sum(ctx, r, byInstant, instant(from), instant(before))
	}
	parts := [][3]string{{byDay, day(first), day(last)}}
	if from.Before(first) {
		parts = append(parts, [3]string{byInstant, instant(from), instant(first)})
	}
	if last.Before(before) {
		parts = append(parts, [3]string{byInstant, instant(last), instant(before)})
	}
	for _, part := range parts {
		more, err := sum(ctx, r, part[0], part[1], part[2])
		if err != nil {
			return 0, err
		}
		n += more
	}
	return n, nil
}

func sum(ctx context.Context, r counted, kind, from, before string) (n int64, err error) {
	ts, err := tallies(ctx, r, kind, from, before)
	for _, t := range ts {
		n += t.N
	}
	return n, err
}

// counted is a snapshot and the kind of the entries that hold counts.
type counted struct {
	store.Reader
	kind string
}

// tallies reads the counts by something with names in [from, before); an empty
// bound is open.
func tallies(ctx context.Context, r counted, by, from, before string) (all []catalog.Count, err error) {
	q := store.EntryQuery{From: from, Before: before, Limit: store.MaxLimit}
	for {
		page, err := catalog.ReadCounts(ctx, r, r.kind, by, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			return all, nil
		}
		q.After.ID = page[len(page)-1].Name
	}
}

// midnight returns the start of t's day in UTC; zero stays zero.
func midnight(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// day and instant return the name of a count, or "" for the zero time.
func day(t time.Time) string     { return nameOf(t, catalog.Day) }
func instant(t time.Time) string { return nameOf(t, catalog.Instant) }

func nameOf(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}
