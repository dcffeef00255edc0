package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
)

// webhookPath returns the page of a webhook, as a reference from dashboard/.
func webhookPath(id string) string { return "settings/webhooks/" + url.PathEscape(id) }

// webhookRow is a webhook as pages show it.
type webhookRow struct {
	api.Webhook
	Failing *failingWebhook // nil: it does not fail, or the page does not say how
}

// State returns the status of the webhook, or "failing" if it is active and its
// deliveries fail.
func (r webhookRow) State() string {
	if r.Status == api.WebhookActive && r.FailingSince != nil {
		return "failing"
	}
	return string(r.Status)
}

// Host returns the host of the URL, which pages use as a short name.
func (r webhookRow) Host() string {
	if u, err := url.Parse(r.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return r.URL
}

// webhooksPage is the number of webhooks on a page. The backlog of each that fails
// costs a read of its events.
const webhooksPage = 50

func showWebhooks(v *visit) error {
	hooks, err := v.webhooks.List(v.r.Context(), api.ListWebhooksParams{Cursor: v.r.URL.Query().Get("after"), Limit: webhooksPage})
	if err != nil {
		return err
	}
	body := struct {
		Rows        []webhookRow
		Stalled     string
		Unencrypted bool // the secrets of the webhooks are stored in plain text
		pager
	}{Unencrypted: len(hooks.Data) > 0 && !v.h.opts.Sealed, pager: v.pager(nil, "after", hooks.NextCursor)}
	for _, w := range hooks.Data {
		row := webhookRow{Webhook: w}
		if row.Failing, err = v.failingWebhook(row); err != nil {
			return err
		}
		body.Rows = append(body.Rows, row)
	}
	if len(hooks.Data) > 0 {
		if body.Stalled, err = v.stalled(); err != nil {
			return err
		}
	}
	return v.render(http.StatusOK, "webhooks", page{Title: "Webhooks", Section: "webhooks", Body: body})
}

// stalledNotice returns a warning if background work is overdue, or "".
func stalledNotice(b feed.Backlog) string {
	if b.Running && !b.Waiting {
		return ""
	}
	return "Events, deliveries or expiry notices are overdue. Check that the host application calls Handler.Run."
}

// stalled returns a warning if background work is overdue, or "".
func (v *visit) stalled() (string, error) {
	backlog, err := v.h.opts.Backlog(v.r.Context())
	return stalledNotice(backlog), err
}

// failingNotices returns a warning for each subscriber that fails.
func failingNotices(b feed.Backlog) []string {
	return each(b.Failing, func(f feed.FailingSubscriber) string {
		return fmt.Sprintf("Subscriber %q has failed %s in a row on event %s. Later events are waiting. See the service log for the error.", f.Name, count(f.Failures, "time"), f.EventID)
	})
}

// webhookFields returns the form of a webhook. Without types, all events are selected.
func webhookFields(w api.Webhook) *form {
	return newForm(
		&field{Name: "url", Label: "URL", Hint: "The URL that receives events, such as https://shop.example/hooks/licenses.", Type: "url", Value: w.URL, Required: true, MaxLength: 2048},
		&field{Name: "description", Label: "Description", Hint: "Optional. For your own use.", Type: "text", Value: w.Description, MaxLength: 255},
		typesField(len(w.Types) == 0, w.Types),
	)
}

// productsField returns the field for the products of a new webhook, which
// cannot be changed later.
func productsField() *field {
	return &field{
		Name: "products", Label: "Products", Type: "textarea", Rows: 3, List: true,
		Hint: "One product ID per line. Leave blank for all products and for events without a product. This cannot be changed later.",
	}
}

// lines returns the non-blank lines of a textarea, without surrounding space.
func (f *form) lines(name string) (list []string) {
	for line := range strings.SplitSeq(f.Field(name).Value, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

func newWebhookForm(v *visit) (*formPage, error) {
	p := newFormPage("webhooks", lists["webhooks"], "New webhook", "The webhook receives events from now on. The signing secret is shown once, on the next page.")
	p.Form, p.Action, p.Once = webhookFields(api.Webhook{Types: usualTypes}), "Create webhook", true
	p.Form.add(productsField())
	var w api.Webhook
	var secret string
	p.do = func(tx *visit) (_ string, err error) {
		address, description, types := p.Form.readWebhook()
		w, secret, err = tx.webhooks.Create(v.r.Context(), api.CreateWebhookParams{URL: address, Description: description, Types: types, Products: p.Form.lines("products")})
		return webhookPath(w.ID), err
	}
	p.then = func(v *visit) error { return v.renderWebhookSecret(w, secret, "Webhook created") }
	return p, nil
}

// readWebhook returns the values of the form.
func (f *form) readWebhook() (address, description string, types []string) {
	return strings.TrimSpace(f.Field("url").Value), strings.TrimSpace(f.Field("description").Value), f.selectedTypes()
}

// renderWebhookSecret shows a new secret. The secret appears only in this
// response.
func (v *visit) renderWebhookSecret(w api.Webhook, secret, title string) error {
	return v.render(http.StatusOK, "secret", page{Title: title, Section: "webhooks", Body: secretPage{
		Name: w.URL, Next: webhookPath(w.ID),
		Values: []secretValue{{"webhook-secret", "Secret", secret}},
		Hint: "Store it in the program that receives the events. The program verifies the headers webhook-id, webhook-timestamp " +
			"and webhook-signature with a Standard Webhooks library.",
	}})
}

// deliveryRow is a delivery as pages show it.
type deliveryRow struct {
	api.Delivery
	Last  string // the result of the last attempt
	Error string
}

func newDeliveryRow(d api.Delivery) deliveryRow {
	row := deliveryRow{Delivery: d, Last: "No attempts yet"}
	if n := len(d.Attempts); n > 0 {
		last := d.Attempts[n-1]
		row.Last, row.Error = "No response", last.Error
		if last.StatusCode != 0 {
			row.Last = "Status " + strconv.Itoa(last.StatusCode)
		}
		row.Last += " after " + strconv.FormatInt(last.DurationMS, 10) + " ms"
		if n > 1 {
			row.Last += ", " + count(n, "attempt")
		}
	}
	return row
}

func showWebhook(v *visit, w webhookRow) error {
	ctx, q := v.r.Context(), v.r.URL.Query()
	p := api.ListDeliveriesParams{WebhookID: w.ID, Status: api.DeliveryStatus(q.Get("status")), Limit: 25, Cursor: q.Get("cursor")}
	result, err1 := v.webhooks.Deliveries(ctx, p)
	failing, err2 := v.failingWebhook(w)
	stalled, err3 := v.stalled()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	w.Failing = failing
	body := struct {
		webhookRow
		Stalled    string
		Filter     api.DeliveryStatus
		Deliveries []deliveryRow
		pager
	}{webhookRow: w, Stalled: stalled, Filter: p.Status, Deliveries: each(result.Data, newDeliveryRow)}
	body.pager = v.pager(queryOf(map[string]string{"status": string(p.Status)}), "cursor", result.NextCursor)
	body.Anchor = "#deliveries"
	return v.render(http.StatusOK, "webhook", page{Title: "Webhook " + body.Host(), Heading: body.Host(), Section: "webhooks", Body: body})
}
