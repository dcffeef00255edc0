package sales

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Due is something of a license that ends soon; see [find.EndsOf].
type Due struct {
	License  api.License
	At       time.Time
	Updates  bool              // the updates end
	Purchase bool              // a purchase ends that the license outlives
	State    api.PurchaseState // of that purchase or the one that governs, if it is not active; empty: it is, or there is none

	reference string // of the purchase of State
}

// A Soon is what a seller has to look at: the first 20 licenses that are due in the next 30
// days, without trials, and the fullest 20 that are near their limit, of which there are
// NearN or, with NearMore, at least as many.
type Soon struct {
	Due      []Due
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
		if soon.Due, err = s.due(ctx, r); err == nil {
			soon.Near, soon.NearN, soon.NearMore, err = s.near(ctx, r)
		}
		return err
	})
	if err != nil {
		return Soon{}, fmt.Errorf("sales: %w", err)
	}
	return soon, nil
}

// due returns the licenses that end in the next days, in the order of their ends.
func (s Service) due(ctx context.Context, r store.Reader) (list []Due, err error) {
	now := s.Now()
	soon, seen := find.DueSoon(now), map[string]bool{}
	q := store.LicenseQuery{Order: store.ByExpiresAt, Expires: soon, Limit: 2 * listed}
	for len(list) < listed { // until enough of them are no trials
		rows, err := r.Licenses(ctx, q)
		if err != nil {
			return nil, err
		}
		if list, err = appendDue(list, rows, seen, now); err != nil {
			return nil, err
		}
		if len(rows) < q.Limit {
			break
		}
		last := rows[len(rows)-1]
		q.After = store.Position{Time: last.ExpiresAt, ID: last.ID}
	}
	ids, err := s.otherEnds(ctx, r, soon, now)
	if err == nil && len(ids) > 0 {
		var rows []store.License
		if rows, err = r.Licenses(ctx, store.LicenseQuery{IDs: ids}); err == nil {
			list, err = appendDue(list, rows, seen, now)
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Due) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.License.ID, b.License.ID))
	})
	list = list[:min(len(list), listed)]
	return list, s.setStates(ctx, r, list)
}

// otherEnds returns the licenses of the first ends in a range that are not the ends of the
// licenses, among the ends that a [Report] counts.
func (s Service) otherEnds(ctx context.Context, r store.Reader, soon store.TimeRange, now time.Time) (ids []string, err error) {
	c, err := s.readLatest(ctx, r, now)
	if err != nil {
		return nil, err
	}
	ends, err := r.Entries(ctx, store.EntryQuery{Kind: endKind, Order: store.ByExpiry, Expires: soon, Limit: 2 * listed})
	ends = slices.DeleteFunc(ends, func(e store.Entry) bool { return c.left[e.Key] })
	for id := range c.changed {
		ends = append(ends, c.standings[id].endEntries(id, now)...)
	}
	slices.SortFunc(ends, func(a, b store.Entry) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.Key, b.Key))
	})
	for _, e := range ends {
		id, _, _ := strings.Cut(e.Key, "/")
		if soon.Contains(e.ExpiresAt) && len(ids) < 2*listed && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// appendDue appends what is due now of those of some licenses that were not seen.
func appendDue(list []Due, rows []store.License, seen map[string]bool, now time.Time) ([]Due, error) {
	for _, row := range rows {
		if seen[row.ID] || row.State == store.StateRevoked {
			continue
		}
		seen[row.ID] = true
		rec, err := licenses.Read(row, now)
		if err != nil {
			return nil, err
		}
		l, err := licenses.FromRecord(rec, now)
		if err != nil {
			return nil, err
		}
		bases, err := licenses.BaseEnds(rec)
		if err != nil {
			return nil, err
		}
		for _, end := range find.EndsOf(l) {
			if !find.DueSoon(now).Contains(end) || find.Lapsed(l, now) {
				continue
			}
			d := Due{License: l, At: end, reference: l.Reference}
			if c, is := bases[licenses.BaseEndKey(rec.ID, end)]; is {
				d.Purchase, d.reference = true, c.Ended[0]
			} else {
				d.Updates = l.ExpiresAt == nil
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// setStates sets what is known of the purchases of licenses.
func (s Service) setStates(ctx context.Context, r store.Reader, list []Due) error {
	var digests []string
	for _, d := range list {
		if d.reference != "" {
			digests = append(digests, call.Digest(d.reference))
		}
	}
	found, err := entries.Of(ctx, r, purchases.PurchaseKind, digests, call.ReadJSON[purchases.Purchase])
	for i, d := range list {
		p := found[call.Digest(d.reference)]
		list[i].License = s.Shown(d.License)
		switch {
		case !p.FirstRefunded.IsZero():
			list[i].State = api.PurchaseRefunded
		case !p.FirstEnded.IsZero():
			list[i].State = api.PurchaseEnded
		case p.State.Value == api.PurchasePaused:
			list[i].State = api.PurchasePaused
		}
	}
	return err
}
