package audit

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
)

// An AuditFilter selects events of the audit log.
type AuditFilter struct {
	Search, Type, Actor, From, To string // as submitted
	Subject, Customer, Plan       string

	since, until time.Time // From and the day after To; zero: no limit
	actors       kit.ActorNames
}

// readAuditFilter returns the filter of a query, or a *api.InvalidError.
func readAuditFilter(v *kit.Visit, q url.Values) (*AuditFilter, error) {
	f := &AuditFilter{
		Search: strings.TrimSpace(q.Get("q")), Type: q.Get("type"), Actor: q.Get("actor"), From: q.Get("from"), To: q.Get("to"),
		Subject: strings.TrimSpace(q.Get("subject")), Customer: q.Get("customer"), Plan: strings.TrimSpace(q.Get("plan")), actors: kit.ActorNames{V: v},
	}
	var err error
	if f.since, err = kit.DayOf("from", f.From); err != nil {
		return f, err
	}
	if f.until, err = kit.DayOf("to", f.To); err != nil || f.until.IsZero() {
		return f, err
	}
	if f.until = f.until.AddDate(0, 0, 1); !f.since.Before(f.until) {
		return f, api.Invalid("to", api.FieldOutOfRange, "must not be before the first day")
	}
	return f, nil
}

// Query returns the parameters of the filter.
func (f *AuditFilter) Query() url.Values {
	return kit.QueryOf(map[string]string{
		"q": f.Search, "type": f.Type, "actor": f.Actor, "from": f.From, "to": f.To, "subject": f.Subject, "customer": f.Customer, "plan": f.Plan,
	})
}

// params returns the parameters of a read for a page that has room for some more
// events.
func (f *AuditFilter) params(after string, room int) api.ListEventsParams {
	if f.partial() {
		room = auditReads
	}
	var types []string
	if f.Type != "" && f.sale() == "" {
		types = []string{f.Type}
	}
	return api.ListEventsParams{Types: types, Subject: f.Subject, CustomerID: f.Customer, After: after, NewestFirst: true, Limit: room}
}

// ended reports whether e and all older events are before the first day.
func (f *AuditFilter) ended(e api.Event) bool {
	return !f.since.IsZero() && e.Timestamp.Before(f.since.Add(-feed.ClockSkew))
}

// partial reports whether the filter has conditions that the feed cannot check.
func (f *AuditFilter) partial() bool {
	return f.Search != "" || f.Actor != "" || f.From != "" || f.To != "" || f.Plan != "" || f.sale() != ""
}

// SalesPrefix begins the types of the filter that stand for what events count as in sales.
const SalesPrefix = "sales."

// sale returns what the filter selects of sales; empty: its type is one of events.
func (f *AuditFilter) sale() sales.Kind {
	kind, _ := strings.CutPrefix(f.Type, SalesPrefix)
	if i := slices.Index(sales.Kinds, sales.Kind(kind)); i >= 0 && kind != f.Type {
		return sales.Kinds[i]
	}
	return ""
}

// matches returns 0 unless an event satisfies the conditions that the feed cannot check:
// how many sales it counts as, if the filter selects those, and otherwise 1.
func (f *AuditFilter) matches(e api.Event) (n int, err error) {
	switch {
	case !f.since.IsZero() && e.Timestamp.Before(f.since), !f.until.IsZero() && !e.Timestamp.Before(f.until):
		return 0, nil
	case !actorMatches(f.Actor, e.Actor), f.Search != "" && !f.found(e):
		return 0, nil
	}
	if f.Plan == "" && f.sale() == "" {
		return 1, nil
	}
	v := f.actors.V
	return inner.Of(v.Licenses).Sales().Matches(v.R.Context(), e, f.sale(), f.Plan)
}

// systemActors is the filter for events without a person or program behind them.
const systemActors = "system"

// actorMatches reports whether an actor is the one of a filter: an actor, a kind
// such as "client:", or systemActors. An empty filter matches all.
func actorMatches(filter, actor string) bool {
	switch {
	case filter == systemActors:
		return actor == "clock" || actor == "delivery"
	case strings.HasSuffix(filter, ":"):
		return strings.HasPrefix(actor, filter)
	}
	return filter == "" || filter == actor
}

// found reports whether the search text is part of a name, an ID or a text of the
// event. Case does not matter.
func (f *AuditFilter) found(e api.Event) bool {
	text := strings.ToLower(f.Search)
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	name, _ := f.actors.Actor(e.Actor)
	for _, s := range []string{e.ID, e.Subject, e.CustomerID, e.ProductID, e.RequestID, e.Actor, name} {
		if in(s) {
			return true
		}
	}
	// Decoding is slow, and the texts occur in the data in their JSON form, of some
	// packages with HTML escaping.
	plain, _ := web.Marshal(text) // strings always encode
	escaped, _ := json.Marshal(text)
	occurs := func(form []byte) bool {
		return strings.Contains(strings.ToLower(string(e.Data)), strings.Trim(string(form), "\"\n"))
	}
	if !occurs(plain) && !occurs(escaped) {
		return false
	}
	var data kit.EventData
	if json.Unmarshal(e.Data, &data) != nil {
		return false
	}
	texts := []string{data.Reason, data.Address, data.Name()}
	if x := data.Activation; x != nil {
		texts = append(texts, x.Name, x.Fingerprint, x.ID)
	}
	for _, s := range append(texts, kit.DescribeChanges(data.Changes, f.actors.V.Zone())...) {
		if in(s) {
			return true
		}
	}
	return false
}

// start returns the cursor of a list, newest first, that begins with the last day of the
// filter, or "" for the newest event.
func (f *AuditFilter) start() (string, error) {
	if f.until.IsZero() {
		return "", nil
	}
	v := f.actors.V
	return inner.Of(v.Licenses).Find().EventsBefore(v.R.Context(), f.until)
}

// placeAt returns the cursor for the events below a Seq, newest first.
func placeAt(seq int64) string { return feed.PlaceAt(seq).String() }

// actorChoices returns the actors for the filter.
func actorChoices(v *kit.Visit, f *AuditFilter) ([]forms.Choices, error) {
	all := forms.Option{Value: "operator:", Label: "All operators"}
	people := forms.Choices{Label: "Operators", Options: []forms.Option{all}}
	if v.Opts.Operator == nil {
		list, err := v.Operators.List(v.R.Context(), operator.ListParams{Limit: 200})
		if err != nil {
			return nil, err
		}
		for _, op := range list.Data {
			people.Options = append(people.Options, forms.Option{Value: "operator:" + op.ID, Label: op.Email})
		}
	} else {
		people.Options = []forms.Option{{Value: v.Actor(), Label: "You"}, all}
	}
	others := forms.Choices{Label: "Others", Options: []forms.Option{
		{Value: "client:", Label: "API clients"}, {Value: "license:", Label: "License key holders"}, {Value: "customer:", Label: "Customers"},
		{Value: "go", Label: v.Opts.Says("The host application", "The service")}, {Value: systemActors, Label: "The system"}, {Value: "anonymous", Label: "Anonymous visitors"},
	}}
	list, known := []forms.Choices{people, others}, f.Actor == ""
	for _, c := range list {
		for i := range c.Options {
			c.Options[i].Chosen = c.Options[i].Value == f.Actor
			known = known || c.Options[i].Chosen
		}
	}
	if !known {
		name, _ := f.actors.Actor(f.Actor)
		list = append(list, forms.Choices{Label: "Selected", Options: []forms.Option{{Value: f.Actor, Label: name, Chosen: true}}})
	}
	return list, nil
}
