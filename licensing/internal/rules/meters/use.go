package meters

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Uses returns what was used of the meters of a license in the periods of an instant, by
// name. A license without meters needs no read.
func Uses(ctx context.Context, r store.Reader, rec record.License, at time.Time) ([]api.MeterUse, error) {
	all, err := UsesOf(ctx, r, []record.License{rec}, at)
	return all[rec.ID], err
}

// UsesOf is Uses for many licenses, by license ID.
func UsesOf(ctx context.Context, r store.Reader, recs []record.License, at time.Time) (map[string][]api.MeterUse, error) {
	all := map[string][]api.MeterUse{}
	var keys []string
	for _, rec := range recs {
		meters, err := metersOf(rec)
		if err != nil {
			return nil, err
		}
		for _, name := range call.Names(meters) {
			in := spanOf(meters[name].Per, rec, at)
			all[rec.ID] = append(all[rec.ID], useOf(name, meters[name], in, 0))
			keys = append(keys, rowKey(rec.ID, in.from, name))
		}
	}
	used, err := readAll(ctx, r, MeterKind, keys, readUsed)
	if err != nil {
		return nil, err
	}
	for id, uses := range all {
		for i, u := range uses {
			from := call.TimeOrZero(u.From)
			uses[i] = useOf(u.Name, u.Meter, span{from, call.TimeOrZero(u.ResetsAt)}, used[rowKey(id, from, u.Name)])
		}
	}
	return all, nil
}

// ListUsage returns a page of what was used of the meters of a license, a period at a
// time; see package metering.
func (s Service) ListUsage(ctx context.Context, p api.ListUsageParams) (api.Page[api.UsagePeriod], error) {
	if err := call.Check(p); err != nil {
		return api.Page[api.UsagePeriod]{}, err
	}
	at := call.Cursor{Scope: call.ScopeOf("usage %q", p.LicenseID), Pinned: s.Now()}
	if p.Cursor != "" {
		var ok bool
		if at, ok = call.ParseCursor(p.Cursor, at.Scope, ""); !ok {
			return api.Page[api.UsagePeriod]{}, call.ErrCursor
		}
	}
	limit := p.Limit
	if limit == 0 {
		limit = valid.DefaultLimit
	}
	return call.View(ctx, s.Call, "list usage", func(r store.Reader) (page api.Page[api.UsagePeriod], err error) {
		page = api.Page[api.UsagePeriod]{Data: []api.UsagePeriod{}}
		if _, err := licenses.Of(s.Call).Find(ctx, r, p.LicenseID); err != nil {
			return page, err
		}
		q := rowsOf(p.LicenseID)
		q.Descending, q.After.ID, q.Limit = true, at.After.ID, limit+1
		found, err := r.Entries(ctx, q)
		if err != nil {
			return page, err
		}
		if len(found) > limit {
			found, page.HasMore = found[:limit], true
			next := at
			next.After.ID = found[limit-1].Key
			page.NextCursor = next.String()
		}
		for _, e := range found {
			used, err := readRow(e)
			if err != nil {
				return page, err
			}
			page.Data = append(page.Data, periodOf(e.Key, used))
		}
		return page, nil
	})
}

func periodOf(key string, r row) api.UsagePeriod {
	_, from, meter := parseRowKey(key)
	return api.UsagePeriod{Object: "usage_period", Meter: meter, From: record.OptionalTime(from), To: record.OptionalTime(r.To), Used: r.Used}
}
