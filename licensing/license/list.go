package license

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// maxLimit is the maximum page size.
const maxLimit = 200

// List returns a page of licenses, oldest first.
//
// Lists without a customer or a search that filter by expiry or for scheduled
// licenses are sorted by ExpiresAt or StartsAt instead, so that a store can read
// every page from an index. A list of active licenses is sorted by creation
// and skips expired ones.
//
// A search reads licenses in order of creation, one search at a time in this
// process and for up to 250 ms. A page can then be short or even empty although
// HasMore is true; see [ListPage].
//
// A cursor is valid only for the same filters, order and product limit, and
// Status is evaluated at the time of the first page. Any other cursor is an
// [*api.InvalidError] for "cursor". Across pages, every license that keeps its
// position appears exactly once, whatever is created or deleted in the
// meantime.
func (s *Service) List(ctx context.Context, p api.ListLicensesParams) (page api.ListPage, err error) {
	if err := check(p); err != nil {
		return api.ListPage{}, err
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	if p.IDs != nil {
		p.Search, p.KeyPart = "", ""
	}
	for _, p.KeyPart = range keyParts(p.KeyPart) {
		page, err = s.list(ctx, p)
		if none := err == nil && p.Cursor == "" && len(page.Data) == 0 && !page.HasMore; !none && err != errCursor {
			break
		}
	}
	return page, err
}

// list is List after the checks, with KeyPart as stores compare it.
func (s *Service) list(ctx context.Context, p api.ListLicensesParams) (api.ListPage, error) {
	start := cursor{scope: s.scope(p), pinned: s.now()}
	if p.Cursor != "" {
		var ok bool
		if start, ok = parseCursor(p.Cursor, start.scope, "lic"); !ok {
			return api.ListPage{}, errCursor
		}
	}
	q := queryOf(p, start.pinned)
	q.After = start.after
	if start.back {
		q.Descending = !q.Descending
	}
	if p.Search != "" && p.Cursor == "" {
		if recs, err := s.lookUp(ctx, p.Search, q); err != nil {
			return api.ListPage{}, fmt.Errorf("list licenses: %w", err)
		} else if len(recs) > 0 {
			return s.page(p, recs, start.pinned)
		}
	}
	recs, end, err := s.readPage(ctx, p, q)
	if err == nil && start.back && len(recs) == 0 && end == "" { // the licenses before the position are gone
		start = cursor{scope: start.scope, pinned: start.pinned}
		q.After, q.Descending = start.after, p.NewestFirst
		recs, end, err = s.readPage(ctx, p, q)
	}
	if err != nil {
		return api.ListPage{}, fmt.Errorf("list licenses: %w", err)
	}

	// In the direction of reading, near is where the list continues backward, and
	// far where it continues.
	var near, far store.Position
	switch {
	case len(recs) > p.Limit:
		recs, end = recs[:p.Limit], ""
		far = position(q.Order, recs[p.Limit-1])
	case end != "":
		far.ID = end
	}
	if near = far; len(recs) > 0 { // otherwise no license up to far matches, or those after the position are gone
		near = position(q.Order, recs[0])
	}
	more, prev := !far.IsZero(), !start.after.IsZero()
	if start.back {
		slices.Reverse(recs)
		near, far, more, prev = far, near, prev, more
	}
	page, err := s.page(p, recs, start.pinned)
	if err != nil {
		return api.ListPage{}, err
	}
	if more && !far.IsZero() {
		page.HasMore, page.NextCursor = true, cursor{scope: start.scope, pinned: start.pinned, after: far}.String()
	}
	if prev {
		page.PrevCursor = cursor{scope: start.scope, pinned: start.pinned, after: near, back: true}.String()
	}
	if end != "" {
		page.SearchedTo = idTime(end)
	}
	return page, nil
}

// readPage reads one license more than the page of q has. If it stops before it has
// found these and before the end, it continues after the ID end.
func (s *Service) readPage(ctx context.Context, p api.ListLicensesParams, q store.LicenseQuery) (recs []store.License, end string, err error) {
	if p.Search != "" || p.KeyPart != "" {
		end, err = s.search(ctx, q, p, q.Limit, searchTime, func(rec store.License) { recs = append(recs, rec) })
		return recs, end, err
	}
	read := s.read
	if s.caller.Products == nil || p.ProductID != "" {
		read = s.readOnce
	}
	err = read(ctx, func(r store.Reader) (err error) {
		recs, err = s.readRows(ctx, r, q)
		return err
	})
	return recs, "", err
}

// page converts the licenses of one page of p.
func (s *Service) page(p api.ListLicensesParams, recs []store.License, pinned time.Time) (api.ListPage, error) {
	page := api.ListPage{Page: api.Page[api.License]{Data: make([]api.License, 0, len(recs))}}
	at := s.now()
	if p.Status != "" {
		at = pinned // show the status that the filter saw
	}
	for _, rec := range recs {
		l, err := fromRow(rec, at)
		if err != nil {
			return api.ListPage{}, fmt.Errorf("list licenses: %w", err)
		}
		page.Data = append(page.Data, s.shown(l))
	}
	return page, nil
}

// queryOf translates p into the stored states and times that stores filter by.
// It asks for one row more than the page to learn whether another page
// follows.
func queryOf(p api.ListLicensesParams, now time.Time) store.LicenseQuery {
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
	case api.LicenseRevoked:
		q.State = store.StateRevoked
	case api.LicenseSuspended:
		q.State = store.StateSuspended
	case api.LicenseExpired:
		q.State = store.StateActive
		if q.Expires.Before.IsZero() || past.Before(q.Expires.Before) {
			q.Expires.Before = past
		}
	case api.LicenseScheduled:
		q.State = store.StateActive
		q.Starts = store.TimeRange{From: past}
	case api.LicenseActive:
		q.State = store.StateActive
		q.Starts = store.TimeRange{Before: past, OrNone: true}
		q.Expires.OrNone = q.Expires.IsZero()
		if q.Expires.From.Before(past) {
			q.Expires.From = past
		}
	}
	switch {
	case p.CustomerID != "" || p.Search != "" || p.KeyPart != "" || p.IDs != nil:
	case !q.Expires.IsZero() && !q.Expires.OrNone:
		q.Order = store.ByExpiresAt
	case p.Status == api.LicenseScheduled:
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

// readRows returns the licenses of q that exist for the caller. A store filters
// by one product at a time, so it reads one list per product of a limited
// caller and merges them.
func (s *Service) readRows(ctx context.Context, r store.Reader, q store.LicenseQuery) ([]store.License, error) {
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
