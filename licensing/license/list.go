package license

import (
	"cmp"
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// List returns a page of licenses, oldest first.
//
// Lists without a customer or a search that filter by expiry or for scheduled
// licenses are sorted by ExpiresAt or StartsAt instead, so that a store can read
// every page from an index. A list of active licenses is sorted by creation
// and skips expired ones.
//
// A search reads licenses in order of creation, one search at a time in this process. A
// search, or a list with several filters, or of active, expired or scheduled licenses,
// examines at most 10,000 licenses a page. A page can then be short or even empty although
// HasMore is true; see [api.ListPage].
//
// A cursor is valid only for the same filters, order and product limit, and
// Status is evaluated at the time of the first page. Any other cursor is an
// [*api.InvalidError] for "cursor". Across pages, every license that keeps its
// position appears exactly once, whatever is created or deleted in the
// meantime.
func (s *Service) List(ctx context.Context, p api.ListLicensesParams) (api.ListPage, error) {
	return s.find().List(ctx, p)
}

// Count counts the licenses that p selects, whatever its Limit, Cursor and
// NewestFirst. The counts are exact, except with Search or KeyPart: then Count
// examines the first 10,000 licenses, and sets AtLeast if there can be more.
//
// Exact counts are kept in memory for up to 60 times as long as counting took,
// and until this process changes a license. Other processes' changes can be missing
// for that long.
func (s *Service) Count(ctx context.Context, p api.ListLicensesParams) (api.Counts, error) {
	return s.find().Count(ctx, p)
}

// Customers lists the customers that have licenses, sorted by ID in byte
// order. With Search, it examines up to 10,000 names, so a page can be short
// although HasMore is true. The numbers are kept as those of [Service.Count] are. It
// returns an [*api.InvalidError], or [api.ErrProductForbidden] to a caller limited to some
// products.
func (s *Service) Customers(ctx context.Context, p api.NamesParams) (api.Page[api.NameCount], error) {
	return s.find().Customers(ctx, p)
}

// Products lists the products that have licenses, as [Service.Customers]
// lists customers.
func (s *Service) Products(ctx context.Context, p api.NamesParams) (api.Page[api.NameCount], error) {
	return s.find().Products(ctx, p)
}

// Events reads the event feed in commit order. A consumer that keeps passing
// the last NextCursor receives every event exactly once, whatever is
// committed in the meantime. A cursor is a position in the feed and works
// with any filter.
//
// A call examines a limited part of the feed: with a filter, a page can be
// short or even empty although HasMore is true. A caller limited to some
// products receives only events about those products.
//
// The last page has a NextCursor too, for the events to come, except with
// NewestFirst.
//
// Events returns an [*api.InvalidError], or [api.ErrCursorGone] if the feed does not
// continue at the cursor. With NewestFirst it never returns ErrCursorGone.
func (s *Service) Events(ctx context.Context, p api.ListEventsParams) (api.Page[api.Event], error) {
	return s.find().Events(ctx, p)
}

// AllEvents iterates over the events that p selects, from p.After to the end of the feed,
// and stops after the first error, which can be one of [Service.Events]. It ignores p.Limit.
// Each page is a separate read. A consumer that continues later calls Events, which
// returns the cursor.
func (s *Service) AllEvents(ctx context.Context, p api.ListEventsParams) iter.Seq2[api.Event, error] {
	p.Limit = call.MaxLimit
	first := p.After
	return call.All(func(cursor string) (api.Page[api.Event], error) {
		p.After = cmp.Or(cursor, first)
		return s.Events(ctx, p)
	})
}

// Refusals returns why Validate and Activate refused a license in the last 90
// days: one [api.Refusal] for each code, the one with the latest refusal first,
// always on one page. It returns [api.ErrNotFound].
//
// A process keeps refusals in memory for up to a minute and then stores them
// together, while Run runs in it and when Run ends. Without Run, a refused call
// stores them, if the last were stored a minute ago or if refusals of 50
// licenses wait. The result includes the stored refusals and the refusals in the
// memory of this process. A process that is killed loses what it has not stored.
// If refusals of 500 licenses wait, refusals of other licenses are only counted
// in the figures of the dashboard.
//
// Calls inside Atomically or Once are not recorded, and neither are those of
// [Service.Explain] and [Service.ValidateCustomer].
func (s *Service) Refusals(ctx context.Context, p api.ListRefusalsParams) (api.Page[api.Refusal], error) {
	return s.refusals().Refusals(ctx, p)
}
