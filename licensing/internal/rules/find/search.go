package find

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	// searchTime is how long the searches of a request take at most, and
	// countTime how long reading matches to count them does.
	searchTime = 250 * time.Millisecond
	countTime  = 150 * time.Millisecond
	// foldLimit is how many licenses are read to compare them one by one.
	foldLimit = 200
	// maxCounted is how many matches are read to count them.
	maxCounted = 10_000
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

// stopwatch returns a function that reports whether a search has taken long, or the
// searches of a request have taken searchTime.
func (s Service) stopwatch(long time.Duration) (over func() bool) {
	last := time.Now()
	left := long
	return func() bool {
		took := time.Since(last)
		last, left = last.Add(took), left-took
		return left <= 0 || s.Searched != nil && time.Duration(s.Searched.Add(int64(took))) >= searchTime
	}
}

// maxTexts is how many words of a search a store looks for; more are looked for in
// what it finds.
const maxTexts = 100

// search calls add for up to n licenses that q, the search text, the part of a key
// and the product limit of the caller select, in order of their IDs. If it stops
// before the end, because it has found n or has taken too long, it continues after
// the ID end.
func (s Service) search(ctx context.Context, q store.LicenseQuery, p api.ListLicensesParams, n int, long time.Duration, add func(store.License)) (end store.Position, err error) {
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
	over := s.stopwatch(long)
	r := s.Reader()
	q.Examine, q.KeyPart, q.Text = 0, p.KeyPart, words[:min(len(words), maxTexts)]
	for {
		q.Limit = n
		if s.Caller.Products != nil { // some of those found do not match
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
		if next.IsZero() || over() {
			return next, nil
		}
		q.After = next
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
