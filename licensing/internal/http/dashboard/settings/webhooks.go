package settings

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// WebhookRow is a webhook as pages show it.
type WebhookRow struct {
	api.Webhook
	Failing *FailingWebhook // nil: it does not fail, or the page does not say how
}

// State returns the status of the webhook, or "failing" if it is active and its
// deliveries fail.
func (r WebhookRow) State() string {
	if r.Status == api.WebhookActive && r.FailingSince != nil {
		return "failing"
	}
	return string(r.Status)
}

// Host returns the host of the URL, which pages use as a short name.
func (r WebhookRow) Host() string {
	if u, err := url.Parse(r.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return r.URL
}

// webhooksPage is the number of webhooks on a page. The backlog of each that fails
// costs a read of its events.
const webhooksPage = 50

func ShowWebhooks(v *kit.Visit) error {
	hooks, err := v.Webhooks.List(v.R.Context(), api.ListWebhooksParams{Cursor: v.R.URL.Query().Get("after"), Limit: webhooksPage})
	if err != nil {
		return err
	}
	body := struct {
		Rows        []WebhookRow
		Stalled     string
		Unencrypted bool // the secrets of the webhooks are stored in plain text
		kit.Pager
	}{Unencrypted: len(hooks.Data) > 0 && !v.Opts.Sealed, Pager: v.Pager(nil, "after", hooks.NextCursor)}
	for _, w := range hooks.Data {
		row := WebhookRow{Webhook: w}
		if row.Failing, err = FailingWebhookOf(v, row); err != nil {
			return err
		}
		body.Rows = append(body.Rows, row)
	}
	if len(hooks.Data) > 0 {
		if body.Stalled, err = stalled(v); err != nil {
			return err
		}
	}
	return v.Render(http.StatusOK, "webhooks", kit.Page{Title: "Webhooks", Section: "webhooks", Body: body})
}

// StalledNotice returns a warning if background work is overdue, or "".
func StalledNotice(v *kit.Visit, b feed.Backlog) string {
	if b.Running && !b.Waiting {
		return ""
	}
	return "Events, deliveries or expiry notices are overdue. " + v.Opts.Says("Check that the host application calls Handler.Run.", "Look at the log of the service.")
}

// stalled returns a warning if background work is overdue, or "".
func stalled(v *kit.Visit) (string, error) {
	backlog, err := v.Opts.Backlog(v.R.Context())
	return StalledNotice(v, backlog), err
}

// FailingNotices returns a warning for each subscriber that fails.
func FailingNotices(b feed.Backlog) []string {
	return kit.Each(b.Failing, func(f feed.FailingSubscriber) string {
		return fmt.Sprintf("Subscriber %q has failed %s in a row on event %s. Later events are waiting. See the service log for the error.", f.Name, kit.Count(f.Failures, "time"), f.EventID)
	})
}

// webhookFields returns the form of a webhook. Without types, all events are selected.
func webhookFields(w api.Webhook) *forms.Form {
	return forms.NewForm(
		&forms.Field{Name: "url", Label: "URL", Hint: "The URL that receives events, such as https://shop.example/hooks/licenses.", Type: "url", Value: w.URL, Required: true, MaxLength: 2048},
		&forms.Field{Name: "description", Label: "Description", Hint: "Optional. For your own use.", Type: "text", Value: w.Description, MaxLength: 255},
		typesField(len(w.Types) == 0, w.Types),
	)
}

// productsField returns the field for the products of a new webhook, which
// cannot be changed later.
func productsField() *forms.Field {
	return &forms.Field{
		Name: "products", Label: "Products", Type: "textarea", Rows: 3, List: true,
		Hint: "One product ID per line. Leave blank for all products and for events without a product. This cannot be changed later.",
	}
}

func NewWebhookForm(v *kit.Visit) (*forms.FormPage, error) {
	p := forms.NewFormPage("webhooks", kit.Lists["webhooks"], "New webhook", "The webhook receives events from now on. The signing secret is shown once, on the next page.")
	p.Form, p.Action, p.Once = webhookFields(api.Webhook{Types: usualTypes}), "Create webhook", true
	p.Form.Add(productsField())
	var w api.Webhook
	var secret string
	p.Do = func(tx *kit.Visit) (_ string, err error) {
		address, description, types := readWebhook(p.Form)
		w, secret, err = tx.Webhooks.Create(v.R.Context(), api.CreateWebhookParams{URL: address, Description: description, Types: types, Products: p.Form.Lines("products")})
		return kit.WebhookPath(w.ID), err
	}
	p.Then = func(v *kit.Visit) error { return renderWebhookSecret(v, w, secret, "Webhook created") }
	return p, nil
}

// ReadWebhook returns the values of the form.
func readWebhook(f *forms.Form) (address, description string, types []string) {
	return strings.TrimSpace(f.Field("url").Value), strings.TrimSpace(f.Field("description").Value), selectedTypes(f)
}

// renderWebhookSecret shows a new secret. The secret appears only in this
// response.
func renderWebhookSecret(v *kit.Visit, w api.Webhook, secret, title string) error {
	return v.Render(http.StatusOK, "secret", kit.Page{Title: title, Section: "webhooks", Body: secretPage{
		Name: w.URL, Next: kit.WebhookPath(w.ID),
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
	if last := lastAttempt(d); last != nil {
		row.Last, row.Error = "No response", last.Error
		if last.StatusCode != 0 {
			row.Last = "Status " + strconv.Itoa(last.StatusCode)
		}
		row.Last += " after " + strconv.FormatInt(last.DurationMS, 10) + " ms"
		if n := len(d.Attempts); n > 1 {
			row.Last += ", " + kit.Count(n, "attempt")
		}
	}
	return row
}

// lastAttempt returns the last attempt of a delivery, or nil.
func lastAttempt(d api.Delivery) *api.Attempt {
	if len(d.Attempts) == 0 {
		return nil
	}
	return &d.Attempts[len(d.Attempts)-1]
}

func ShowWebhook(v *kit.Visit, w WebhookRow) error {
	ctx, q := v.R.Context(), v.R.URL.Query()
	p := api.ListDeliveriesParams{WebhookID: w.ID, Status: api.DeliveryStatus(q.Get("status")), Limit: 25, Cursor: q.Get("cursor")}
	result, err1 := v.Webhooks.Deliveries(ctx, p)
	failing, err2 := FailingWebhookOf(v, w)
	stalled, err3 := stalled(v)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	w.Failing = failing
	body := struct {
		WebhookRow
		Stalled    string
		Filter     api.DeliveryStatus
		Deliveries []deliveryRow
		kit.Pager
	}{WebhookRow: w, Stalled: stalled, Filter: p.Status, Deliveries: kit.Each(result.Data, newDeliveryRow)}
	body.Pager = v.Pager(kit.QueryOf(map[string]string{"status": string(p.Status)}), "cursor", result.NextCursor)
	body.Anchor = "#deliveries"
	return v.Render(http.StatusOK, "webhook", kit.Page{Title: "Webhook " + body.Host(), Heading: body.Host(), Section: "webhooks", Body: body})
}
