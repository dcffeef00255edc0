package dashboard

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// overview is the body of the overview page.
type overview struct {
	Total     string
	Statuses  []statusCount
	Charts    []chart
	Attention []attentionItem
	Expiring  []licenseRow // licenses that expire next
	Steps     []step       // setup steps; empty if there are licenses
	Indexing  string       // the note that the counts lag behind, if they do
}

// statusOrder is the order in which pages show the statuses.
var statusOrder = []license.Status{license.StatusActive, license.StatusScheduled, license.StatusExpired, license.StatusSuspended, license.StatusRevoked}

// statusCount is the number of licenses with a status.
type statusCount struct {
	Status license.Status
	N      string
	None   bool
}

// An attentionItem is a problem or a note for the operator.
type attentionItem struct {
	Count   string // the number of affected objects, the text of the link
	Text    string
	Link    string // a reference from dashboard/
	Problem bool
}

// A step is one item of the setup checklist.
type step struct {
	Done         bool
	Title, Text  string
	Link, Action string // the page for the step, as a reference from dashboard/; empty if there is none
}

func showOverview(v *visit) error {
	ctx := v.r.Context()
	o, err := v.licenses.Overview(ctx)
	if err != nil {
		return err
	}
	body := overview{Total: thousands(o.Total), Indexing: indexingNote(o.Indexing)}
	if o.Total == 0 && o.Indexing == nil {
		if body.Steps, err = v.steps(); err != nil {
			return err
		}
		return v.render(http.StatusOK, "overview", page{Title: "Overview", Section: "overview", Body: body})
	}
	for _, s := range statusOrder {
		body.Statuses = append(body.Statuses, statusCount{s, thousands(o.ByStatus[s]), o.ByStatus[s] == 0})
	}
	body.Charts = []chart{
		newChart("issued", "Issued in the last 90 days", "Day", "a day", o.Issued[len(o.Issued)-90:]),
		newChart("expiring", "Expiring in the next 26 weeks", "Week of", "a week", o.Ending[:26]),
	}
	soon, err := v.licenses.List(ctx, license.ListParams{Status: license.StatusActive, ExpiresAfter: o.At, ExpiresBefore: o.At.Add(license.ExpiringSoon), Limit: 5})
	if err != nil {
		return err
	}
	for _, l := range soon.Data {
		body.Expiring = append(body.Expiring, licenseRow{License: l, Expires: v.momentOf(l.ExpiresAt)})
	}
	if body.Attention, err = v.attention(o); err != nil {
		return err
	}
	return v.render(http.StatusOK, "overview", page{Title: "Overview", Section: "overview", Body: body})
}

// attention returns the items that need attention.
func (v *visit) attention(o license.Overview) (list []attentionItem, err error) {
	if n := o.Expiring; n > 0 {
		list = append(list, attentionItem{count(int(n), "license"), expireVerb(n) + " in the next 30 days", "licenses?status=active&expires=30d", false})
	}
	if n := o.ByStatus[license.StatusSuspended]; n > 0 {
		list = append(list, attentionItem{count(int(n), "license"), isVerb(n) + " suspended", "licenses?status=suspended", false})
	}
	backlog, err := v.h.opts.Backlog(v.r.Context())
	if err != nil {
		return nil, err
	}
	for _, text := range failingNotices(backlog) {
		list = append(list, attentionItem{Text: text, Problem: true})
	}
	hooks, err := v.webhooks.List(v.r.Context())
	if err != nil || len(hooks) == 0 {
		return list, err
	}
	failing := int64(0)
	for _, w := range hooks {
		if w.FailingSince != nil || w.Status == webhook.StatusDisabled {
			failing++
		}
	}
	if failing > 0 {
		list = append(list, attentionItem{count(int(failing), "webhook"), isVerb(failing) + " failing or disabled", "settings/webhooks", true})
	}
	if text := stalledNotice(backlog); text != "" {
		list = append(list, attentionItem{Text: text, Problem: true})
	}
	if !v.h.opts.Sealed {
		list = append(list, attentionItem{Text: unencryptedNotice})
	}
	return list, nil
}

func expireVerb(n int64) string {
	if n == 1 {
		return "expires"
	}
	return "expire"
}

func isVerb(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// steps returns the setup checklist.
func (v *visit) steps() ([]step, error) {
	ctx := v.r.Context()
	clients, err := v.auth.ListClients(ctx, auth.ListClientsParams{Limit: 1})
	if err != nil {
		return nil, err
	}
	list := []step{
		{
			Title: "Create the first license", Text: "A license allows a customer to use a product, and has a key that the licensed program validates.",
			Link: "licenses/new", Action: "New license",
		},
		{
			Done: len(clients) > 0, Title: "Create an API credential", Text: "Your shop or build server uses it to create licenses over the API.",
			Link: "settings/credentials/new", Action: "New credential",
		},
	}
	if v.h.opts.Operator == nil {
		people, err := v.operators.List(ctx, operator.ListParams{Limit: 2})
		if err != nil {
			return nil, err
		}
		list = append(list, step{
			Done: len(people) > 1, Title: "Invite a second operator", Text: "Another admin can reset your password if you lose it.",
			Link: "settings/operators/new", Action: "Invite operator",
		})
	}
	return append(list, step{
		Done: v.h.opts.PublicURL != "", Title: "Set the public URL",
		Text: "Set Options.PublicURL in the host application. Clients use it to find the OAuth endpoints, and the example commands show it.",
	}), nil
}
