package sales

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Due is an end of a license that is due.
type Due struct {
	License api.License
	find.Due
}

// A Soon is what a seller has to look at: the first 20 ends that are due, of which there are
// DueN, by plan in DueOf, and the fullest 20 licenses that are near their limit, of which there
// are NearN; with DueMore or NearMore, at least as many.
type Soon struct {
	Due      []Due
	DueN     int
	DueOf    map[string]int
	DueMore  bool
	Near     []Near
	NearN    int
	NearMore bool
}

// Soon returns what is due and near the limit. A caller limited to some products gets
// [api.ErrProductForbidden].
func (s Service) Soon(ctx context.Context) (soon Soon, err error) {
	if s.Caller.Products != nil {
		return Soon{}, fmt.Errorf("sales: %w", api.ErrProductForbidden)
	}
	err = s.Read(ctx, func(r store.Reader) (err error) {
		if err = s.due(ctx, r, &soon); err == nil {
			soon.Near, soon.NearN, soon.NearMore, err = s.near(ctx, r)
		}
		return err
	})
	if err != nil {
		return Soon{}, fmt.Errorf("sales: %w", err)
	}
	return soon, nil
}

// dueRead is how many licenses that end soon, and how many other ends, a report looks at.
const dueRead = 1000

// due sets what is due in the next days, in the order of the ends.
func (s Service) due(ctx context.Context, r store.Reader, soon *Soon) error {
	now := s.Now()
	window, seen := find.DueSoon(now), map[string]bool{}
	soon.DueOf = map[string]int{}
	type end struct {
		record.License
		find.Due
	}
	var ends []end
	add := func(rows []store.License) error {
		var recs []record.License
		for _, row := range rows {
			if seen[row.ID] || row.State == store.StateRevoked {
				continue
			}
			seen[row.ID] = true
			rec, err := licenses.Read(row, now)
			if err != nil {
				return err
			}
			recs = append(recs, rec)
		}
		dues, err := find.DuesOf(ctx, r, recs, now)
		for _, rec := range recs {
			for _, d := range dues[rec.ID] {
				ends = append(ends, end{rec, d})
				soon.DueOf[rec.PlanID]++
			}
		}
		return err
	}
	for q := (store.LicenseQuery{Order: store.ByExpiresAt, Expires: window, Limit: store.MaxLimit}); ; {
		rows, err := r.Licenses(ctx, q)
		if err == nil {
			err = add(rows)
		}
		if err != nil {
			return err
		}
		if len(rows) < q.Limit {
			break
		}
		if soon.DueMore = len(seen) >= dueRead; soon.DueMore {
			break
		}
		last := rows[len(rows)-1]
		q.After = store.Position{Time: last.ExpiresAt, ID: last.ID}
	}
	ids, more, err := s.otherEnds(ctx, r, window, now)
	for some := range slices.Chunk(ids, store.MaxLimit) {
		if err == nil {
			var rows []store.License
			if rows, err = r.Licenses(ctx, store.LicenseQuery{IDs: some}); err == nil {
				err = add(rows)
			}
		}
	}
	if err != nil {
		return err
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	soon.DueN, soon.DueMore = len(ends), soon.DueMore || more
	for _, e := range ends[:min(len(ends), listed)] {
		l, err := licenses.FromRecord(e.License, now)
		if err != nil {
			return err
		}
		soon.Due = append(soon.Due, Due{s.Shown(l), e.Due})
	}
	return nil
}

// otherEnds returns the licenses of the first ends in a range that are not the ends of the
// licenses, among the ends that a [Report] counts; more: there may be more.
func (s Service) otherEnds(ctx context.Context, r store.Reader, soon store.TimeRange, now time.Time) (ids []string, more bool, err error) {
	c, err := s.readLatest(ctx, r, now)
	if err != nil {
		return nil, false, err
	}
	ends, err := r.Entries(ctx, store.EntryQuery{Kind: endKind, Order: store.ByExpiry, Expires: soon, Limit: store.MaxLimit})
	more = len(ends) == store.MaxLimit
	ends = slices.DeleteFunc(ends, func(e store.Entry) bool { return c.left[e.Key] })
	for id := range c.changed {
		ends = append(ends, c.standings[id].endEntries(id, now)...)
	}
	slices.SortFunc(ends, func(a, b store.Entry) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.Key, b.Key))
	})
	for _, e := range ends {
		id, _, _ := strings.Cut(e.Key, "/")
		if soon.Contains(e.ExpiresAt) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, more, err
}
