package kit

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A HistoryEntry describes one event.
type HistoryEntry struct {
	Text        string // what happened
	Subject     string // the name of the object; empty: the page is about it
	SubjectLink string
	Actor       string
	ActorLink   string // the page of the actor, as a reference from dashboard/
	Purchase    string // the reference of the purchase that caused it, or ""
	Time        *Moment
	Reason      string
	Details     []string
}

// EventData has the fields of event data that pages show.
type EventData struct {
	License    *eventObject               `json:"license"`
	Activation *api.Activation            `json:"activation"`
	Client     *eventObject               `json:"client"`
	Operator   *eventObject               `json:"operator"`
	Webhook    *eventObject               `json:"webhook"`
	Plan       *eventObject               `json:"plan"`
	Changes    map[string]api.FieldChange `json:"changes"`
	Reason     string                     `json:"reason"`
	Reference  string                     `json:"reference"` // of a purchase
	Address    string                     `json:"address"`
	Erased     bool                       `json:"erased"`
	Export     *exportData                `json:"export"`
	Usage      *api.UsageCount            `json:"usage"`
}

// An eventObject has what names the object of an event.
type eventObject struct{ ID, Name, Email, URL string }

// Name returns the name of the object of the event, or "".
func (d EventData) Name() string {
	for _, o := range []*eventObject{d.License, d.Client, d.Plan, d.Operator, d.Webhook} {
		if o != nil {
			return cmp.Or(o.Name, o.Email, o.URL)
		}
	}
	return ""
}

// ReadEventData decodes the data of an event and leaves out what is unreadable.
func ReadEventData(e api.Event) (data EventData) {
	_ = json.Unmarshal(e.Data, &data)
	return data
}

// EventFamilies are the kinds of objects that events are about. The family is
// the first part of an event type.
var EventFamilies = []struct{ Family, Name, Label string }{
	{"license", "License", "Licenses"},
	{"license_file", "License file", "License files"},
	{"activation", "Activation", "Activations"},
	{"plan", "Plan", "Plans"},
	{"trial", "Trial", "Trials"},
	{"usage", "Usage", "Usage"},
	{"customer", "Customer", "Customers"},
	{"license_export", "License export", "Exports"},
	{"client", "API client", "API clients"},
	{"operator", "Operator", "Operators"},
	{"webhook", "Webhook", "Webhooks"},
	{"signing_key", "Signing key", "Signing keys"},
}

// eventVerbs describe the event types whose second part is not descriptive.
var eventVerbs = map[string]string{
	api.EventLicenseRekeyed:       "key replaced",
	api.EventLicenseTransferred:   "given to another customer",
	api.EventActivationLimit:      "refused: no seat is free",
	api.EventLicenseClaimed:       "claimed with its key",
	api.EventTrialAllowed:         "allowed again",
	api.EventLicenseExpiring:      "expiring soon",
	api.EventLicenseLapsed:        "expired",
	api.EventCustomerLinkMailed:   "got a link by mail",
	api.EventUsageThreshold:       "near the limit",
	api.EventClientRotated:        "secret rotated",
	api.EventOperatorSignInFailed: "failed to sign in",
	api.EventWebhookTest:          "tested",
}

// DescribeType returns the kind of object and the verb of an event type.
func DescribeType(eventType string) (name, verb string) {
	family, verb, _ := strings.Cut(eventType, ".")
	verb = cmp.Or(eventVerbs[eventType], strings.ReplaceAll(verb, "_", " "))
	for _, k := range EventFamilies {
		if k.Family == family {
			return k.Name, verb
		}
	}
	return SentenceCase(family), verb
}

// actorWords are the kinds of actors that have no name, in words.
var actorWords = map[string]string{
	"license": "the license key holder", "anonymous": "an anonymous visitor",
	"clock": "the system", "delivery": "the system", "setup": "the dashboard setup",
}

// ActorNames looks up the names of actors and caches them, and has the names of licenses.
type ActorNames struct {
	V        *Visit
	seen     map[string][2]string
	Licenses map[string]string // names of licenses by ID
}

// NameLicenses looks up the names of the licenses of events about usage, which do not have
// them.
func (n *ActorNames) NameLicenses(events []api.Event) error {
	var ids []string
	for _, e := range events {
		if strings.HasPrefix(e.Type, "usage.") && !slices.Contains(ids, e.Subject) {
			ids = append(ids, e.Subject)
		}
	}
	n.Licenses = map[string]string{}
	if len(ids) == 0 {
		return nil
	}
	list, err := n.V.Licenses.List(n.V.R.Context(), api.ListLicensesParams{IDs: ids, Limit: len(ids)})
	for _, l := range list.Data {
		n.Licenses[l.ID] = l.Name
	}
	return err
}

// Actor returns the name of an actor and, if the actor has a page, a reference
// to it.
func (n *ActorNames) Actor(actor string) (name, link string) {
	if known, ok := n.seen[actor]; ok {
		return known[0], known[1]
	}
	kind, id, _ := strings.Cut(actor, ":")
	switch kind {
	case "operator":
		name = id
		if op, err := n.V.Operators.Get(n.V.R.Context(), id); err == nil {
			name = op.Email
		} else if id == n.V.Op.ID && n.V.Op.Email != "" {
			name = n.V.Op.Email
		}
	case "client":
		name = id
		if c, err := n.V.Auth.GetClient(n.V.R.Context(), id); err == nil {
			name, link = c.Name, n.V.CredentialLink(id)
		}
	case "customer":
		name = strings.TrimSpace("the customer " + id)
	case "go":
		name = n.V.Opts.Says("the host application", "the service")
	default:
		name = cmp.Or(actorWords[kind], actor)
	}
	if n.seen == nil {
		n.seen = map[string][2]string{}
	}
	n.seen[actor] = [2]string{name, link}
	return name, link
}

// HistoryEntry describes an event for the history of one license.
func (n *ActorNames) HistoryEntry(eventType, actor string, at time.Time, data EventData) HistoryEntry {
	name, verb := DescribeType(eventType)
	h := HistoryEntry{Text: SentenceCase(verb), Time: n.V.Moment(at), Reason: data.Reason, Purchase: data.Reference}
	h.Actor, h.ActorLink = n.Actor(actor)
	if data.Activation != nil || strings.HasPrefix(eventType, "license_file.") {
		h.Text = name + " " + verb
	}
	if u := data.Usage; u != nil {
		h.Text = name + " " + verb
		h.Details = append(h.Details, usageLine(*u))
	}
	if a := data.Activation; a != nil {
		h.Details = append(h.Details, cmp.Or(a.Name, a.Fingerprint))
	}
	if data.Address != "" {
		h.Details = append(h.Details, "from "+data.Address)
	}
	h.Details = append(h.Details, DescribeChanges(data.Changes, n.V.Zone())...)
	return h
}

// usageLine describes what an event says about a meter.
func usageLine(u api.UsageCount) string {
	line := u.Meter + ": " + UsedText(u.Used, u.Limit)
	if u.From != nil {
		line += " since " + u.From.Format("2 Jan 2006")
	}
	return line
}

// LicensePath returns the page of a license, as a reference from dashboard/.
func LicensePath(id string) string { return "licenses/" + url.PathEscape(id) }
