package api

import (
	"context"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// testWebhook is POST /webhook/{webhookID}/test.
func (a api) testWebhook(w http.ResponseWriter, r *http.Request) error {
	return a.deliver(w, r, func(ctx context.Context, rules *license.Service) (license.Delivery, error) {
		return rules.TestWebhook(ctx, web.Param(r, "webhookID"))
	})
}

// resend is POST /webhook/{webhookID}/delivery/{deliveryID}/resend.
func (a api) resend(w http.ResponseWriter, r *http.Request) error {
	return a.deliver(w, r, func(ctx context.Context, rules *license.Service) (license.Delivery, error) {
		return rules.Resend(ctx, web.Param(r, "webhookID"), web.Param(r, "deliveryID"))
	})
}

// deliver answers 202 with a delivery that is yet to be made.
func (a api) deliver(w http.ResponseWriter, r *http.Request, do func(context.Context, *license.Service) (license.Delivery, error)) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	if err := web.Unconditional(r); err != nil {
		return err
	}
	if err := web.NoBody(r); err != nil {
		return err
	}
	body, err := web.ReadOptionalObject(r, web.JSON)
	if err != nil {
		return err
	}
	return web.Once(w, r, a.rules(r), web.Change{
		Body: body,
		Do: func(rules *license.Service) (web.Reply, error) {
			d, err := do(r.Context(), rules)
			return reply(http.StatusAccepted, d, err)
		},
	})
}

// listDeliveries is GET /webhook/{webhookID}/delivery.
func (a api) listDeliveries(w http.ResponseWriter, r *http.Request) error {
	query := web.ReadQuery(r, "status", "limit", "cursor")
	p := license.DeliveriesParams{
		WebhookID: web.Param(r, "webhookID"),
		Status:    license.DeliveryStatus(query.Text("status")),
		Limit:     query.Number("limit", 1, maxLimit),
		Cursor:    query.Text("cursor"),
	}
	if err := query.Err(); err != nil {
		return err
	}
	page, err := a.rules(r).Deliveries(r.Context(), p)
	if err != nil {
		return web.QueryError(err)
	}
	return writeList(w, r, page.Deliveries, page.NextCursor)
}
