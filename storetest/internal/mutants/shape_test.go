package mutants

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// shapeMutants have a fault in a list of one shape, or for one combination of filters.
var shapeMutants = []mutant{
	{11, "lists a license of a product where it ended before, too", func() store.Store {
		f := &former{ends: map[string][]time.Time{}}
		return spoiling(func(r store.Reader) store.Reader { return listsFormer{r, f} }, func(tx store.Tx) store.Writer { return notesFormer{tx, tx, f} })()
	}},
	{10, "lists the licenses of a product by their first ends", func() store.Store {
		f := &former{ends: map[string][]time.Time{}}
		return spoiling(func(r store.Reader) store.Reader { return listsByFirst{r, f} }, func(tx store.Tx) store.Writer { return notesFormer{tx, tx, f} })()
	}},
	{11, "lists an entry that was deleted and put again twice", func() store.Store {
		m := &madeAgain{deleted: map[string]bool{}, again: map[string]bool{}}
		return spoiling(func(r store.Reader) store.Reader { return listsTwice{r, m} }, func(tx store.Tx) store.Writer { return notesDeleted{tx, m} })()
	}},
	{10, "lists starts before 1970 after the others", reading(func(r store.Reader) store.Reader { return unsignedStarts{r} })},
	{31, "counts only licenses of a product that end after 1970", reading(func(r store.Reader) store.Reader { return countsUnsigned{r} })},

	{11, "ignores LiveAt beside LeaseEnds", reading(func(r store.Reader) store.Reader { return leasesOnly{r} })},
	{12, "ignores LiveAt after the first page", reading(func(r store.Reader) store.Reader { return pagesEnded{r} })},
	{11, "ignores the end of a range in the order of a product", reading(func(r store.Reader) store.Reader { return openEnd{r} })},
	{11, "ignores the state of a customer's product", reading(func(r store.Reader) store.Reader { return twoNames{r} })},
	{10, "lists Keys ascending when descending", reading(func(r store.Reader) store.Reader { return ascendingKeys{r} })},
	{12, "ignores the position in a range of an owner's entries", reading(func(r store.Reader) store.Reader { return ownersFirst{r} })},
	{11, "filters the first 2,000 licenses of a customer", reading(func(r store.Reader) store.Reader { return filtersTwoPages{r} })},
	{11, "filters the first 2,000 activations", reading(func(r store.Reader) store.Reader { return filtersSeats{r} })},
	{21, "removes 2,000 events at most", writing(func(tx store.Tx) store.Writer { return removesTwoPages{tx} })},
	{31, "counts at most 2,000", reading(func(r store.Reader) store.Reader { return countsTwoPages{r} })},
	{11, "ignores the product of a subject's customer", reading(func(r store.Reader) store.Reader { return twoOfThree{r} })},
}

// former are the ends that licenses had since they were created, by ID.
type former struct {
	mu   sync.Mutex
	ends map[string][]time.Time
}

func (f *former) of(l store.License) []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ends[l.ID]
}

type notesFormer struct {
	store.Writer
	tx store.Tx
	*former
}

func (w notesFormer) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	err := w.Writer.CreateLicenses(ctx, licenses...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range licenses {
		if err == nil {
			w.ends[l.ID] = []time.Time{l.ExpiresAt}
		}
	}
	return err
}

func (w notesFormer) UpdateLicense(ctx context.Context, l store.License) error {
	err := w.Writer.UpdateLicense(ctx, l)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.ends[l.ID] = append(w.ends[l.ID], l.ExpiresAt)
	}
	return err
}

func byProductAndEnd(q store.LicenseQuery) bool {
	return q.Order == store.ByExpiresAt && q.ProductID != "" && q.CustomerID == "" && q.State == "" && q.After.IsZero() && q.Limit > 1
}

type listsFormer struct {
	store.Reader
	*former
}

func (r listsFormer) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	for _, l := range slices.Clone(rows) {
		for _, end := range r.of(l) {
			if byProductAndEnd(q) && !end.Equal(l.ExpiresAt) && !end.IsZero() && q.Expires.Contains(end) {
				rows = append(rows, l)
			}
		}
	}
	return rows, err
}

type listsByFirst struct {
	store.Reader
	*former
}

func (r listsByFirst) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	if byProductAndEnd(q) && !q.Descending {
		slices.SortStableFunc(rows, func(a, b store.License) int { return r.of(a)[0].Compare(r.of(b)[0]) })
	}
	return rows, err
}

// madeAgain are the entries that were deleted, by kind and key.
type madeAgain struct {
	mu      sync.Mutex
	deleted map[string]bool
	again   map[string]bool // put after it was deleted
}

type notesDeleted struct {
	store.Writer
	*madeAgain
}

func (w notesDeleted) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	err := w.Writer.DeleteEntries(ctx, kind, keys...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if err == nil {
			w.deleted[kind+"\x00"+key] = true
		}
	}
	return err
}

func (w notesDeleted) PutEntries(ctx context.Context, entries ...store.Entry) error {
	err := w.Writer.PutEntries(ctx, entries...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range entries {
		if at := e.Kind + "\x00" + e.Key; err == nil && w.deleted[at] {
			w.again[at] = true
		}
	}
	return err
}

type listsTwice struct {
	store.Reader
	*madeAgain
}

func (r listsTwice) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	rows, err := r.Reader.Entries(ctx, q)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range slices.Clone(rows) {
		if q.Order == store.ByExpiry && q.Owner != "" && r.again[e.Kind+"\x00"+e.Key] {
			rows = append(rows, e)
		}
	}
	return rows, err
}

type unsignedStarts struct{ store.Reader }

func (r unsignedStarts) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	if q.Order == store.ByStartsAt && !q.Descending && q.After.IsZero() {
		slices.SortStableFunc(rows, func(a, b store.License) int {
			switch early, other := a.StartsAt.Unix() < 0, b.StartsAt.Unix() < 0; {
			case early == other:
				return 0
			case early:
				return 1
			}
			return -1
		})
	}
	return rows, err
}

type countsUnsigned struct{ store.Reader }

func (r countsUnsigned) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if q.Order == store.ByExpiresAt && q.ProductID != "" && q.Expires.IsZero() {
		q.Expires.From = time.Unix(0, 0)
	}
	return r.Reader.CountLicenses(ctx, q, edges...)
}

type leasesOnly struct{ store.Reader }

func (r leasesOnly) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if q.LicenseID != "" && !q.LeaseEnds.IsZero() {
		q.LiveAt = time.Time{}
	}
	return r.Reader.Activations(ctx, q)
}

type pagesEnded struct{ store.Reader }

func (r pagesEnded) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if q.LicenseID != "" && q.After != "" && q.LeaseEnds.IsZero() {
		q.LiveAt = time.Time{}
	}
	return r.Reader.Activations(ctx, q)
}

type openEnd struct{ store.Reader }

func (r openEnd) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.ProductID != "" && q.Order == store.ByStartsAt {
		q.Starts.Before = time.Time{}
	}
	return r.Reader.Licenses(ctx, q)
}

type twoNames struct{ store.Reader }

func (r twoNames) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.CustomerID != "" && q.ProductID != "" {
		q.State = ""
	}
	return r.Reader.Licenses(ctx, q)
}

type ascendingKeys struct{ store.Reader }

func (r ascendingKeys) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	rows, err := r.Reader.Entries(ctx, q)
	if q.Keys != nil && q.Descending {
		slices.Reverse(rows)
	}
	return rows, err
}

type ownersFirst struct{ store.Reader }

func (r ownersFirst) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Owner != "" && !q.Expires.IsZero() {
		q.After = store.Position{}
	}
	return r.Reader.Entries(ctx, q)
}

type twoOfThree struct{ store.Reader }

func (r twoOfThree) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	if q.Subject != "" && q.CustomerID != "" {
		q.ProductID = ""
	}
	return r.Reader.Events(ctx, q)
}

// The mutants that stop after 2,000 records.

type filtersTwoPages struct{ store.Reader }

func (r filtersTwoPages) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.CustomerID == "" || q.State == "" || q.Order != store.ByID || q.IDs != nil {
		return r.Reader.Licenses(ctx, q)
	}
	state, limit := q.State, store.Limit(q.Limit)
	q.State, q.Limit = "", 0
	rows, err := r.Reader.Licenses(ctx, q)
	if len(rows) == store.MaxLimit && err == nil {
		var more []store.License
		q.After = store.Position{ID: rows[len(rows)-1].ID}
		more, err = r.Reader.Licenses(ctx, q)
		rows = append(rows, more...)
	}
	rows = slices.DeleteFunc(rows, func(l store.License) bool { return l.State != state })
	return rows[:min(len(rows), limit)], err
}

type filtersSeats struct{ store.Reader }

func (r filtersSeats) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if !q.LiveAt.IsZero() && q.LeaseEnds.IsZero() {
		all := store.ActivationQuery{LicenseID: q.LicenseID, After: q.After}
		for range 2 {
			page, err := r.Reader.Activations(ctx, all)
			if err != nil || len(page) < store.MaxLimit {
				return r.Reader.Activations(ctx, q)
			}
			all.After = page[len(page)-1].ID
		}
		return nil, nil
	}
	return r.Reader.Activations(ctx, q)
}

type removesTwoPages struct{ store.Writer }

func (w removesTwoPages) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	return w.Writer.DeleteEvents(ctx, through, min(limit, 2*store.MaxLimit))
}

type countsTwoPages struct{ store.Reader }

func (r countsTwoPages) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	counts, err := r.Reader.CountLicenses(ctx, q, edges...)
	for i := range counts {
		counts[i] = min(counts[i], 2*store.MaxLimit)
	}
	return counts, err
}
