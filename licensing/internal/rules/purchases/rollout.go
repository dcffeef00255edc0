package purchases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	// rolledOutTogether is how many purchases of a plan one Update looks at. Once the
	// licenses that it has looked at have as many purchases, it continues with no further one.
	rolledOutTogether = 50
	// countedPurchases is how many purchases of a plan are counted at most.
	countedPurchases = 20 * store.MaxLimit
)

// RollOutPlan gives a batch of the purchases with earlier terms of a plan the terms that the
// plan has now, in one Update, with one event for each license that changes; see package
// selling. Between two calls, some licenses have the earlier terms and some the present
// ones, and each is what its purchases make of it.
func (s Service) RollOutPlan(ctx context.Context, p api.RollOutPlanParams) (done api.PlanRollout, err error) {
	if err := call.Check(p); err != nil {
		return api.PlanRollout{}, err
	}
	at := call.Cursor{Scope: call.ScopeOf("roll-out %q", p.ID), Pinned: s.Now()}
	if p.Cursor != "" {
		var ok bool
		if at, ok = call.ParseCursor(p.Cursor, at.Scope, ""); !ok {
			return api.PlanRollout{}, call.ErrCursor
		}
	}
	after := at.After
	return call.Do(ctx, s.Call, "roll out plan", func(tx *call.Tx) (done api.PlanRollout, err error) {
		done = api.PlanRollout{Object: "plan_rollout", PlanID: p.ID}
		plan, ok, err := plans.Of(s.Call).FindPlan(ctx, tx, p.ID)
		if err == nil && !ok {
			err = fmt.Errorf("plan %q: %w", p.ID, api.ErrNotFound)
		}
		if err != nil {
			return done, err
		}
		q := plans.SoldQuery(p.ID)
		q.After, q.Limit = after, rolledOutTogether
		links, err := tx.Entries(ctx, q)
		if err != nil {
			return done, err
		}
		if at.After.ID = ""; len(links) == rolledOutTogether {
			at.After.ID = links[len(links)-1].Key
		}
		sold, err := LinkedPurchases(ctx, tx, links)
		for read := 0; err == nil && len(sold) > 0 && read < rolledOutTogether; sold = sold[1:] {
			if !sold[0].isOutdated(plan) {
				continue
			}
			var n int
			var changed bool
			n, changed, err = s.rollOut(ctx, tx, sold[0].LicenseID, plan, p.Reason)
			if read += n; changed {
				done.Changed++
			}
			if read >= rolledOutTogether && len(sold) > 1 {
				at.After.ID = p.ID + "/" + call.Digest(sold[0].Reference)
			}
		}
		if at.After.ID != "" {
			done.NextCursor = at.String()
		}
		return done, err
	})
}

// isOutdated reports whether a purchase has earlier terms of a plan. One with terms of a
// plan of another kind, which had the same ID, keeps them, and so does the one that stands
// for a license, whose terms have no kind.
func (p Purchase) isOutdated(plan api.Plan) bool {
	has := p.Terms.Value
	return has.ID == plan.ID && has.Kind == plan.Kind && !bytes.Equal(record.Encode(has), record.Encode(plan))
}

// rollOut gives the purchases of one license the terms that a plan has now, unless the
// license is deleted or revoked or the caller must not see it. It returns how many purchases
// the license has.
func (s Service) rollOut(ctx context.Context, tx *call.Tx, licenseID string, plan api.Plan, reason string) (n int, changed bool, err error) {
	row, err := tx.License(ctx, licenseID)
	if errors.Is(err, store.ErrNotFound) || err == nil && (row.State == store.StateRevoked || !s.Sees(row.ProductID)) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	rec, err := licenses.Read(row, tx.Now)
	if err != nil {
		return 0, false, err
	}
	all, err := OfLicense(ctx, tx, rec.ID)
	if err != nil {
		return 0, false, err
	}
	_, changed, err = s.refresh(ctx, tx, rec, all, plan, reason)
	return len(all), changed, err
}

// refresh gives those of the purchases of a license that have earlier terms of a plan the
// present ones, and changes the license as far as they differ.
func (s Service) refresh(ctx context.Context, tx *call.Tx, rec record.License, all []Purchase, plan api.Plan, reason string) (l api.License, changed bool, err error) {
	d := decision{license: &rec, all: slices.Clone(all), was: termsOf(all...), reason: reason, result: api.PurchaseResultUnchanged}
	for i, p := range all {
		if !p.isOutdated(plan) {
			continue
		}
		p.Terms.Value = plan
		if err := p.start(ctx, tx, d.all); err != nil {
			return api.License{}, false, err
		}
		if d.all[i], err = PutPurchase(ctx, tx, all[i], p); err != nil {
			return api.License{}, false, err
		}
	}
	d.is = termsOf(d.all...)
	l, err = s.changeFor(ctx, tx, &d)
	return l, d.result == api.PurchaseResultChanged, err
}

// CountOfPlan counts the purchases that have the terms of a plan, up to 20,000; atLeast
// reports that there may be more.
func (s Service) CountOfPlan(ctx context.Context, planID string) (n int64, atLeast bool, err error) {
	q := plans.SoldQuery(planID)
	for q.Limit = store.MaxLimit; n < countedPurchases; {
		links, err := s.Reader().Entries(ctx, q)
		if err != nil {
			return 0, false, fmt.Errorf("count purchases of a plan: %w", err)
		}
		for _, e := range links {
			if e.ExpiresAt.IsZero() { // it has a license
				n++
			}
		}
		if len(links) < q.Limit {
			return n, false, nil
		}
		q.After.ID = links[len(links)-1].Key
	}
	return n, true, nil
}
