package sales

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// putNear writes which of some licenses are near their limits, and when those of reached were. It reads the ones that may have
// limits, and the ones that were near one.
func putNear(ctx context.Context, tx store.Tx, touched map[string]bool, reached map[string]time.Time, now time.Time) error {
	var refused []store.Entry
	for id, at := range reached {
		refused = append(refused, store.Entry{Kind: find.NearKind, Key: id, Data: record.Encode(at), CreatedAt: now})
	}
	if len(refused) > 0 {
		if err := tx.PutEntries(ctx, refused...); err != nil {
			return err
		}
	}
	ids := slices.Sorted(maps.Keys(touched))
	was, err := entries.Of(ctx, tx, find.NearKind, ids, func(store.Entry) (bool, error) { return true, nil })
	if err != nil || len(ids) == 0 {
		return err
	}
	var near []Near
	ids = slices.DeleteFunc(ids, func(id string) bool { return !touched[id] && !was[id] })
	if len(ids) > 0 {
		if near, err = nearOf(ctx, tx, ids, now); err != nil {
			return err
		}
	}
	var put []store.Entry
	for _, n := range near {
		if !was[n.License.ID] {
			put = append(put, store.Entry{Kind: find.NearKind, Key: n.License.ID, CreatedAt: now})
		}
		delete(was, n.License.ID)
	}
	if len(put) > 0 {
		err = tx.PutEntries(ctx, put...)
	}
	if err == nil && len(was) > 0 {
		err = tx.DeleteEntries(ctx, find.NearKind, slices.Sorted(maps.Keys(was))...)
	}
	return err
}

// A Near is a license that is near a limit.
type Near struct {
	License api.License
	find.Near
}

// nearOf returns those of some licenses that are near a limit, the fullest first.
func nearOf(ctx context.Context, r store.Reader, ids []string, now time.Time) (list []Near, err error) {
	rows, err := r.Licenses(ctx, store.LicenseQuery{IDs: ids})
	if err != nil {
		return nil, err
	}
	recs := make([]record.License, len(rows))
	for i, row := range rows {
		if recs[i], err = licenses.Read(row, now); err != nil {
			return nil, err
		}
	}
	near, err := find.NearLimits(ctx, r, recs, now)
	for _, rec := range recs {
		n, is := near[rec.ID]
		if err != nil || !is {
			continue
		}
		var l api.License
		l, err = licenses.FromRecord(rec, now)
		list = append(list, Near{l, n})
	}
	slices.SortFunc(list, func(a, b Near) int {
		return cmp.Or(cmp.Compare(b.Share(), a.Share()), cmp.Compare(a.License.ID, b.License.ID))
	})
	return list, err
}

// NearTo returns the time of the first event that the entries of [find.NearKind] do not
// know, nil if they know all, and whether they know of the licenses that were there before
// the first event.
func (s Service) NearTo(ctx context.Context) (to *time.Time, whole bool, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		c, err := readCount(ctx, r, s.Now())
		if err != nil {
			return err
		}
		next, err := r.Events(ctx, store.EventQuery{After: c.at.Seq(), Limit: 1})
		if to, whole = nil, c.Whole; len(next) > 0 {
			to = &next[0].Time
		}
		return err
	})
	return to, whole, err
}

// listed is how many licenses a list of the report has, and nearRead how many entries it
// reads for them.
const (
	listed   = 20
	nearRead = 200
)

// near returns up to 20 licenses that are near their limits now, the fullest first, and
// how many there are; more: at least.
func (s Service) near(ctx context.Context, r store.Reader) (list []Near, n int, more bool, err error) {
	found, err := r.Entries(ctx, store.EntryQuery{Kind: find.NearKind, Limit: nearRead})
	ids := make([]string, len(found))
	for i, e := range found {
		ids[i] = e.Key
	}
	if err == nil && len(ids) > 0 {
		list, err = nearOf(ctx, r, ids, s.Now())
	}
	n, more = len(list), len(found) == nearRead
	list = list[:min(n, listed)]
	for i := range list {
		list[i].License = s.Shown(list[i].License)
	}
	return list, n, more, err
}
