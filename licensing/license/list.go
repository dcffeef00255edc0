package license

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ListParams select licenses. A license must match every set field.
type ListParams struct {
	CustomerID string `json:"customer_id" validate:"omitempty,text,customer"`
	ProductID  string `json:"product_id" validate:"omitempty,text"`
	Status     Status `json:"status" validate:"omitempty,oneof=revoked suspended expired scheduled active"`
	// ExpiresBefore and ExpiresAfter select licenses whose ExpiresAt is
	// before the former, and at or after the latter. Zero: no bound.
	ExpiresBefore time.Time `json:"expires_before" validate:"omitempty,instant"`
	ExpiresAfter  time.Time `json:"expires_after" validate:"omitempty,instant"`
	// Search selects the license with that ID or key. If there is none, it
	// selects the licenses for which each word of Search, ignoring case, is
	// the beginning of a word of the name, the customer ID, the product ID, a
	// metadata value or the fingerprint of an activation. Of each text, the
	// first sixteen words count. Chinese, Japanese and Korean text is found
	// by any two neighboring characters. At most 1,024 characters.
	Search string `json:"search" validate:"omitempty,wellformed,max=1024" wire:"-"`
	// SearchKeys makes Search match also whole groups of generated license
	// keys, such as "8X2KQ". Set it only if the caller may see keys.
	SearchKeys bool `json:"search_keys" wire:"-"`

	// IDs selects only licenses with these IDs, at most 1,000. Search then has no
	// effect, and the list is sorted by creation. Nil: all licenses.
	IDs []string `json:"ids" validate:"max=1000" wire:"-"`

	NewestFirst bool   `json:"newest_first" wire:"-"`          // reverses the order of the list
	Limit       int    `json:"limit" validate:"min=0,max=200"` // page size; 0: 50
	Cursor      string `json:"cursor"`                         // NextCursor or PrevCursor of another page
}

// maxLimit is the maximum page size.
const maxLimit = 200

// List returns a page of licenses, oldest first.
//
// A search is sorted by the words that match and then by creation, except with
// CustomerID. A call examines a limited part of the index: a page can be short
// or even empty although HasMore is true.
//
// Lists without a customer that filter by expiry or for scheduled licenses
// are sorted by ExpiresAt or StartsAt instead, so that a store can read
// every page from an index. A list of active licenses is sorted by creation
// and skips expired ones.
//
// A cursor is valid only for the same filters, order and product limit, and
// Status is evaluated at the time of the first page. Any other cursor is an
// [*InvalidError] for "cursor". Across pages, every license that keeps its
// position appears exactly once, whatever is created or deleted in the
// meantime.
func (s *Service) List(ctx context.Context, p ListParams) (IndexedPage[License], error) {
	if err := check(ctx, p); err != nil {
		return IndexedPage[License]{}, err
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	p.SearchKeys = p.SearchKeys && !s.caller.MaskKeys
	if p.IDs != nil {
		p.Search = ""
	}
	if p.Search != "" {
		return s.search(ctx, p)
	}
	start := cursor{scope: s.scope(p), pinned: s.now()}
	if p.Cursor != "" {
		var ok bool
		if start, ok = parseCursor(p.Cursor, start.scope, "lic"); !ok {
			return IndexedPage[License]{}, errCursor
		}
	}
	q := p.query(start.pinned)
	q.After = start.after
	if start.back {
		q.Descending = !q.Descending
	}

	view := s.view
	if s.caller.Products == nil || p.ProductID != "" {
		view = s.readOnce
	}
	var recs []store.License
	err := view(ctx, func(r store.Reader) (err error) {
		recs, err = s.read(ctx, r, q)
		if err == nil && start.back && len(recs) == 0 { // the licenses before the position are gone
			start = cursor{scope: start.scope, pinned: start.pinned}
			q.After, q.Descending = start.after, p.NewestFirst
			recs, err = s.read(ctx, r, q)
		}
		return err
	})
	if err != nil {
		return IndexedPage[License]{}, fmt.Errorf("list licenses: %w", err)
	}

	more := len(recs) > p.Limit
	recs = recs[:min(len(recs), p.Limit)]
	prev := !start.after.IsZero()
	if start.back {
		slices.Reverse(recs)
		more, prev = prev, more
	}
	page, err := s.page(p, recs, start.pinned)
	if err != nil {
		return IndexedPage[License]{}, err
	}
	if more && len(recs) > 0 {
		next := cursor{scope: start.scope, pinned: start.pinned, after: position(q.Order, recs[len(recs)-1])}
		page.HasMore, page.NextCursor = true, next.String()
	}
	if prev {
		before := cursor{scope: start.scope, pinned: start.pinned, back: true}
		if len(recs) > 0 { // otherwise the licenses after the position are gone
			before.after = position(q.Order, recs[0])
		}
		page.PrevCursor = before.String()
	}
	return page, nil
}

// page converts the licenses of one page of p.
func (s *Service) page(p ListParams, recs []store.License, pinned time.Time) (IndexedPage[License], error) {
	page := IndexedPage[License]{Page: Page[License]{Data: make([]License, 0, len(recs))}}
	at := s.now()
	if p.Status != "" {
		at = pinned // show the status that the filter saw
	}
	for _, rec := range recs {
		l, err := fromRow(rec, at)
		if err != nil {
			return IndexedPage[License]{}, fmt.Errorf("list licenses: %w", err)
		}
		page.Data = append(page.Data, s.shown(l))
	}
	return page, nil
}

// query translates p into the stored states and times that stores filter by.
// It asks for one row more than the page to learn whether another page
// follows.
func (p ListParams) query(now time.Time) store.LicenseQuery {
	q := store.LicenseQuery{
		CustomerID: p.CustomerID,
		ProductID:  p.ProductID,
		IDs:        p.IDs,
		Expires:    store.TimeRange{From: ceilMillis(p.ExpiresAfter), Before: ceilMillis(p.ExpiresBefore)},
		Descending: p.NewestFirst,
		Limit:      p.Limit + 1,
	}
	past := now.Add(time.Millisecond) // times up to now are before it
	switch p.Status {
	case StatusRevoked:
		q.State = store.StateRevoked
	case StatusSuspended:
		q.State = store.StateSuspended
	case StatusExpired:
		q.State = store.StateActive
		if q.Expires.Before.IsZero() || past.Before(q.Expires.Before) {
			q.Expires.Before = past
		}
	case StatusScheduled:
		q.State = store.StateActive
		q.Starts = store.TimeRange{From: past}
	case StatusActive:
		q.State = store.StateActive
		q.Starts = store.TimeRange{Before: past, OrNone: true}
		q.Expires.OrNone = q.Expires.IsZero()
		if q.Expires.From.Before(past) {
			q.Expires.From = past
		}
	}
	switch {
	case p.CustomerID != "" || p.Search != "" || p.IDs != nil:
	case !q.Expires.IsZero() && !q.Expires.OrNone:
		q.Order = store.ByExpiresAt
	case p.Status == StatusScheduled:
		q.Order = store.ByStartsAt
	}
	return q
}

// ceilMillis returns the first millisecond at or after t; zero stays zero.
func ceilMillis(t time.Time) time.Time {
	if c := toMillis(t); c.Before(t) {
		return c.Add(time.Millisecond)
	}
	return toMillis(t)
}

// lookUp returns the license whose ID or key is the search text, if q
// selects it.
func (s *Service) lookUp(ctx context.Context, r store.Reader, search string, q store.LicenseQuery) ([]store.License, error) {
	var rec store.License
	err := store.ErrNotFound
	if isID("lic", search) {
		rec, err = r.License(ctx, search)
	}
	if key := canonicalKey(search); errors.Is(err, store.ErrNotFound) && isKey(key) {
		rec, err = r.LicenseByKey(ctx, key)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil || !s.sees(rec.ProductID) || !selects(q, rec) {
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

// read returns the licenses of q that exist for the caller. A store filters
// by one product at a time, so it reads one list per product of a limited
// caller and merges them.
func (s *Service) read(ctx context.Context, r store.Reader, q store.LicenseQuery) ([]store.License, error) {
	if s.caller.Products == nil || q.ProductID != "" {
		if q.ProductID != "" && !s.sees(q.ProductID) {
			return nil, nil
		}
		return r.Licenses(ctx, q)
	}
	var all []store.License
	for _, product := range s.products() {
		q.ProductID = product
		recs, err := r.Licenses(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, recs...)
	}
	slices.SortFunc(all, func(a, b store.License) int {
		if q.Descending {
			a, b = b, a
		}
		x, y := position(q.Order, a), position(q.Order, b)
		if c := x.Time.Compare(y.Time); c != 0 {
			return c
		}
		return strings.Compare(x.ID, y.ID)
	})
	return all[:min(len(all), q.Limit)], nil
}

// products returns the products the caller is limited to, sorted, without
// duplicates.
func (s *Service) products() []string {
	return slices.Compact(slices.Sorted(slices.Values(s.caller.Products)))
}

// position returns the position of rec in a list of that order.
func position(order store.LicenseOrder, rec store.License) store.Position {
	switch order {
	case store.ByExpiresAt:
		return store.Position{Time: rec.ExpiresAt, ID: rec.ID}
	case store.ByStartsAt:
		return store.Position{Time: rec.StartsAt, ID: rec.ID}
	}
	return store.Position{ID: rec.ID}
}
