package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
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

// A listScope is the digest of everything that a position in a list depends on.
type listScope string

func newScope(format string, args ...any) listScope {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return listScope(sum[:16])
}

// scopeOf returns the scope of a list of deliveries.
func scopeOf(p api.ListDeliveriesParams) listScope {
	return newScope("deliveries %q %q", p.WebhookID, p.Status)
}

// cursorAfter returns the cursor of the page after an ID.
func (s listScope) cursorAfter(id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(s) + id))
}

// after returns the ID before the page of a cursor, or "" for the first page. It
// returns an [*api.InvalidError] if the cursor is malformed or belongs to
// another list.
func (s listScope) after(cursor, prefix string) (id string, err error) {
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	id, ok := strings.CutPrefix(string(text), string(s))
	if err != nil || !ok || !record.IsID(prefix, id) || s.cursorAfter(id) != cursor {
		return "", api.Invalid("cursor", api.FieldInvalidFormat, "must be the next_cursor of a list with the same filters; omit it to start over")
	}
	return id, nil
}
