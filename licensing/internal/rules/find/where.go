package find

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A where has conditions on licenses that no index knows. All conditions that are set
// must hold.
type where struct {
	planID    string
	nearLimit bool            // see NearLimits
	updates   store.TimeRange // when the updates end
	due       bool            // see DuesOf
}

// soon is how soon updates end that end soon.
const soon = 30 * 24 * time.Hour

// whereOf returns the conditions of p.
func whereOf(p api.ListLicensesParams, now time.Time) where {
	w := where{planID: p.PlanID}
	switch p.Only {
	case "near_limit":
		w.nearLimit = true
	case "updates_ended":
		w.updates.Before = now
	case "updates_end_soon":
		w.updates = store.TimeRange{From: now, Before: now.Add(soon)}
	case "due":
		w.due = true
	}
	return w
}

// A page of licenses with conditions examines up to 1,000 licenses, that of the dashboard
// store.MaxExamined, in batches, and starts no new batch after whereTime.
const (
	whereExamined = 1000
	whereBatch    = 200
	whereTime     = time.Second
)

// ListWhere is List with a PlanID or Only, for the dashboard. Of the licenses near a limit, see
// [NearLimits], it returns the ones of [NearKind] in order of ID, unless it searches; due are
// the ones of [DuesOf]. The page can be short although HasMore is true; examined is the
// number of licenses that it looked at. Seats are those of [Service.SeatCounts].
func (s Service) ListWhere(ctx context.Context, p api.ListLicensesParams) (page api.ListPage, examined int, err error) {
	found, examined, err := s.listWhere(ctx, p, store.MaxExamined)
	if err != nil {
		return api.ListPage{}, 0, err
	}
	page, err = s.shown(found)
	return page, examined, err
}

// listWhere is listRows for the conditions of p. It examines up to a number of licenses.
func (s Service) listWhere(ctx context.Context, p api.ListLicensesParams, most int) (found rowPage, examined int, err error) {
	if err := call.Check(p); err != nil {
		return found, 0, err
	}
	if s.Caller.Products != nil {
		return found, 0, fmt.Errorf("list licenses: %w", api.ErrProductForbidden)
	}
	searching := p.Search != "" || p.KeyPart != ""
	if s.Searched == nil {
		s.Searched = new(atomic.Int64) // for all batches
	}
	w, limit := whereOf(p, s.Now()), cmp.Or(p.Limit, valid.DefaultLimit)
	p.Limit = whereBatch
	for began := time.Now(); ; {
		var part rowPage
		if w.nearLimit && p.Search == "" && p.KeyPart == "" && p.IDs == nil {
			part, err = s.nearRows(ctx, p)
		} else {
			part, err = s.listRows(ctx, p, whereBatch)
		}
		if err != nil {
			return rowPage{}, 0, err
		}
		q := queryOf(p, part.start.Pinned)
		matches, err := w.matches(ctx, s.Reader(), part, q)
		if err != nil {
			return rowPage{}, 0, fmt.Errorf("list licenses: %w", err)
		}
		found.at, found.page.Page = part.at, part.page.Page
		for i, row := range part.rows {
			if examined++; !matches[i] {
				continue
			}
			found.rows = append(found.rows, row)
			if rest := i < len(part.rows)-1; rest && len(found.rows) == limit {
				part.start.After = q.Position(row)
				found.page.HasMore, found.page.NextCursor = true, part.start.String()
				return found, examined, nil
			}
		}
		switch stopped := !part.page.SearchedTo.IsZero(); { // it has examined more than it has found
		case stopped && searching:
			examined = store.MaxExamined
		case stopped:
			examined += whereBatch - len(part.rows)
		}
		if !found.page.HasMore || len(found.rows) == limit || examined >= most || time.Since(began) >= whereTime {
			return found, examined, nil
		}
		p.Cursor = found.page.NextCursor
	}
}

// matches reports for each row of a page whether the conditions and q hold. It reads seats and
// meters of those only for which the others hold.
func (w where) matches(ctx context.Context, r store.Reader, part rowPage, q store.LicenseQuery) ([]bool, error) {
	all := make([]bool, len(part.rows))
	var recs []record.License
	for i, row := range part.rows {
		l, err := licenses.Read(row, part.at)
		if err != nil {
			return nil, err
		}
		all[i] = selects(q, row) && (w.planID == "" || l.PlanID == w.planID) &&
			(w.updates.IsZero() || !l.UpdatesUntil.IsZero() && w.updates.Contains(l.UpdatesUntil))
		if all[i] {
			recs = append(recs, l)
		}
	}
	if w.due {
		dues, err := DuesOf(ctx, r, recs, part.at)
		for i, row := range part.rows {
			all[i] = all[i] && dues[row.ID] != nil
		}
		return all, err
	}
	if !w.nearLimit {
		return all, nil
	}
	near, err := NearLimits(ctx, r, recs, part.at)
	for i, row := range part.rows {
		_, is := near[row.ID]
		all[i] = all[i] && is
	}
	return all, err
}
