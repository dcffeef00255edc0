package dashboard

import (
	"net/url"
	"slices"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// The number of API credentials and of webhooks that are read for the page of a
// product, and how many of both together it shows.
const (
	integrationsRead  = 200
	integrationsShown = 20
)

// An integration is an API credential or a webhook that is for a product.
type integration struct {
	Name     string
	Path     string // as a reference from dashboard/
	Kind     string
	Products string
	State    string // empty: in use
}

// everyProduct are the products of an integration that is not restricted to some.
const everyProduct = "all products"

// integrations returns the credentials, if the operator may see them, and the
// webhooks that are for a product. The ones restricted to some products come first.
// It reports whether there may be more.
func (v *visit) integrations(product string) (list []integration, more bool, err error) {
	ctx := v.r.Context()
	var all []integration // for all products
	add := func(i integration, products []string) {
		switch {
		case products == nil:
			i.Products = everyProduct
			all = append(all, i)
		case slices.Contains(products, product):
			i.Products = "only this product"
			if len(products) > 1 {
				i.Products = "some products"
			}
			list = append(list, i)
		}
	}
	if v.may(auditors) {
		clients, err := v.auth.ListClients(ctx, auth.ListClientsParams{Limit: integrationsRead})
		if err != nil {
			return nil, false, err
		}
		more = clients.HasMore
		for _, c := range clients.Data {
			i := integration{Name: c.Name, Path: "settings/credentials/" + url.PathEscape(c.ID), Kind: "API credential"}
			if c.Disabled {
				i.State = "disabled"
			}
			add(i, c.Products)
		}
	}
	hooks, err := v.webhooks.List(ctx, api.ListWebhooksParams{Limit: integrationsRead})
	if err != nil {
		return nil, false, err
	}
	more = more || hooks.HasMore
	for _, w := range hooks.Data {
		i := integration{Name: webhookRow{w}.Host(), Path: webhookPath(w.ID), Kind: "Webhook"}
		if w.Status != api.WebhookActive {
			i.State = string(w.Status)
		}
		add(i, w.Products)
	}
	list = append(list, all...)
	return list[:min(len(list), integrationsShown)], more || len(list) > integrationsShown, nil
}
