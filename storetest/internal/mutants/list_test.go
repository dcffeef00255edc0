package mutants

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// listMutants break the rules about lists.
var listMutants = []mutant{
	{10, "keeps ties ascending when descending", reading(func(r store.Reader) store.Reader { return ascendingTies{r} })},
	{10, "lists entries that never expire last", reading(func(r store.Reader) store.Reader { return neverLast{r} })},
	{10, "lists the entry that expires last first", reading(func(r store.Reader) store.Reader { return newestFirst{r} })},
	{10, "always lists events ascending", reading(func(r store.Reader) store.Reader { return upwards{r} })},
	{11, "lists licenses that never start by their start", reading(func(r store.Reader) store.Reader { return placesAll{r} })},

	{11, "ignores the state in a list of IDs", reading(func(r store.Reader) store.Reader { return forgetsState{r} })},
	{11, "ignores IDs after the first", reading(func(r store.Reader) store.Reader { return firstID{r} })},
	{11, "omits licenses that expire at the start of a range", reading(func(r store.Reader) store.Reader { return openRange{r} })},
	{11, "omits licenses that never expire", reading(func(r store.Reader) store.Reader { return forgetsNone{r} })},
	{11, "lists an activation at the end of its lease", reading(func(r store.Reader) store.Reader { return longLease{r} })},
	{11, "lists activations whether or not they are active", reading(func(r store.Reader) store.Reader { return listsEnded{r} })},
	{10, "lists leases by ID", reading(func(r store.Reader) store.Reader { return leasesByID{r} })},
	{11, "lists nothing with no Limit", reading(func(r store.Reader) store.Reader { return literalLimit{r} })},
	{11, "lists one too many", reading(func(r store.Reader) store.Reader { return oneTooMany{r} })},
	{11, "ignores the owner in a list by expiry", reading(func(r store.Reader) store.Reader { return forgetsOwner{r} })},
	{11, "ignores the product of a customer's events", reading(func(r store.Reader) store.Reader { return forgetsProduct{r} })},
	{11, "lists an entry at the end of a range of keys", reading(func(r store.Reader) store.Reader { return closedRange{r} })},

	{12, "repeats the last license of the page before", reading(func(r store.Reader) store.Reader { return repeats{r} })},
	{12, "skips ties at the end of a page", reading(func(r store.Reader) store.Reader { return skipsTies{r} })},
	{12, "starts again after a deleted license", reading(func(r store.Reader) store.Reader { return startsOver{r} })},
	{12, "ignores the position when descending", reading(func(r store.Reader) store.Reader { return forgetsPosition{r} })},
	{22, "accepts a query with fields of two orders", reading(func(r store.Reader) store.Reader { return guessesOrder{r} })},
	{12, "ends when the activation at the position is deleted", reading(func(r store.Reader) store.Reader { return endsEarly{r} })},
}

// Rule 10.

type ascendingTies struct{ store.Reader }

func (r ascendingTies) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	if q.Order == store.ByExpiresAt && q.Descending {
		for i := 0; i+1 < len(rows); i++ {
			if rows[i].ExpiresAt.Equal(rows[i+1].ExpiresAt) && rows[i].ID > rows[i+1].ID {
				rows[i], rows[i+1] = rows[i+1], rows[i]
			}
		}
	}
	return rows, err
}

type neverLast struct{ store.Reader }

func (r neverLast) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	rows, err := r.Reader.Entries(ctx, q)
	slices.SortStableFunc(rows, func(a, b store.Entry) int {
		switch {
		case q.Order == store.ByExpiry || a.ExpiresAt.IsZero() == b.ExpiresAt.IsZero():
			return 0
		case a.ExpiresAt.IsZero():
			return 1
		}
		return -1
	})
	return rows, err
}

type newestFirst struct{ store.Reader }

func (r newestFirst) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	rows, err := r.Reader.Entries(ctx, q)
	if q.Order == store.ByExpiry {
		slices.Reverse(rows)
	}
	return rows, err
}

type upwards struct{ store.Reader }

func (r upwards) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	rows, err := r.Reader.Events(ctx, q)
	if q.Descending {
		slices.Reverse(rows)
	}
	return rows, err
}

type placesAll struct{ store.Reader }

func (r placesAll) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	if q.Order == store.ByStartsAt && q.After.IsZero() && err == nil {
		q.Order = store.ByID
		all, err := r.Reader.Licenses(ctx, q)
		never := slices.DeleteFunc(all, func(l store.License) bool { return !l.StartsAt.IsZero() })
		rows = append(never, rows...)
		return rows[:min(len(rows), store.Limit(q.Limit))], err
	}
	return rows, err
}

// Rule 11.

type forgetsState struct{ store.Reader }

func (r forgetsState) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if len(q.IDs) > 0 {
		q.State = ""
	}
	return r.Reader.Licenses(ctx, q)
}

type firstID struct{ store.Reader }

func (r firstID) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	q.IDs = q.IDs[:min(1, len(q.IDs))]
	return r.Reader.Licenses(ctx, q)
}

type openRange struct{ store.Reader }

func (r openRange) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if !q.Expires.From.IsZero() {
		q.Expires.From = q.Expires.From.Add(time.Millisecond)
	}
	return r.Reader.Entries(ctx, q)
}

type forgetsNone struct{ store.Reader }

func (r forgetsNone) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	q.Starts.OrNone = false
	return r.Reader.Licenses(ctx, q)
}

type longLease struct{ store.Reader }

func (r longLease) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if !q.LiveAt.IsZero() {
		q.LiveAt = q.LiveAt.Add(-time.Millisecond)
	}
	return r.Reader.Activations(ctx, q)
}

type listsEnded struct{ store.Reader }

func (r listsEnded) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	q.LiveAt = time.Time{}
	return r.Reader.Activations(ctx, q)
}

type leasesByID struct{ store.Reader }

func (r leasesByID) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if q.LeaseEnds.IsZero() {
		return r.Reader.Activations(ctx, q)
	}
	all := q
	all.Limit = store.MaxLimit
	rows, err := r.Reader.Activations(ctx, all)
	slices.SortFunc(rows, func(a, b store.Activation) int { return strings.Compare(a.ID, b.ID) })
	return rows[:min(len(rows), store.Limit(q.Limit))], err
}

type literalLimit struct{ store.Reader }

func (r literalLimit) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	rows, err := r.Reader.Events(ctx, q)
	return rows[:max(0, min(len(rows), q.Limit))], err
}

type oneTooMany struct{ store.Reader }

func (r oneTooMany) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Limit == 1 {
		q.Limit++
	}
	return r.Reader.Entries(ctx, q)
}

type forgetsOwner struct{ store.Reader }

func (r forgetsOwner) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if !q.Expires.Before.IsZero() {
		q.Owner = ""
	}
	return r.Reader.Entries(ctx, q)
}

type forgetsProduct struct{ store.Reader }

func (r forgetsProduct) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	if q.CustomerID != "" {
		q.ProductID = ""
	}
	return r.Reader.Events(ctx, q)
}

type closedRange struct{ store.Reader }

func (r closedRange) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Before != "" {
		q.Before += "\x00"
	}
	return r.Reader.Entries(ctx, q)
}

// Rule 12.

type repeats struct{ store.Reader }

func (r repeats) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	if l, missing := r.License(ctx, q.After.ID); missing == nil && err == nil && store.Limit(q.Limit) > 1 {
		rows = append([]store.License{l}, rows...)
		rows = rows[:min(len(rows), store.Limit(q.Limit))]
	}
	return rows, err
}

type skipsTies struct{ store.Reader }

func (r skipsTies) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if !q.After.Time.IsZero() && !q.Descending {
		q.After.ID = "\xff"
	}
	return r.Reader.Licenses(ctx, q)
}

type startsOver struct{ store.Reader }

func (r startsOver) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.After.ID != "" {
		if _, err := r.License(ctx, q.After.ID); err != nil {
			q.After = store.Position{}
		}
	}
	return r.Reader.Licenses(ctx, q)
}

type forgetsPosition struct{ store.Reader }

func (r forgetsPosition) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	if q.Descending {
		q.After = 0
	}
	return r.Reader.Events(ctx, q)
}

type endsEarly struct{ store.Reader }

func (r endsEarly) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if q.After != "" {
		all, err := r.Reader.Activations(ctx, store.ActivationQuery{LicenseID: q.LicenseID})
		if err != nil || !slices.ContainsFunc(all, func(a store.Activation) bool { return a.ID == q.After }) {
			return nil, err
		}
	}
	return r.Reader.Activations(ctx, q)
}

// Rule 22.

type guessesOrder struct{ store.Reader }

func (r guessesOrder) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Check() != nil {
		q = store.EntryQuery{Kind: cmp.Or(q.Kind, "kind"), Limit: q.Limit}
	}
	return r.Reader.Entries(ctx, q)
}
