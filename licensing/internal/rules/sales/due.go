package sales

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Due is a license that ends soon, or whose updates do.
type Due struct {
	License api.License
	At      time.Time
	Updates bool
	State   api.PurchaseState // of the purchase that governs, if that is not active; empty: it is, or there is none
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
	soon := store.TimeRange{From: now, Before: now.AddDate(0, 0, dueDays)}
	q := store.LicenseQuery{Order: store.ByExpiresAt, Expires: soon, Limit: 2 * listed}
	for len(list) < listed { // until enough of them are no trials
		rows, err := r.Licenses(ctx, q)
		if err != nil {
			return nil, err
		}
		if list, err = appendDue(list, rows, now); err != nil {
			return nil, err
		}
		if len(rows) < q.Limit {
			break
		}
		last := rows[len(rows)-1]
		q.After = store.Position{Time: last.ExpiresAt, ID: last.ID}
	}
	ends, err := r.Entries(ctx, store.EntryQuery{Kind: standingKind, Order: store.ByExpiry, Expires: soon, Limit: 2 * listed})
	ids := make([]string, len(ends))
	for i, e := range ends {
		ids[i] = e.Key
	}
	if err == nil && len(ids) > 0 {
		var rows []store.License
		if rows, err = r.Licenses(ctx, store.LicenseQuery{IDs: ids}); err == nil {
			list, err = appendDue(list, rows, now)
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

// appendDue appends those of some licenses that are due now and are no trials.
func appendDue(list []Due, rows []store.License, now time.Time) ([]Due, error) {
	for _, row := range rows {
		l, err := licenses.FromRow(row, now)
		if err != nil {
			return nil, err
		}
		is := standingOf(l)
		if row.State != store.StateRevoked && is.Kind != trial && is.Ends.After(now) && is.Ends.Before(now.AddDate(0, 0, dueDays)) {
			list = append(list, Due{License: l, At: is.Ends, Updates: is.Grace.IsZero()})
		}
	}
	return list, nil
}

// setStates sets what is known of the purchases of licenses.
func (s Service) setStates(ctx context.Context, r store.Reader, list []Due) error {
	var digests []string
	for _, d := range list {
		if d.License.Reference != "" {
			digests = append(digests, call.Digest(d.License.Reference))
		}
	}
	found, err := entries.Of(ctx, r, purchases.PurchaseKind, digests, call.ReadJSON[purchases.Purchase])
	for i, d := range list {
		p := found[call.Digest(d.License.Reference)]
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
