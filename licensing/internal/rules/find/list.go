package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// List returns a page of licenses, oldest first; see package license.
func (s Service) List(ctx context.Context, p api.ListLicensesParams) (api.ListPage, error) {
	found, err := s.selected(ctx, p)
	if err != nil {
		return api.ListPage{}, err
	}
	return s.shown(found)
}

// selected returns a page of the licenses that p selects.
func (s Service) selected(ctx context.Context, p api.ListLicensesParams) (found rowPage, err error) {
	if p.PlanID == "" && p.Only == "" {
		return s.listRows(ctx, p, store.MaxExamined)
	}
	found, _, err = s.listWhere(ctx, p, whereExamined)
	return found, err
}

// shown converts the licenses of a page.
func (s Service) shown(found rowPage) (api.ListPage, error) {
	page := found.page
	page.Data = make([]api.License, 0, len(found.rows))
	for _, row := range found.rows {
		l, err := licenses.FromRow(row, found.at)
		if err != nil {
			return api.ListPage{}, fmt.Errorf("list licenses: %w", err)
		}
		page.Data = append(page.Data, s.Shown(l))
	}
	return page, nil
}

// ListEncoded is List, over HTTP, with functions that append each license as JSON. Its
// search looks for no key, which does not belong in an address.
func (s Service) ListEncoded(ctx context.Context, p api.ListLicensesParams) (api.Page[func([]byte) ([]byte, error)], error) {
	s.keyless = true
	found, err := s.selected(ctx, p)
	page := api.Page[func([]byte) ([]byte, error)]{HasMore: found.page.HasMore, NextCursor: found.page.NextCursor}
	page.Data = make([]func([]byte) ([]byte, error), 0, len(found.rows))
	for _, row := range found.rows {
		page.Data = append(page.Data, func(b []byte) ([]byte, error) {
			rec, err := licenses.Read(row, found.at)
			if err == nil {
				b, err = licenses.Of(s.Call).AppendWire(b, rec, found.at)
			}
			if err != nil {
				return nil, fmt.Errorf("list licenses: %w", err)
			}
			return b, nil
		})
	}
	return page, err
}

// A rowPage is a page of a list with its licenses as they are stored.
type rowPage struct {
	page  api.ListPage // without licenses
	rows  []store.License
	at    time.Time   // the instant whose status each license has
	start call.Cursor // that of the page before, without its position
}

// listRows is List without the conversion of the licenses. It examines at most a number
// of licenses, unless it searches.
func (s Service) listRows(ctx context.Context, p api.ListLicensesParams, examine int) (found rowPage, err error) {
	if err := call.Check(p); err != nil {
		return rowPage{}, err
	}
	p = s.Narrow(p)
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	if p.IDs != nil {
		p.Search, p.KeyPart = "", ""
	}
	for _, p.KeyPart = range call.KeyParts(p.KeyPart) {
		found, err = s.list(ctx, p, examine)
		if none := err == nil && p.Cursor == "" && len(found.rows) == 0 && !found.page.HasMore; !none && err != call.ErrCursor {
			break
		}
	}
	return found, err
}

// list is listRows after the checks, with KeyPart as stores compare it.
func (s Service) list(ctx context.Context, p api.ListLicensesParams, examine int) (rowPage, error) {
	start := call.Cursor{Scope: s.scope(p), Pinned: s.Now()}
	if p.Cursor != "" {
		var ok bool
		if start, ok = call.ParseCursor(p.Cursor, start.Scope, "lic"); !ok {
			return rowPage{}, call.ErrCursor
		}
	}
	q := queryOf(p, start.Pinned)
	q.After, q.Examine = start.After, examine
	if start.Back {
		q.Descending = !q.Descending
	}
	if p.Search != "" && p.Cursor == "" && s.Owner == nil { // a purchase may have the address of an owner as its reference
		if recs, err := s.lookUp(ctx, p.Search, q); err != nil {
			return rowPage{}, fmt.Errorf("list licenses: %w", err)
		} else if len(recs) > 0 {
			return s.page(p, recs, start.Pinned), nil
		}
	}
	recs, end, err := s.readPage(ctx, p, q)
	if err == nil && start.Back && len(recs) == 0 && end.IsZero() { // the licenses before the position are gone
		start = call.Cursor{Scope: start.Scope, Pinned: start.Pinned}
		q.After, q.Descending = start.After, p.NewestFirst
		recs, end, err = s.readPage(ctx, p, q)
	}
	if err != nil {
		return rowPage{}, fmt.Errorf("list licenses: %w", err)
	}

	// In the direction of reading, near is where the list continues backward, and
	// far where it continues.
	var near, far store.Position
	switch {
	case len(recs) > p.Limit:
		recs, end = recs[:p.Limit], store.Position{}
		far = q.Position(recs[p.Limit-1])
	default:
		far = end
	}
	if near = far; len(recs) > 0 { // otherwise no license up to far matches, or those after the position are gone
		near = q.Position(recs[0])
	}
	more, prev := !far.IsZero(), !start.After.IsZero()
	if start.Back {
		slices.Reverse(recs)
		near, far, more, prev = far, near, prev, more
	}
	found := s.page(p, recs, start.Pinned)
	found.start = call.Cursor{Scope: start.Scope, Pinned: start.Pinned}
	if more && !far.IsZero() {
		found.page.HasMore, found.page.NextCursor = true, call.Cursor{Scope: start.Scope, Pinned: start.Pinned, After: far}.String()
	}
	if prev {
		found.page.PrevCursor = call.Cursor{Scope: start.Scope, Pinned: start.Pinned, After: near, Back: true}.String()
	}
	if found.page.SearchedTo = end.Time; end.ID != "" && q.Order == store.ByID {
		found.page.SearchedTo = licenses.IdTime(end.ID)
	}
	return found, nil
}

// readPage reads one license more than the page of q has. If it stops before it has
// found these and before the last, it continues after end.
func (s Service) readPage(ctx context.Context, p api.ListLicensesParams, q store.LicenseQuery) (recs []store.License, end store.Position, err error) {
	if s.Owner != nil && s.Owner.Address != "" {
		return s.readAddress(ctx, q)
	}
	if p.Search != "" || p.KeyPart != "" {
		end, err = s.search(ctx, q, p, q.Limit, func(rec store.License) { recs = append(recs, rec) })
		return recs, end, err
	}
	read := s.Read
	if s.Caller.Products == nil || p.ProductID != "" {
		read = s.ReadOnce
	}
	err = read(ctx, func(r store.Reader) (err error) {
		recs, end, err = s.readRows(ctx, r, q)
		return err
	})
	return recs, end, err
}

// page returns the licenses of one page of p, without its cursors.
func (s Service) page(p api.ListLicensesParams, recs []store.License, pinned time.Time) rowPage {
	if p.Status != "" {
		return rowPage{rows: recs, at: pinned} // show the status that the filter saw
	}
	return rowPage{rows: recs, at: s.Now()}
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
	if c := call.ToMillis(t); c.Before(t) {
		return c.Add(time.Millisecond)
	}
	return call.ToMillis(t)
}

// readRows returns the licenses of q that exist for the caller, as readPage does. A store
// filters by one product at a time, so it reads one list per product of a limited
// caller and merges them, up to where the first of them ends.
func (s Service) readRows(ctx context.Context, r store.Reader, q store.LicenseQuery) (all []store.License, end store.Position, err error) {
	if s.Caller.Products == nil || q.ProductID != "" {
		if q.ProductID != "" && !s.Sees(q.ProductID) {
			return nil, end, nil
		}
		return readPart(ctx, r, q)
	}
	compare := func(x, y store.Position) int {
		if q.Descending {
			x, y = y, x
		}
		return cmp.Or(x.Time.Compare(y.Time), strings.Compare(x.ID, y.ID))
	}
	products := s.OnlyProducts()
	q.Examine = max(1, q.Examine/max(1, len(products)))
	for _, product := range products {
		q.ProductID = product
		recs, to, err := readPart(ctx, r, q)
		if err != nil {
			return nil, end, err
		}
		all = append(all, recs...)
		if end.IsZero() || !to.IsZero() && compare(to, end) < 0 {
			end = to
		}
	}
	all = slices.DeleteFunc(all, func(l store.License) bool { return !end.IsZero() && compare(q.Position(l), end) > 0 })
	slices.SortFunc(all, func(a, b store.License) int { return compare(q.Position(a), q.Position(b)) })
	return all[:min(len(all), q.Limit)], end, nil
}

// firstExamined is how many licenses a list examines at first, which is mostly enough.
const firstExamined = 500

// readPart returns licenses of q, up to its Limit. If an index serves only some of the
// filters, it examines at most q.Examine of the licenses in it, and if there are more, it
// continues after end.
func readPart(ctx context.Context, r store.Reader, q store.LicenseQuery) (all []store.License, end store.Position, err error) {
	if w := q.Walked(); q.IDs != nil || w.CustomerID == q.CustomerID && w.State == q.State && w.Starts == q.Starts && w.Expires == q.Expires {
		q.Examine = 0
		all, err = r.Licenses(ctx, q)
		return all, end, err
	}
	left := q.Examine
	for q.Examine = min(left, firstExamined); left > 0 && q.Limit > 0; q.Examine = left {
		recs, to, err := r.FindLicenses(ctx, q)
		all, end = append(all, recs...), to
		if err != nil || to.IsZero() {
			return all, end, err
		}
		q.After, q.Limit, left = to, q.Limit-len(recs), left-q.Examine
	}
	return all, end, nil
}

// scope returns the digest of everything that positions in a list depend on.
// The page size is not included and may change between pages.
func (s Service) scope(p api.ListLicensesParams) [16]byte {
	if p.IDs != nil {
		return call.ScopeOf("licenses %q %q", p.IDs, s.OnlyProducts()) // filters apply on every page
	}
	return call.ScopeOf("licenses %q %q %q %d %d %q %q %q %q %t %t %q",
		p.CustomerID, p.ProductID, p.Status, call.Millis(p.ExpiresBefore), call.Millis(p.ExpiresAfter),
		p.PlanID, p.Only, p.Search, p.KeyPart, p.NewestFirst, s.Caller.Products != nil, s.OnlyProducts())
}
