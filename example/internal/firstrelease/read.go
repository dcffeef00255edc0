package firstrelease

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// readLicenses writes each license with its activations, history and verdict.
func (o *observer) readLicenses() {
	ctx := o.t.Context()
	for l, err := range o.service.All(ctx, license.ListParams{}) {
		o.add("license", "", l, err)
		activations, err := o.service.ListActivations(ctx, license.ListActivationsParams{LicenseID: l.ID, Ended: true})
		for _, a := range activations.Data {
			o.add("activation", "", a, nil)
		}
		history, err2 := o.service.Events(ctx, license.EventsParams{Subject: l.ID, NewestFirst: true, Limit: 200})
		var events []string
		for _, e := range history.Data {
			events = append(events, e.ID+" "+e.Type)
		}
		o.add("history", l.ID, events, err2)
		o.add("seats", l.ID, len(activations.Data), err)
		v, err := o.service.Validate(ctx, license.ValidateParams{Key: l.Key})
		o.add("verdict", l.ID, v.Code, err)
	}
}

// searches are the words of names and customer ids in the data.
const searches = "überlicht UBERLICHT für atlas ada plain suspended revoked scheduled in grace expired changed twice reinstated " +
	"soon thirty seven one over imported not handed on once only bob carol dan eve frank cus " +
	"cus_ada cus_bob cus_carol cus_dan cus_eve cus_frank OWN-KEY-FROM-ELSEWHERE-0001 legacy-key-7f3a-0001"

// readLists writes filters, searches, directories and figures.
func (o *observer) readLists() {
	ctx := o.t.Context()
	list := func(about string, p license.ListParams) {
		var ids []string
		p.Limit = 3
		for {
			page, err := o.service.List(ctx, p)
			if err != nil {
				o.add("list", about, nil, err)
				return
			}
			for _, l := range page.Data {
				ids = append(ids, l.ID)
			}
			if p.Cursor = page.NextCursor; p.Cursor == "" {
				o.add("list", about, ids, nil)
				return
			}
		}
	}
	list("newest first", license.ListParams{NewestFirst: true})
	for _, status := range []license.Status{license.StatusRevoked, license.StatusSuspended, license.StatusExpired, license.StatusScheduled, license.StatusActive} {
		list("status "+string(status), license.ListParams{Status: status})
	}
	for _, word := range strings.Fields(searches) {
		list("search "+word, license.ListParams{Search: word})
	}
	customers, err := o.service.Customers(ctx, license.NamesParams{})
	o.add("customers", "", customers.Data, err)
	for _, c := range customers.Data {
		list("customer "+c.Name, license.ListParams{CustomerID: c.Name})
	}
	products, err := o.service.Products(ctx, license.NamesParams{})
	o.add("products", "", products.Data, err)
	for _, p := range products.Data {
		list("product "+p.Name, license.ListParams{ProductID: p.Name})
	}
	o.readOverview()
}

// readOverview writes the figures at several instants, of which each counts
// other licenses as started and expired.
func (o *observer) readOverview() {
	now := o.clock()
	for _, at := range []string{
		"2026-01-31T12:00:00Z", "2026-03-31T12:00:00Z", "2026-04-01T12:00:00Z", "2026-05-02T17:00:00Z", "2026-05-02T19:00:00Z", "2026-05-03T11:00:00Z",
		"2026-05-03T13:00:00Z", "2026-05-05T15:00:05Z", "2026-05-05T17:00:00Z", "2026-05-06T15:00:00Z", "2026-05-06T17:00:00Z", "2026-05-12T15:00:00Z",
		"2026-05-12T17:00:00Z", "2026-06-04T15:00:00Z", "2026-06-04T17:00:00Z", "2026-06-15T07:00:00Z", "2026-06-15T09:00:00Z", "2027-04-01T12:00:00Z", "2027-07-31T12:00:00Z",
	} {
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			o.t.Fatal(err)
		}
		o.advance(t.Sub(o.clock()))
		figures, err := o.service.Overview(o.t.Context())
		var issued, ending []string
		// The first release showed 90 days and 26 weeks.
		for _, f := range figures.Issued[len(figures.Issued)-90:] {
			issued = appendFigure(issued, f)
		}
		for _, f := range figures.Ending[:26] {
			ending = appendFigure(ending, f)
		}
		o.add("overview", at, map[string]any{
			"total": figures.Total, "by_status": figures.ByStatus, "expiring": figures.Expiring, "issued": issued, "ending": ending,
		}, err)
	}
	o.advance(now.Sub(o.clock()))
}

// appendFigure adds a figure that is not zero.
func appendFigure(all []string, f license.Figure) []string {
	if f.N == 0 {
		return all
	}
	return append(all, fmt.Sprintf("%s %d", f.From.Format(time.DateOnly), f.N))
}

// readEvents writes the feed, the webhooks and their deliveries.
func (o *observer) readEvents() {
	ctx := o.t.Context()
	for after := ""; ; {
		page, err := o.service.Events(ctx, license.EventsParams{After: after, Limit: 7})
		for _, e := range page.Data {
			o.add("event", "", e, nil)
		}
		if after = page.NextCursor; err != nil || !page.HasMore {
			o.add("events", "", page.HasMore, err)
			break
		}
	}
	page, err := o.service.Events(ctx, license.EventsParams{CustomerID: "cus_ada", NewestFirst: true, Limit: 200})
	o.add("events of cus_ada", "", len(page.Data), err)
	webhooks, err := o.handler.Webhooks().List(ctx, webhook.ListParams{})
	o.add("webhooks", "", len(webhooks.Data), err)
	for _, w := range webhooks.Data {
		o.add("webhook", "", w, nil)
		for _, status := range []webhook.DeliveryStatus{"", webhook.DeliveryPending, webhook.DeliverySucceeded, webhook.DeliveryFailed} {
			page, err := o.handler.Webhooks().Deliveries(ctx, webhook.DeliveriesParams{WebhookID: w.ID, Status: status, Limit: 200})
			o.add("deliveries", w.ID+" "+string(status), len(page.Data), err)
			for _, d := range page.Data {
				if status == "" {
					o.add("delivery", "", d, nil)
				}
			}
		}
	}
	waiting, since := o.overdue()
	o.add("backlog", "", []any{waiting, since}, nil)
}

// overdue reports whether background work is overdue, and since when.
func (o *observer) overdue() (waiting bool, since *time.Time) {
	for _, p := range o.handler.Health(o.t.Context()).Problems {
		if p.Code == licensing.HealthOverdue {
			return true, p.Since
		}
	}
	return false, nil
}

// readCredentials writes clients, operators and invitations.
func (o *observer) readCredentials() {
	ctx := o.t.Context()
	clients, err := o.auth.ListClients(ctx, auth.ListClientsParams{})
	o.add("clients", "", len(clients.Data), err)
	for _, c := range clients.Data {
		o.add("client", "", c, nil)
	}
	operators, err := o.operators.List(ctx, operator.ListParams{})
	o.add("operators", "", len(operators.Data), err)
	for _, op := range operators.Data {
		o.add("operator", "", op, nil)
	}
	invitations, err := o.operators.Invitations(ctx)
	o.add("invitation", "count", len(invitations), err)
	for _, i := range invitations {
		o.add("invitation", "", i, nil)
	}
	offered, err := o.operators.NeedsSetup(ctx)
	o.add("setup offered", "", offered, err)
}
