package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// webhookPath is the page of a webhook, as a reference from dashboard/.
func webhookPath(id string) string { return "settings/webhooks/" + url.PathEscape(id) }

// webhookRow is a webhook as pages show it.
type webhookRow struct {
	license.Webhook
	Created, Failing *moment
}

// State is the status of a webhook in a word; an active one may be failing.
func (r webhookRow) State() string {
	if r.Status == license.WebhookActive && r.FailingSince != nil {
		return "failing"
	}
	return string(r.Status)
}

// Pill is the class of that word.
func (r webhookRow) Pill() string {
	return map[string]string{"active": "active", "failing": "ending", "disabled": "revoked"}[r.State()]
}

// Host is where it leads, for a short name.
func (r webhookRow) Host() string {
	if u, err := url.Parse(r.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return r.URL
}

func (v *visit) webhookRow(w license.Webhook) webhookRow {
	return webhookRow{w, v.moment(w.CreatedAt), v.momentOf(w.FailingSince)}
}

func showWebhooks(v *visit) error {
	ctx := v.r.Context()
	hooks, err := v.licenses.Webhooks(ctx)
	if err != nil {
		return err
	}
	var body struct {
		Rows  []webhookRow
		Stuck string
		Clear string
	}
	for _, w := range hooks {
		body.Rows = append(body.Rows, v.webhookRow(w))
	}
	if len(hooks) > 0 {
		backlog, err := v.licenses.Backlog(ctx)
		if err != nil {
			return err
		}
		body.Stuck = stuck(backlog)
		if !backlog.Sealed {
			body.Clear = unsealed
		}
	}
	return v.render(http.StatusOK, "webhooks", page{Title: "Webhooks", Section: "webhooks", Body: body})
}

// stuck says that deliveries wait and nothing runs them, if it is so.
func stuck(b license.Backlog) string {
	if b.Running || !b.Waiting {
		return ""
	}
	return "Deliveries wait and nothing runs them: the program that mounts this service has to call Handler.Run."
}

// failing says which subscribers keep failing, one sentence for each.
func failing(b license.Backlog) (list []string) {
	for _, f := range b.Failing {
		list = append(list, fmt.Sprintf("The subscriber %q has failed %s in a row on event %s, and the events after it wait. The log has the error.", f.Name, count(f.Failures, "time"), f.EventID))
	}
	return list
}

// unsealed says that secrets of webhooks are kept as they are.
const unsealed = "Secrets of webhooks are kept in clear: set Options.MasterKey to have them sealed."

func webhookForm(w license.Webhook) *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "url", Label: "Address", Hint: "Where events are sent by POST, such as https://shop.example/hooks/licenses.", Type: "url", Value: w.URL, Required: true, MaxLength: 2048},
		{Name: "description", Label: "Description", Hint: "For you. May be empty.", Type: "text", Value: w.Description, MaxLength: 255},
		{
			Name: "types", Label: "Only these events", Type: "textarea", Rows: 4, List: true, Value: strings.Join(w.Types, "\n"),
			Hint: "One in a line: a type such as license.created, or a family such as license.*, activation.* or customer.*. Empty: all events.",
		},
	}}}}
}

// productsField belongs to new webhooks alone: it cannot be changed later.
func productsField() *field {
	return &field{
		Name: "products", Label: "Only these products", Type: "textarea", Rows: 3, List: true,
		Hint: "One product id in a line. Empty: all products, and events that belong to none. It cannot be changed later.",
	}
}

func newWebhookForm() *form {
	f := webhookForm(license.Webhook{})
	f.Groups[0].Fields = append(f.Groups[0].Fields, productsField())
	return f
}

// lines returns the lines of a text area that say something.
func (f *form) lines(name string) (list []string) {
	for line := range strings.SplitSeq(f.Field(name).Value, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

func showNewWebhook(v *visit) error {
	f := newWebhookForm()
	f.Once = forms.NewMark()
	return v.renderNewWebhook(http.StatusOK, f)
}

func (v *visit) renderNewWebhook(status int, f *form) error {
	return v.render(status, "confirm", page{Title: "New webhook", Section: "webhooks", Body: confirmation{
		Heading: "New webhook", Form: f, Action: "Create webhook", Back: "settings/webhooks", Subject: "Webhooks",
		Text: []string{"It gets the events from now on. Deliveries are signed with a secret that is shown once, on the next page."},
	}})
}

func createWebhook(v *visit) error {
	f := newWebhookForm()
	f.fill(v)
	var w license.Webhook
	var secret string
	id, repeated, err := v.once(v.r.Context(), f.Once, func() (_ string, err error) {
		w, secret, err = v.licenses.CreateWebhook(v.r.Context(), license.CreateWebhookParams{
			URL: strings.TrimSpace(f.Field("url").Value), Description: strings.TrimSpace(f.Field("description").Value),
			Types: f.lines("types"), Products: f.lines("products"),
		})
		return w.ID, err
	})
	switch {
	case f.take(err):
		return v.renderNewWebhook(http.StatusUnprocessableEntity, f)
	case err != nil && secret == "":
		return err
	case repeated:
		return v.renderSecretGone(id)
	}
	return v.renderWebhookSecret(w, secret, "Webhook created")
}

// renderWebhookSecret shows a new secret. This answer is the only place it is
// ever in.
func (v *visit) renderWebhookSecret(w license.Webhook, secret, title string) error {
	return v.render(http.StatusOK, "webhooksecret", page{Title: title, Section: "webhooks", Body: struct {
		webhookRow
		Secret string
	}{v.webhookRow(w), secret}})
}

// renderSecretGone answers a form that was sent before.
func (v *visit) renderSecretGone(id string) error {
	back := "settings/webhooks"
	if id != "" {
		back = webhookPath(id)
	}
	return v.render(http.StatusConflict, "repeatedwebhook", page{Title: "Already done", Section: "webhooks", Body: back})
}

// webhookBody is the body of the page of one webhook.
type webhookBody struct {
	webhookRow
	Facts      []fact
	Stuck      string
	Secrets    []fact
	Statuses   []option
	Filtered   bool
	Deliveries []deliveryRow
	Next       string // the query of the next page of deliveries
	First      string // the query of the first page, when this is another
}

// deliveryRow is a delivery as pages show it.
type deliveryRow struct {
	license.Delivery
	Created, NextAttempt *moment
	Last                 string // how the last attempt went
	Error                string
}

// Pill is the class of the status.
func (r deliveryRow) Pill() string {
	return map[license.DeliveryStatus]string{license.DeliverySucceeded: "active", license.DeliveryFailed: "revoked", license.DeliveryPending: "scheduled"}[r.Status]
}

func (v *visit) deliveryRow(d license.Delivery) deliveryRow {
	row := deliveryRow{Delivery: d, Created: v.moment(d.CreatedAt), NextAttempt: v.momentOf(d.NextAttemptAt), Last: "Not tried yet"}
	if n := len(d.Attempts); n > 0 {
		last := d.Attempts[n-1]
		row.Last, row.Error = "No answer", last.Error
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

func showWebhook(v *visit) error {
	ctx, q := v.r.Context(), v.r.URL.Query()
	w, err := v.licenses.Webhook(ctx, v.params["id"])
	if err != nil {
		return err
	}
	p := license.DeliveriesParams{WebhookID: w.ID, Status: license.DeliveryStatus(q.Get("status")), Limit: 25, Cursor: q.Get("cursor")}
	result, err := v.licenses.Deliveries(ctx, p)
	if errors.Is(err, license.ErrInvalid) {
		return &web.Problem{Status: http.StatusBadRequest, Code: "invalid_list", Detail: "There is no such list of deliveries. Start again from the page of the webhook."}
	}
	if err != nil {
		return err
	}
	backlog, err := v.licenses.Backlog(ctx)
	if err != nil {
		return err
	}
	body := webhookBody{webhookRow: v.webhookRow(w), Facts: v.webhookFacts(w), Stuck: stuck(backlog), Filtered: p.Status != ""}
	for _, secret := range w.Secrets {
		x := fact{Label: "In use", Moment: v.moment(secret.CreatedAt)}
		if secret.ExpiresAt != nil {
			x.Label = "Ends " + v.momentOf(secret.ExpiresAt).Relative
		}
		body.Secrets = append(body.Secrets, x)
	}
	for _, s := range []license.DeliveryStatus{license.DeliveryPending, license.DeliverySucceeded, license.DeliveryFailed} {
		body.Statuses = append(body.Statuses, option{Value: string(s), Label: sentenceCase(string(s)), Chosen: s == p.Status})
	}
	filter := url.Values{}
	if p.Status != "" {
		filter.Set("status", string(p.Status))
	}
	if p.Cursor != "" {
		body.First = "?" + filter.Encode() + "#deliveries"
	}
	if result.NextCursor != "" {
		filter.Set("cursor", result.NextCursor)
		body.Next = "?" + filter.Encode() + "#deliveries"
	}
	for _, d := range result.Data {
		body.Deliveries = append(body.Deliveries, v.deliveryRow(d))
	}
	return v.render(http.StatusOK, "webhook", page{Title: "Webhook " + body.Host(), Section: "webhooks", Body: body})
}

func (v *visit) webhookFacts(w license.Webhook) []fact {
	tags := func(label string, list []string, none string) fact {
		if len(list) == 0 {
			return fact{Label: label, Text: none}
		}
		return fact{Label: label, Tags: list}
	}
	facts := []fact{
		{Label: "Address", Code: w.URL, ID: "url"},
		{Label: "Webhook id", Code: w.ID, ID: "id"},
		tags("Events", w.Types, "All"),
		tags("Products", w.Products, "All"),
	}
	if w.Description != "" {
		facts = slices.Insert(facts, 0, fact{Label: "Description", Text: w.Description})
	}
	if w.StatusReason != "" {
		facts = slices.Insert(facts, 0, fact{Label: "Reason", Text: sentence(w.StatusReason)})
	}
	if w.FailingSince != nil {
		facts = append(facts, fact{Label: "Failing since", Moment: v.momentOf(w.FailingSince)})
	}
	return append(facts, fact{Label: "Created", Moment: v.moment(w.CreatedAt)}, fact{Label: "Last changed", Moment: v.moment(w.UpdatedAt)})
}
