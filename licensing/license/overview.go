package license

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// How far an [Overview] looks back and ahead.
const (
	OverviewDays  = 90                  // of Issued
	OverviewWeeks = 26                  // of Ending
	ExpiringSoon  = 30 * 24 * time.Hour // of Expiring
)

// An Overview is the register in figures, exact at one instant.
type Overview struct {
	At    time.Time
	Total int64
	// ByStatus counts the licenses of each of [Statuses].
	ByStatus map[Status]int64
	// Expiring counts those, neither suspended nor revoked, that end within
	// [ExpiringSoon] from At.
	Expiring int64
	// Issued counts the licenses created on each of the last [OverviewDays]
	// days, the oldest first and today last, as far as they still exist.
	Issued []Figure
	// Ending counts those that end in this week and in each of the
	// [OverviewWeeks] less one to come, but for those that are suspended or
	// revoked. Weeks begin on Monday.
	Ending []Figure
}

// A Figure counts something in a day or a week, in UTC.
type Figure struct {
	From time.Time // when the day or the week begins
	N    int64
}

// Overview returns the register in figures. It costs about the same however
// many licenses there are, because it adds up tallies. A caller who is limited
// to some products gets [ErrProductForbidden].
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
	// A license starts before it ends, so what has yet to start has not ended.
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

// figures adds up the tallies of days to n figures of so many days each.
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

// tallied counts what is tallied by day and by instant from one instant until
// before another; a zero one is no bound. Whole days are added up from the one
// kind, what is left over at the ends from the other.
func tallied(ctx context.Context, r store.Reader, byDay, byInstant string, from, before time.Time) (n int64, err error) {
	first, last := midnight(from), midnight(before)
	if first.Before(from) {
		first = first.AddDate(0, 0, 1)
	}
	if !before.IsZero() && !first.Before(last) { // there is no whole day in between
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

// tallies reads the counts of a name from one until before another; an empty one
// is no bound.
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

// midnight returns the beginning of t's day in UTC; zero stays zero.
func midnight(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// day and instant return the name of a tally; none for the zero time.
func day(t time.Time) string     { return nameOf(t, TallyDay) }
func instant(t time.Time) string { return nameOf(t, TallyInstant) }

func nameOf(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}
