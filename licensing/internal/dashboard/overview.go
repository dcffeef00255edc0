package dashboard

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// overview is the body of the page one starts from.
type overview struct {
	Total    string
	Statuses []statusCount
	Charts   []chart
	Concerns []concern
	Ending   []licenseRow // the next to end
	Steps    []step       // of setting up; empty once there are licenses
}

// statusCount is how many licenses have a status.
type statusCount struct {
	Status license.Status
	N      string
	None   bool
}

// A concern is something that may need somebody.
type concern struct {
	Count string // what there is of it, leads to Link
	Text  string
	Link  string // a reference from dashboard/
	Bad   bool
}

// A step of setting up.
type step struct {
	Done         bool
	Title, Text  string
	Link, Action string // where it is done, a reference from dashboard/; empty: not here
}

func showOverview(v *visit) error {
	ctx := v.r.Context()
	o, err := v.licenses.Overview(ctx)
	if err != nil {
		return err
	}
	body := overview{Total: thousands(o.Total)}
	if o.Total == 0 {
		if body.Steps, err = v.steps(); err != nil {
			return err
		}
		return v.render(http.StatusOK, "overview", page{Title: "Overview", Section: "overview", Body: body})
	}
	for _, s := range []license.Status{license.StatusActive, license.StatusScheduled, license.StatusExpired, license.StatusSuspended, license.StatusRevoked} {
		body.Statuses = append(body.Statuses, statusCount{s, thousands(o.ByStatus[s]), o.ByStatus[s] == 0})
	}
	body.Charts = []chart{
		newChart("issued", "Issued in the last 90 days", "Day", "on a day", o.Issued),
		newChart("ending", "Ending in the next 26 weeks", "Week from", "in a week", o.Ending),
	}
	soon, err := v.licenses.List(ctx, license.ListParams{Status: license.StatusActive, ExpiresAfter: o.At, ExpiresBefore: o.At.Add(license.ExpiringSoon), Limit: 5})
	if err != nil {
		return err
	}
	for _, l := range soon.Data {
		body.Ending = append(body.Ending, licenseRow{License: l, Expires: v.momentOf(l.ExpiresAt)})
	}
	if body.Concerns, err = v.concerns(o); err != nil {
		return err
	}
	return v.render(http.StatusOK, "overview", page{Title: "Overview", Section: "overview", Body: body})
}

// concerns is what may need somebody now.
func (v *visit) concerns(o license.Overview) (list []concern, err error) {
	if n := o.Expiring; n > 0 {
		list = append(list, concern{count(int(n), "license"), endVerb(n) + " in the next 30 days", "licenses?status=active&expires=30d", false})
	}
	if n := o.ByStatus[license.StatusSuspended]; n > 0 {
		list = append(list, concern{count(int(n), "license"), isVerb(n) + " suspended", "licenses?status=suspended", false})
	}
	backlog, err := v.licenses.Backlog(v.r.Context())
	if err != nil {
		return nil, err
	}
	for _, text := range failing(backlog) {
		list = append(list, concern{Text: text, Bad: true})
	}
	hooks, err := v.licenses.Webhooks(v.r.Context())
	if err != nil || len(hooks) == 0 {
		return list, err
	}
	failing := int64(0)
	for _, w := range hooks {
		if w.FailingSince != nil || w.Status == license.WebhookDisabled {
			failing++
		}
	}
	if failing > 0 {
		list = append(list, concern{count(int(failing), "webhook"), isVerb(failing) + " failing or disabled", "settings/webhooks", true})
	}
	if text := stuck(backlog); text != "" {
		list = append(list, concern{Text: text, Bad: true})
	}
	if !backlog.Sealed {
		list = append(list, concern{Text: unsealed})
	}
	return list, nil
}

func endVerb(n int64) string {
	if n == 1 {
		return "ends"
	}
	return "end"
}

func isVerb(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// steps is what there is to do before the service is of use.
func (v *visit) steps() ([]step, error) {
	ctx := v.r.Context()
	clients, err := v.auth.ListClients(ctx, auth.ListClientsParams{Limit: 1})
	if err != nil {
		return nil, err
	}
	list := []step{
		{
			Title: "Create the first license", Text: "It ties a product to a customer, and has a key that the licensed program checks.",
			Link: "licenses/new", Action: "New license",
		},
		{
			Done: len(clients) > 0, Title: "Issue an API credential", Text: "Your shop or build server creates licenses over the API with it.",
			Link: "settings/credentials/new", Action: "New credential",
		},
	}
	if v.h.opts.Operator == nil {
		people, err := v.operators.List(ctx, operator.ListParams{Limit: 2})
		if err != nil {
			return nil, err
		}
		list = append(list, step{
			Done: len(people) > 1, Title: "Invite a second operator", Text: "So that somebody can let you in again when a password is lost.",
			Link: "settings/operators/new", Action: "Invite",
		})
	}
	return append(list, step{
		Done: v.h.opts.PublicURL != "", Title: "Say where the service is reached",
		Text: "Set Options.PublicURL in the program that mounts it: programs find the OAuth endpoints by it, and command lines show it.",
	}), nil
}
