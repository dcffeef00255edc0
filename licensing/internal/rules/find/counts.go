package find

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Count counts the licenses that p selects, whatever its Limit, Cursor and NewestFirst; see
// package license.
func (s Service) Count(ctx context.Context, p api.ListLicensesParams) (api.Counts, error) {
	p.Limit, p.Cursor, p.NewestFirst = 0, "", false
	broken := call.CheckTags(p)
	for field, value := range map[string]string{"plan_id": p.PlanID, "only": p.Only} {
		if value != "" {
			broken = append(broken, api.FieldError{Field: field, Code: api.FieldUnknown, Detail: "cannot be counted; list the licenses"})
		}
	}
	if err := call.InvalidFields(broken); err != nil {
		return api.Counts{}, err
	}
	count, alone := s.countAll, s.Kept.counting
	if p.IDs != nil || p.Search != "" || p.KeyPart != "" {
		count, alone = s.countRead, s.Kept.reading
	}
	key := fmt.Sprintf("counts %q %q %q %d %d %q %q %q %t %t %t %t %q", p.CustomerID, p.ProductID, p.Status, call.Millis(p.ExpiresBefore), call.Millis(p.ExpiresAfter),
		p.Search, p.KeyPart, p.IDs, p.IDs == nil, s.Searched == nil, s.Caller.MaskKeys, s.Caller.Products == nil, s.OnlyProducts())
	c, err := kept(ctx, s, key, alone, func() (api.Counts, error) { return count(ctx, p) })
	if err != nil {
		return api.Counts{}, fmt.Errorf("count licenses: %w", err)
	}
	c.ByStatus = maps.Clone(c.ByStatus)
	return c, nil
}

// countRead counts licenses by reading them.
func (s Service) countRead(ctx context.Context, p api.ListLicensesParams) (api.Counts, error) {
	c := api.Counts{At: s.Now(), ByStatus: map[api.LicenseStatus]int64{}}
	soon := store.TimeRange{From: c.At.Add(time.Millisecond), Before: c.At.Add(api.ExpiringSoon + time.Millisecond)}
	add := func(row store.License) {
		c.Total++
		c.ByStatus[licenses.StatusAt(row, c.At)]++
		if row.State == store.StateActive && !row.ExpiresAt.IsZero() && soon.Contains(row.ExpiresAt) {
			c.Expiring++
		}
	}
	q := queryOf(p, c.At)
	if p.IDs != nil {
		q.Limit = store.MaxLimit
		err := s.Read(ctx, func(r store.Reader) error {
			rows, _, err := s.readRows(ctx, r, q)
			for _, row := range rows {
				add(row)
			}
			return err
		})
		return c, err
	}
	if p.Search != "" {
		if rows, err := s.lookUp(ctx, p.Search, q); err != nil || len(rows) > 0 {
			for _, row := range rows {
				add(row)
			}
			return c, err
		}
	}
	for _, part := range call.KeyParts(p.KeyPart) {
		p.KeyPart = part
		end, err := s.search(ctx, q, p, store.MaxExamined, add)
		c.AtLeast = !end.IsZero()
		if err != nil || c.Total > 0 || c.AtLeast {
			return c, err
		}
	}
	return c, nil
}

// countAll counts licenses by indexes, on one snapshot.
func (s Service) countAll(ctx context.Context, p api.ListLicensesParams) (c api.Counts, err error) {
	now := s.Now()
	products := []string{p.ProductID}
	if p.ProductID != "" && !s.Sees(p.ProductID) {
		products = nil
	} else if p.ProductID == "" && s.Caller.Products != nil {
		products = s.OnlyProducts()
	}
	err = s.Read(ctx, func(r store.Reader) error {
		c = api.Counts{At: now, ByStatus: map[api.LicenseStatus]int64{}}
		for _, p.ProductID = range products {
			if err := addCounts(ctx, &c, r, p); err != nil {
				return err
			}
		}
		return nil
	})
	return c, err
}

// addCounts adds the licenses that p selects. No index counts the active ones. They are
// those with that state without the expired and the scheduled ones; a license
// starts before it expires, so none is both.
func addCounts(ctx context.Context, c *api.Counts, r store.Reader, p api.ListLicensesParams) (err error) {
	count := func(p api.ListLicensesParams, state store.State) (n int64) {
		if err != nil {
			return 0
		}
		q := queryOf(p, c.At)
		q.State, q.Limit = cmp.Or(q.State, state), 0
		numbers, e := r.CountLicenses(ctx, q)
		if err = e; err != nil {
			return 0
		}
		return numbers[0]
	}
	of := map[api.LicenseStatus]int64{}
	wanted := p.Status
	for _, p.Status = range []api.LicenseStatus{api.LicenseSuspended, api.LicenseRevoked, api.LicenseExpired, api.LicenseScheduled} {
		if parts := p.Status == api.LicenseExpired || p.Status == api.LicenseScheduled; wanted == "" || wanted == p.Status || wanted == api.LicenseActive && parts {
			of[p.Status] = count(p, "")
		}
	}
	p.Status = ""
	if wanted == "" || wanted == api.LicenseActive {
		of[api.LicenseActive] = count(p, store.StateActive) - of[api.LicenseExpired] - of[api.LicenseScheduled]
	}
	if wanted == "" {
		past := c.At.Add(time.Millisecond)
		if p.ExpiresAfter.Before(past) {
			p.ExpiresAfter = past
		}
		if soon := past.Add(api.ExpiringSoon); p.ExpiresBefore.IsZero() || soon.Before(p.ExpiresBefore) {
			p.ExpiresBefore = soon
		}
		c.Expiring += count(p, store.StateActive)
	}
	for status, n := range of {
		if wanted == "" || wanted == status {
			c.ByStatus[status] += n
			c.Total += n
		}
	}
	return err
}
