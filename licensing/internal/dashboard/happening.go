package dashboard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A happening is one event in words.
type happening struct {
	What    string
	Who     string
	Link    string // to who it was, as a reference from dashboard/
	When    *moment
	Reason  string
	Details []string
}

// told is what the data of any event may tell.
type told struct {
	License *struct {
		Name string `json:"name"`
	} `json:"license"`
	Activation *license.Activation            `json:"activation"`
	Client     *struct{ ID, Name string }     `json:"client"`
	Operator   *struct{ ID, Email string }    `json:"operator"`
	Webhook    *struct{ ID, URL string }      `json:"webhook"`
	Changes    map[string]license.FieldChange `json:"changes"`
	Reason     string                         `json:"reason"`
	Address    string                         `json:"address"`
	Erased     bool                           `json:"erased"`
}

// kinds are what events are about, by the first part of their types.
var kinds = []struct{ family, name, label string }{
	{"license", "License", "Licenses"},
	{"activation", "Seat", "Seats"},
	{"customer", "Customer", "Customers"},
	{"client", "Credential", "API credentials"},
	{"operator", "Operator", "Operators"},
	{"webhook", "Webhook", "Webhooks"},
}

// verbs are what happened, where the second part of a type does not say it.
var verbs = map[string]string{
	"license.rekeyed":         "given a new key",
	"license.expiring":        "about to end",
	"activation.created":      "taken",
	"activation.evicted":      "taken over by another",
	"client.rotated":          "given a new secret",
	"operator.sign_in_failed": "failed to sign in",
	"webhook.test":            "tested",
}

// inWords says what an event of that type is: of what, and what happened.
func inWords(eventType string) (name, verb string) {
	family, verb, _ := strings.Cut(eventType, ".")
	verb = strings.ReplaceAll(verb, "_", " ")
	if words, ok := verbs[eventType]; ok {
		verb = words
	}
	for _, k := range kinds {
		if k.family == family {
			return k.name, verb
		}
	}
	return sentenceCase(family), verb
}

// names says who did things and what they were done to, asking for each one
// once.
type names struct {
	v    *visit
	seen map[string][2]string
}

// actor returns the name of an actor and a reference to their page, if they
// have one.
func (n *names) actor(actor string) (name, link string) {
	if known, ok := n.seen[actor]; ok {
		return known[0], known[1]
	}
	kind, id, _ := strings.Cut(actor, ":")
	switch name = actor; kind {
	case "operator":
		name = id
		if op, err := n.v.operators.Get(n.v.r.Context(), id); err == nil {
			name = op.Email
		} else if id == n.v.op.ID && n.v.op.Email != "" {
			name = n.v.op.Email
		}
	case "client":
		name = id
		if c, err := n.v.auth.GetClient(n.v.r.Context(), id); err == nil {
			name, link = c.Name, credentialPath(id)
		}
	case "license":
		name = "the holder of the key"
	case "go":
		name = "the host application"
	case "anonymous":
		name = "a visitor who was not signed in"
	case "clock":
		name = "the clock"
	case "setup":
		name = "whoever set up the dashboard"
	}
	if n.seen == nil {
		n.seen = map[string][2]string{}
	}
	n.seen[actor] = [2]string{name, link}
	return name, link
}

// happening puts an event in words, for the history of one license.
func (n *names) happening(eventType, actor string, at time.Time, data told) happening {
	name, verb := inWords(eventType)
	h := happening{What: sentenceCase(verb), When: n.v.moment(at), Reason: data.Reason}
	h.Who, h.Link = n.actor(actor)
	if a := data.Activation; a != nil {
		h.What = name + " " + verb
		h.Details = append(h.Details, seatRow{Activation: *a}.Label())
	}
	if data.Address != "" {
		h.Details = append(h.Details, "from "+data.Address)
	}
	for _, field := range slices.Sorted(maps.Keys(data.Changes)) {
		if field == "status" || field == "status_reason" {
			continue // the words above say it
		}
		h.Details = append(h.Details, changed(field, data.Changes[field]))
	}
	return h
}

// changed says what a field was and has become, if that can be said in a line.
func changed(field string, c license.FieldChange) string {
	if c.From == nil && c.To == nil || records(c.From) || records(c.To) {
		return field + " changed"
	}
	if line := fmt.Sprintf("%s: %s → %s", field, shown(c.From), shown(c.To)); len(line) <= 2000 {
		return line
	}
	return field + " changed"
}

// records reports whether x is a list of documents, such as the secrets of a
// client.
func records(x any) bool {
	list, _ := x.([]any)
	return slices.ContainsFunc(list, func(y any) bool { _, ok := y.(map[string]any); return ok })
}

// shown writes a value of an event for people.
func shown(x any) string {
	switch x := x.(type) {
	case nil:
		return "none"
	case string:
		return x
	}
	b, err := json.Marshal(x)
	if err != nil {
		return "…"
	}
	return string(b)
}

// licensePath is the page of a license, as a reference from dashboard/.
func licensePath(id string) string { return "licenses/" + url.PathEscape(id) }
