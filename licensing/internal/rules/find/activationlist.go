package find

import (
	"cmp"
	"context"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ListActivations returns a page of a license's activations, oldest first.
// Ended activations are kept for at least 30 days. It returns [api.ErrNotFound],
// an [*api.InvalidError] or [api.ErrForbidden]. Cursors work as in Service.List.
func (s Service) ListActivations(ctx context.Context, p api.ListActivationsParams) (api.Page[api.Activation], error) {
	if err := call.Check(p); err != nil {
		return api.Page[api.Activation]{}, err
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	return call.View(ctx, s.Call, "list activations", func(r store.Reader) (page api.Page[api.Activation], err error) {
		rec, err := seats.Of(s.Call).LicenseOf(ctx, r, p.LicenseID, p.Key)
		if err != nil {
			return page, err
		}
		at := call.Cursor{Scope: call.ScopeOf("activations %q %t", rec.ID, p.Ended), Pinned: s.Now()}
		if p.Cursor != "" {
			var ok bool
			if at, ok = call.ParseCursor(p.Cursor, at.Scope, "act"); !ok {
				return page, call.ErrCursor
			}
		}
		q := store.ActivationQuery{LicenseID: rec.ID, After: at.After.ID, Limit: p.Limit + 1}
		if !p.Ended {
			q.LiveAt = at.Pinned
		}
		rows, err := r.Activations(ctx, q)
		if err != nil {
			return page, err
		}
		page = api.Page[api.Activation]{Data: make([]api.Activation, 0, len(rows))}
		if len(rows) > p.Limit {
			rows = rows[:p.Limit]
			at.After.ID = rows[p.Limit-1].ID
			page.HasMore, page.NextCursor = true, at.String()
		}
		for _, row := range rows {
			rec, err := record.ReadActivation(row)
			if err != nil {
				return page, err
			}
			a, err := seats.ActivationAt(rec, at.Pinned)
			if err != nil {
				return page, err
			}
			page.Data = append(page.Data, a)
		}
		return page, nil
	})
}
