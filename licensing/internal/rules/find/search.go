package find

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	// searchStep is the most rows that a search examines in one call of the store.
	searchStep = 1000
	// foldLimit is how many licenses are read to compare them one by one.
	foldLimit = 200
)

// A slot is for one call at a time in this process.
type slot chan struct{}

// take waits for the slot. Calls inside Atomically or Once, which hold the write
// lock, do not wait.
func (s Service) take(ctx context.Context, free slot) (release func(), err error) {
	if s.Tx != nil {
		return func() {}, nil
	}
	select {
	case free <- struct{}{}:
		return func() { <-free }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// budget returns a function that returns how many rows the next call of a search examines.
// A search, or the searches of a request together, examine [store.MaxExamined] rows; each
// examines at least first in its first call. Zero: no more.
func (s Service) budget(first int) func() int {
	used := s.Searched
	if used == nil {
		used = new(atomic.Int64)
	}
	return func() int {
		n := max(first, min(searchStep, store.MaxExamined-int(used.Load())))
		first = 0
		used.Add(int64(n))
		return n
	}
}

// maxTexts is how many words of a search a store looks for; more are looked for in
// what it finds.
const maxTexts = 100

// search calls add for up to n licenses that q, the search text, the part of a key
// and the product limit of the caller select, in order of their IDs. If it stops
// before the end, because it has found n or has examined enough, it continues after
// the ID end.
func (s Service) search(ctx context.Context, q store.LicenseQuery, p api.ListLicensesParams, n int, add func(store.License)) (end store.Position, err error) {
	words := call.SearchWords(p.Search)
	switch products := s.OnlyProducts(); {
	case len(words) == 0 && p.KeyPart == "", p.KeyPart != "" && s.Caller.MaskKeys,
		q.ProductID != "" && !s.Sees(q.ProductID), s.Caller.Products != nil && len(products) == 0:
		return end, nil
	case len(products) == 1:
		q.ProductID = products[0]
	}
	release, err := s.take(ctx, s.Kept.searching)
	if err != nil {
		return end, err
	}
	defer release()
	r, examine := s.Reader(), s.budget(1)
	q.KeyPart, q.Text = p.KeyPart, words[:min(len(words), maxTexts)]
	for q.Examine = examine(); ; {
		if q.Limit = n; s.Caller.Products != nil { // some of those found do not match
			q.Limit = foldLimit
		}
		rows, next, err := r.FindLicenses(ctx, q)
		if err != nil {
			return end, err
		}
		for _, row := range rows {
			if !call.ContainsAll(row.Text, words) || !s.Sees(row.ProductID) {
				continue
			}
			if add(row); n == 1 {
				return q.Position(row), nil
			}
			n--
		}
		if q.After, q.Examine = next, 0; !next.IsZero() {
			q.Examine = examine()
		}
		if q.Examine == 0 {
			return next, nil
		}
	}
}

// lookUp returns the license whose ID or key is the search text, or the reference
// of a purchase of it, if q selects it.
func (s Service) lookUp(ctx context.Context, search string, q store.LicenseQuery) ([]store.License, error) {
	r := s.Reader()
	rec, err := s.byName(ctx, search)
	if errors.Is(err, store.ErrNotFound) && call.IsIdentifier(search) {
		var p purchases.Purchase
		if p, _, err = purchases.ReadPurchase(ctx, r, search, s.Now()); err == nil {
			err = store.ErrNotFound
			if p.Granted && !p.Erased && purchases.Of(s.Call).SeesPurchase(p) {
				rec, err = r.License(ctx, p.LicenseID)
			}
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil || !s.Sees(rec.ProductID) || !selects(q, rec) {
		return nil, err
	}
	return []store.License{rec}, nil
}

// selects reports whether rec matches the filters of q.
func selects(q store.LicenseQuery, rec store.License) bool {
	return (q.CustomerID == "" || q.CustomerID == rec.CustomerID) &&
		(q.ProductID == "" || q.ProductID == rec.ProductID) &&
		(q.State == "" || q.State == rec.State) &&
		q.Starts.Contains(rec.StartsAt) && q.Expires.Contains(rec.ExpiresAt)
}
