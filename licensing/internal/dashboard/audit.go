package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// auditPerPage is the number of events on a page of the audit log.
const auditPerPage = 50

// auditReads and auditTime limit the work for one page. Each read scans up to
// 2,000 events for matches; no new read starts after auditTime.
var (
	auditReads = 50
	auditTime  = time.Second
)

// auditLog is the body of the audit log page.
type auditLog struct {
	Types             []choices
	Subject, Customer string
	Filtered          bool
	Rows              []auditRow
	Next              string // the query of the next page, with older events
	Stopped           bool   // the search stopped early: the page is not full, and older events may match
	First             string // the query of the first page, if this is another page
	Problem           string
}

// choices are options with a common heading.
type choices struct {
	Label   string
	Options []option
}

// auditRow is one event of the audit log.
type auditRow struct {
	historyEntry
	Type, RequestID string
	Subject         string // the name of the object
	SubjectLink     string
	SubjectID       string
}

// HasDetails reports whether the row has anything to show in its last column.
func (r auditRow) HasDetails() bool { return r.Reason != "" || r.RequestID != "" || len(r.Details) > 0 }

func showAudit(v *visit) error {
	q := v.r.URL.Query()
	p := license.EventsParams{
		Type: q.Get("type"), Subject: strings.TrimSpace(q.Get("subject")), CustomerID: q.Get("customer"),
		After: q.Get("after"), NewestFirst: true, Limit: auditPerPage,
	}
	filter := url.Values{}
	for name, value := range map[string]string{"type": p.Type, "subject": p.Subject, "customer": p.CustomerID} {
		if value != "" {
			filter.Set(name, value)
		}
	}
	body := auditLog{Types: eventChoices(p.Type), Subject: p.Subject, Customer: p.CustomerID, Filtered: len(filter) > 0}
	if p.After != "" {
		body.First = "?" + filter.Encode()
	}
	status := http.StatusOK
	events, err := v.fillAudit(p)
	if invalid, ok := errors.AsType[*license.InvalidError](err); ok {
		status, body.Problem = http.StatusBadRequest, "This page of the list does not exist. Start again from the newest events."
		if x := invalid.Fields[0]; x.Field != "after" {
			body.Problem = sentence(strings.TrimSuffix(x.Field, "_id") + " " + x.Detail)
		}
	} else if err != nil {
		return err
	}
	if events.HasMore {
		filter.Set("after", events.NextCursor)
		body.Next, body.Stopped = "?"+filter.Encode(), len(events.Data) < auditPerPage
	}
	names := actorNames{v: v}
	for _, e := range events.Data {
		body.Rows = append(body.Rows, names.auditRow(e))
	}
	return v.render(status, "audit", page{Title: "Audit log", Section: "audit", Body: body})
}

// fillAudit reads events until the page is full, the events end, or a limit is
// reached. NextCursor continues where the reads stopped.
func (v *visit) fillAudit(p license.EventsParams) (page license.Page[license.Event], err error) {
	start := time.Now()
	for range auditReads {
		p.Limit = auditPerPage - len(page.Data)
		part, err := v.licenses.Events(v.r.Context(), p)
		if err != nil {
			return license.Page[license.Event]{}, err
		}
		part.Data = append(page.Data, part.Data...)
		page, p.After = part, part.NextCursor
		if !page.HasMore || len(page.Data) == auditPerPage || time.Since(start) > auditTime {
			break
		}
	}
	return page, nil
}

// eventChoices returns the event types for the filter, grouped by object.
func eventChoices(chosen string) (list []choices) {
	for _, k := range eventFamilies {
		c := choices{Label: k.label}
		for _, t := range license.EventTypes() {
			if strings.HasPrefix(t, k.family+".") {
				_, verb := describeType(t)
				c.Options = append(c.Options, option{Value: t, Label: k.name + " " + verb, Chosen: t == chosen})
			}
		}
		if len(c.Options) > 1 {
			family := k.family + ".*"
			c.Options = slices.Insert(c.Options, 0, option{Value: family, Label: "All " + strings.ToLower(k.name) + " events", Chosen: family == chosen})
		}
		list = append(list, c)
	}
	return list
}

// auditRow describes an event of any type.
func (n *actorNames) auditRow(e license.Event) auditRow {
	var data eventData
	_ = json.Unmarshal(e.Data, &data) // unreadable data is left out
	row := auditRow{historyEntry: n.historyEntry(e.Type, e.Actor, e.Timestamp, data), Type: e.Type, RequestID: e.RequestID, SubjectID: e.Subject}
	name, verb := describeType(e.Type)
	row.Text = name + " " + verb
	deleted := strings.HasSuffix(e.Type, ".deleted")
	switch {
	case data.License != nil:
		row.Subject = data.License.Name
		if !deleted {
			row.SubjectLink = licensePath(e.Subject)
		}
	case data.Client != nil:
		row.Subject = data.Client.Name
		if !deleted {
			row.SubjectLink = n.v.credentialLink(data.Client.ID)
		}
	case data.Operator != nil:
		row.Subject = data.Operator.Email
		if n.v.admin() && n.v.h.opts.Operator == nil {
			row.SubjectLink = operatorPath(data.Operator.ID)
		}
	case data.Webhook != nil:
		row.Subject = data.Webhook.URL
		if !deleted {
			row.SubjectLink = webhookPath(data.Webhook.ID)
		}
	case strings.HasPrefix(e.Subject, "opr_"):
		if op, err := n.v.operators.Get(n.v.r.Context(), e.Subject); err == nil {
			row.Subject = op.Email
		} else if !errors.Is(err, auth.ErrNotFound) {
			row.Subject = e.Subject
		}
	}
	if row.Subject == "" {
		row.Subject = e.Subject
	}
	if row.Subject == "" && e.Type == "operator.sign_in_failed" {
		row.Subject = "an unknown account"
	}
	if data.Export != nil {
		row.Details = append(row.Details, data.Export.describe()...)
	}
	if data.Erased {
		row.Details = append(row.Details, "Personal data has been erased.")
	}
	return row
}
