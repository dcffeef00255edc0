package webhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// List returns a page of webhooks, oldest first. A caller limited to some
// products sees only webhooks limited to those products. It returns an
// [*api.InvalidError] if a parameter is invalid.
func (s *Service) List(ctx context.Context, p api.ListWebhooksParams) (page api.Page[api.Webhook], err error) {
	if broken := checkTags(p); len(broken) > 0 {
		return page, &api.InvalidError{Fields: broken}
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	scope := newScope("webhooks")
	after, err := scope.after(p.Cursor, "whk")
	if err != nil {
		return page, err
	}
	all, err := readAll(ctx, s.store())
	if err != nil {
		return page, fmt.Errorf("webhooks: %w", err)
	}
	page.Data = []api.Webhook{}
	for _, rec := range all {
		switch {
		case rec.ID <= after || !s.covers(rec.Products):
		case len(page.Data) == p.Limit:
			page.HasMore, page.NextCursor = true, scope.cursorAfter(page.Data[p.Limit-1].ID)
			return page, nil
		default:
			page.Data = append(page.Data, rec.webhook(s.now()))
		}
	}
	return page, nil
}

// Troubled returns the webhooks that fail or are disabled, the longest first.
func (s internals) Troubled(ctx context.Context) (list []api.Webhook, err error) {
	all, err := readAll(ctx, s.store())
	if err != nil {
		return nil, fmt.Errorf("failing webhooks: %w", err)
	}
	slices.SortStableFunc(all, func(a, b webhookRecord) int { return a.troubledSince().Compare(b.troubledSince()) })
	for _, rec := range all {
		if !rec.troubledSince().IsZero() && s.covers(rec.Products) {
			list = append(list, rec.webhook(s.now()))
		}
	}
	return list, nil
}
