package license

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The ranges of an [Overview].
const (
	OverviewDays  = 90                  // length of Issued
	OverviewWeeks = 26                  // length of Ending
	ExpiringSoon  = 30 * 24 * time.Hour // range of Expiring
)

// An Overview holds license counts, exact at one instant.
type Overview struct {
	At    time.Time
	Total int64
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

// Overview returns license counts. Its cost hardly depends on the number of
// licenses, because it adds up tallies. A caller limited to some products
// gets [ErrProductForbidden].
func (s *Service) Overview(ctx context.Context) (o Overview, err error) {
	if s.caller.Products != nil {
		return Overview{}, fmt.Errorf("overview: %w", ErrProductForbidden)
	}
	err = s.view(ctx, func(r store.Reader) (err error) {
		o, err = overview(ctx, r, s.now())
		return err
	})
	if err != nil {
		return Overview{}, fmt.Errorf("overview: %w", err)
	}
	return o, nil
}

func overview(ctx context.Context, r store.Reader, now time.Time) (Overview, error) {
	o := Overview{At: now, ByStatus: map[Status]int64{}}
	states, err := tallies(ctx, r, TallyState, "", "")
	if err != nil {
		return o, err
	}
	for _, t := range states {
		o.Total += t.N
		o.ByStatus[Status(t.Name)] = t.N
	}
	past := now.Add(time.Millisecond) // times up to now are before it
	expired, err := tallied(ctx, r, TallyExpires, TallyExpiresAt, time.Time{}, past)
	if err != nil {
		return o, err
	}
	// A license starts before it expires, so a scheduled license has not expired.
	scheduled, err := tallied(ctx, r, TallyStarts, TallyStartsAt, past, time.Time{})
	if err != nil {
		return o, err
	}
	o.ByStatus[StatusExpired], o.ByStatus[StatusScheduled] = expired, scheduled
	o.ByStatus[StatusActive] -= expired + scheduled
	if o.Expiring, err = tallied(ctx, r, TallyExpires, TallyExpiresAt, past, past.Add(ExpiringSoon)); err != nil {
		return o, err
	}
	today := midnight(now)
	if o.Issued, err = figures(ctx, r, TallyCreated, today.AddDate(0, 0, 1-OverviewDays), OverviewDays, 1); err != nil {
		return o, err
	}
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	o.Ending, err = figures(ctx, r, TallyExpires, monday, OverviewWeeks, 7)
	return o, err
}

// figures adds up daily tallies into n figures of the given number of days.
func figures(ctx context.Context, r store.Reader, kind string, from time.Time, n, days int) ([]Figure, error) {
	list := make([]Figure, n)
	for i := range list {
		list[i].From = from.AddDate(0, 0, i*days)
	}
	ts, err := tallies(ctx, r, kind, from.Format(TallyDay), from.AddDate(0, 0, n*days).Format(TallyDay))
	if err != nil {
		return nil, err
	}
	for _, t := range ts {
		day, err := time.Parse(TallyDay, t.Name)
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

// tallied adds up the tallies in [from, before); a zero bound is open. It
// takes whole days from the tallies by day and the rest from those by
// instant.
func tallied(ctx context.Context, r store.Reader, byDay, byInstant string, from, before time.Time) (n int64, err error) {
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

func sum(ctx context.Context, r store.Reader, kind, from, before string) (n int64, err error) {
	ts, err := tallies(ctx, r, kind, from, before)
	for _, t := range ts {
		n += t.N
	}
	return n, err
}

// tallies reads the tallies of a kind with names in [from, before); an empty
// bound is open.
func tallies(ctx context.Context, r store.Reader, name, from, before string) (all []NameCount, err error) {
	q := store.EntryQuery{From: from, Before: before, Limit: store.MaxLimit}
	for {
		page, err := counts(ctx, r, name, q)
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

// day and instant return the name of a tally, or "" for the zero time.
func day(t time.Time) string     { return nameOf(t, TallyDay) }
func instant(t time.Time) string { return nameOf(t, TallyInstant) }

func nameOf(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}
