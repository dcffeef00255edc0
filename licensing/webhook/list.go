package webhook

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ListParams are the parameters of [Service.List].
type ListParams struct {
	Limit  int    `json:"limit" validate:"min=0,max=200"` // 0: 100
	Cursor string `json:"cursor"`                         // NextCursor of the previous page
}

// webhooksLimit is the default number of webhooks on a page: as many as the first
// version of this module allowed, whose clients do not ask for a second page.
const webhooksLimit = 100

// List returns a page of webhooks, oldest first. A caller limited to some
// products sees only webhooks limited to those products. It returns an
// [*license.InvalidError] if a parameter is invalid.
func (s *Service) List(ctx context.Context, p ListParams) (page license.Page[Webhook], err error) {
	if broken := checker.Check(ctx, p); len(broken) > 0 {
		return page, &license.InvalidError{Fields: broken}
	}
	p.Limit = cmp.Or(p.Limit, webhooksLimit)
	scope := newScope("webhooks")
	q := store.EntryQuery{Limit: p.Limit + 1}
	if !s.covers(nil) {
		q.Limit = store.MaxLimit // most of them may belong to others
	}
	if q.After.ID, err = scope.after(p.Cursor, "whk"); err != nil {
		return page, err
	}
	page.Data = []Webhook{}
	err = eachWebhook(ctx, s.reader(), q, func(rec webhookRecord) bool {
		switch {
		case !s.covers(rec.Products):
		case len(page.Data) == p.Limit:
			page.HasMore, page.NextCursor = true, scope.cursorAfter(page.Data[p.Limit-1].ID)
			return false
		default:
			page.Data = append(page.Data, rec.webhook(s.now()))
		}
		return true
	})
	if err != nil {
		return license.Page[Webhook]{}, fmt.Errorf("webhooks: %w", err)
	}
	return page, nil
}

// Troubled returns the webhooks that fail or are disabled, the longest first.
func (s internals) Troubled(ctx context.Context) (list []Webhook, err error) {
	err = eachWebhook(ctx, s.reader(), store.EntryQuery{Order: store.ByExpiry, Limit: store.MaxLimit}, func(rec webhookRecord) bool {
		if s.covers(rec.Products) {
			list = append(list, rec.webhook(s.now()))
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("failing webhooks: %w", err)
	}
	return list, nil
}
