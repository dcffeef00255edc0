package dashboard

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// licensePage is the body of the page of one license.
type licensePage struct {
	License      license.License
	Moves        []moveLink
	Facts        []fact
	Entitlements []pair
	Metadata     []pair
	Activations  activationPanel
	Verdict      verdictPanel
	History      []historyEntry
	Older        string // the query of the next page of the history
	Commands     []command
}

// A fact is a label with one value. Text, Code, Tags or Moment is set.
type fact struct {
	Label  string
	Text   string
	Code   string // shown with a copy button
	ID     string // the id of the element with Code
	Tags   []string
	Moment *moment
	Link   string // the target of Text, as a reference from dashboard/
	Note   string
}

// A pair is one entitlement or one metadata entry.
type pair struct{ Name, Value string }

// A command is an example command for a shell. The address of the mount, which
// may be unknown, comes between Before and After.
type command struct {
	Title         string
	Before, After string
	Address       string // of the mount; empty if unknown
	Tail          string // the text after the quoted address
}

func (v *visit) command(title, before, after string) command {
	return command{Title: title, Before: before, After: after, Address: strings.TrimSuffix(v.h.opts.PublicURL, "/")}
}

func showLicense(v *visit) error {
	ctx := v.r.Context()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	body := licensePage{License: l, Moves: movesFrom(l.Status), Facts: v.licenseFacts(l), Entitlements: entitlementPairs(l.Entitlements), Commands: v.licenseCommands(l)}
	for _, name := range slices.Sorted(maps.Keys(l.Metadata)) {
		body.Metadata = append(body.Metadata, pair{name, l.Metadata[name]})
	}
	if renewable(l) {
		body.Moves = slices.Insert(body.Moves, 0, moveLink{Name: "renew", Label: "Renew"})
	}
	if body.Activations, err = v.activationPanel(l); err != nil {
		return err
	}
	if body.Verdict, err = v.verdictPanel(l); err != nil {
		return err
	}
	status := http.StatusOK
	if body.Verdict.Form.HasErrors() {
		status = http.StatusUnprocessableEntity
	}
	before, _ := strconv.ParseInt(v.r.URL.Query().Get("before"), 10, 64)
	const shown = 10
	events, err := v.licenses.History(ctx, license.HistoryParams{ID: l.ID, Before: max(before, 0), Limit: shown + 1})
	if err != nil {
		return err
	}
	if len(events) > shown {
		events = events[:shown]
		body.Older = v.keepList("?"+url.Values{"before": {strconv.FormatInt(events[shown-1].Seq, 10)}}.Encode()) + "#history"
	}
	names := actorNames{v: v}
	for _, e := range events {
		body.History = append(body.History, names.historyEntry(e.Type, e.Actor, e.Time, eventData{Activation: e.Data.Activation, Changes: e.Data.Changes, Reason: e.Data.Reason}))
	}
	return v.render(status, "license", page{Title: l.Name, Section: "licenses", Body: body})
}

func (v *visit) licenseFacts(l license.License) []fact {
	list := func(name, value string) string { return "licenses?" + url.Values{name: {value}}.Encode() }
	optional := func(n *int64, none string, text func(int64) string) string {
		if n == nil {
			return none
		}
		return text(*n)
	}
	when := func(label string, t *time.Time, none string) fact {
		if t == nil {
			return fact{Label: label, Text: none}
		}
		return fact{Label: label, Moment: v.moment(*t)}
	}
	facts := []fact{
		{Label: "Key", Code: l.Key, ID: "key"},
		{Label: "License ID", Code: l.ID, ID: "id"},
		{Label: "Product", Text: l.ProductID, Link: list("product", l.ProductID)},
		{Label: "Customer", Text: l.CustomerID, Link: list("customer", l.CustomerID)},
		when("Starts", l.StartsAt, "Immediately"),
		when("Expires", l.ExpiresAt, "Never"),
		{Label: "Grace period", Text: sentenceCase(describeSeconds(l.GraceSeconds))},
		{Label: "Maximum activations", Text: optional(l.MaxActivations, "Unlimited", thousands)},
		{Label: "Activation lease", Text: optional(l.LeaseSeconds, "None: activations last until they are released", func(n int64) string { return describeSeconds(n) + " after the last validation" })},
	}
	if l.StatusReason != "" {
		facts = append([]fact{{Label: "Reason", Text: l.StatusReason}}, facts...)
	}
	return append(facts,
		fact{Label: "Created", Moment: v.moment(l.CreatedAt)},
		fact{Label: "Last changed", Moment: v.moment(l.UpdatedAt), Note: "revision " + strconv.FormatInt(l.Revision, 10)},
	)
}

func (v *visit) licenseCommands(l license.License) []command {
	id := url.PathEscape(l.ID)
	return []command{
		v.command("Get this license", `curl -H "Authorization: Bearer $TOKEN" `, "/license/"+id),
		v.command("Update this license", `curl -X PATCH -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '{"name":"New name"}' `, "/license/"+id),
		v.command("List the licenses of this customer", `curl -H "Authorization: Bearer $TOKEN" `, "/license?"+strings.ReplaceAll(url.Values{"customer_id": {l.CustomerID}}.Encode(), "'", "%27")),
	}
}

// entitlementPairs lists entitlements by name.
func entitlementPairs(m map[string]any) (list []pair) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := "included"
		switch x := m[name].(type) {
		case bool:
		case string:
			value = x
		default:
			value = formatValue(x)
		}
		list = append(list, pair{name, value})
	}
	return list
}
