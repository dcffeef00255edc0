package dashboard

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// licensePage is the body of the first page of a license.
type licensePage struct {
	licenseHead
	Validity     *validityBar // nil without an expiry
	Seats        seatMeter
	SeatsText    string
	Facts        []fact
	Entitlements []pair
	Metadata     []pair
	Purchases    []purchaseRow
	Verdict      verdictPanel
	Refusals     refusalPanel
	History      []historyEntry
	Older        bool // the license has older events
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
	l, err := v.licenses.Get(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	body := licensePage{Validity: v.validityBar(l), Entitlements: entitlementPairs(l.Entitlements)}
	if body.licenseHead, err = v.licenseHead(l, ""); err != nil {
		return err
	}
	files, err := inner.Of(v.licenses).FilesUntil(v.r.Context(), l.ID)
	if err != nil {
		return err
	}
	body.Facts = v.licenseFacts(l, files)
	if l.PlanID != "" {
		plan, err := v.planFact(l)
		if err != nil {
			return err
		}
		body.Facts = slices.Insert(body.Facts, slices.IndexFunc(body.Facts, func(f fact) bool { return f.Label == "Starts" }), plan)
	}
	if body.Purchases, err = v.purchasesOf(l.ID); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.Metadata)) {
		body.Metadata = append(body.Metadata, pair{name, l.Metadata[name]})
	}
	if body.Seats, body.SeatsText, err = v.seatSummary(l); err != nil {
		return err
	}
	if body.Verdict, err = v.verdictPanel(l); err != nil {
		return err
	}
	if body.Refusals, err = v.refusalPanel(l, body.Seats, body.SeatsText); err != nil {
		return err
	}
	status := http.StatusOK
	if body.Verdict.Form.HasErrors() {
		status = http.StatusUnprocessableEntity
	}
	events, next, err := v.licenseEvents(l.ID, "", 5)
	if err != nil {
		return err
	}
	body.History, body.Older = events, next != ""
	return v.render(status, "license", page{Title: l.Name, Section: "licenses", Body: body})
}

// licenseEvents returns a page of the history of a license after a cursor, and
// the cursor of the next page, or "" if there is none.
func (v *visit) licenseEvents(id, after string, limit int) (list []historyEntry, next string, err error) {
	events, err := v.licenses.Events(v.r.Context(), license.EventsParams{Subject: id, NewestFirst: true, After: after, Limit: limit})
	if err != nil {
		return nil, "", err
	}
	names := actorNames{v: v}
	for _, e := range events.Data {
		list = append(list, names.historyEntry(e.Type, e.Actor, e.Timestamp, readEventData(e)))
	}
	return list, events.NextCursor, nil
}

// showActivity shows the history of a license.
func showActivity(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	after := v.r.URL.Query().Get("after")
	var body struct {
		licenseHead
		History []historyEntry
		pager
	}
	if body.licenseHead, err = v.licenseHead(l, "/activity"); err != nil {
		return err
	}
	events, next, err := v.licenseEvents(l.ID, after, 20)
	if err != nil {
		return err
	}
	body.History = events
	filter, _ := url.ParseQuery(strings.TrimPrefix(v.keepList(""), "?"))
	body.pager = newPager(filter, "after", after, next)
	return v.render(http.StatusOK, "activity", page{Title: "Activity of " + l.Name, Section: "licenses", Body: body})
}

// showLicenseAPI shows commands for a license.
func showLicenseAPI(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	head, err := v.licenseHead(l, "/api")
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "licenseapi", page{Title: "API for " + l.Name, Section: "licenses", Body: struct {
		licenseHead
		Commands []command
	}{head, v.licenseCommands(l)}})
}

// licenseFacts describes a license, whose license files may run until an
// instant.
func (v *visit) licenseFacts(l license.License, files time.Time) []fact {
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
		{Label: "License ID", Code: l.ID, ID: "id"},
		when("Starts", l.StartsAt, "Immediately"),
		when("Expires", l.ExpiresAt, "Never"),
		when("Updates until", l.UpdatesUntil, "No end"),
		{Label: "Grace period", Text: sentenceCase(describeSeconds(l.GraceSeconds))},
		{Label: "Maximum activations", Text: optional(l.MaxActivations, "Unlimited", thousands)},
		{Label: "Activation lease", Text: optional(l.LeaseSeconds, "None: activations last until they are released", func(n int64) string { return describeSeconds(n) + " after the last validation" })},
	}
	if files.IsZero() {
		facts = append(facts, fact{Label: "License files", Text: "None"})
	} else {
		facts = append(facts, fact{Label: "License files may run until", Moment: v.moment(files)})
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
