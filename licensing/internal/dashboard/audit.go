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

// auditPage is how many events a page of the audit log has.
const auditPage = 50

// How much of the feed one page is filled from. Each read looks through up to
// 2,000 events for those that a filter selects; a new read starts only while
// auditTime is not over.
var (
	auditReads = 50
	auditTime  = time.Second
)

// auditLog is the body of the page of all events.
type auditLog struct {
	Types             []choices
	Subject, Customer string
	Filtered          bool
	Rows              []auditRow
	Next              string // the query of the older part
	Stopped           bool   // the page is not full, and older events may match
	First             string // the query of the newest part, when this is another
	Problem           string
}

// choices are options under a heading.
type choices struct {
	Label   string
	Options []option
}

// auditRow is one event of the log.
type auditRow struct {
	happening
	Type, RequestID string
	Subject         string // what it is about
	SubjectLink     string
	SubjectID       string
}

// Telling reports whether there is more to say than who did what.
func (r auditRow) Telling() bool { return r.Reason != "" || r.RequestID != "" || len(r.Details) > 0 }

func showAudit(v *visit) error {
	q := v.r.URL.Query()
	p := license.EventsParams{
		Type: q.Get("type"), Subject: strings.TrimSpace(q.Get("subject")), CustomerID: q.Get("customer"),
		After: q.Get("after"), NewestFirst: true, Limit: auditPage,
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
		status, body.Problem = http.StatusBadRequest, "This list does not go on from there. Start again from the newest events."
		if x := invalid.Fields[0]; x.Field != "after" {
			body.Problem = sentence(strings.TrimSuffix(x.Field, "_id") + " " + x.Detail)
		}
	} else if err != nil {
		return err
	}
	if events.HasMore {
		filter.Set("after", events.NextCursor)
		body.Next, body.Stopped = "?"+filter.Encode(), len(events.Data) < auditPage
	}
	who := names{v: v}
	for _, e := range events.Data {
		body.Rows = append(body.Rows, who.auditRow(e))
	}
	return v.render(status, "audit", page{Title: "Audit log", Section: "audit", Body: body})
}

// fillAudit reads the feed until the page is full, the feed ends, or the work
// for one page is done. Then NextCursor continues where the reads stopped.
func (v *visit) fillAudit(p license.EventsParams) (page license.Page[license.Event], err error) {
	start := time.Now()
	for range auditReads {
		p.Limit = auditPage - len(page.Data)
		part, err := v.licenses.Events(v.r.Context(), p)
		if err != nil {
			return license.Page[license.Event]{}, err
		}
		part.Data = append(page.Data, part.Data...)
		page, p.After = part, part.NextCursor
		if !page.HasMore || len(page.Data) == auditPage || time.Since(start) > auditTime {
			break
		}
	}
	return page, nil
}

// eventChoices are the types of events to choose from, by what they are about.
func eventChoices(chosen string) (list []choices) {
	for _, k := range kinds {
		c := choices{Label: k.label}
		for _, t := range license.EventTypes() {
			if strings.HasPrefix(t, k.family+".") {
				_, verb := inWords(t)
				c.Options = append(c.Options, option{Value: t, Label: k.name + " " + verb, Chosen: t == chosen})
			}
		}
		if len(c.Options) > 1 {
			family := k.family + ".*"
			c.Options = slices.Insert(c.Options, 0, option{Value: family, Label: "Anything about " + midSentence(k.label), Chosen: family == chosen})
		}
		list = append(list, c)
	}
	return list
}

// auditRow puts an event of any kind in words.
func (n *names) auditRow(e license.Event) auditRow {
	var data told
	_ = json.Unmarshal(e.Data, &data) // what cannot be read is not told
	row := auditRow{happening: n.happening(e.Type, e.Actor, e.Timestamp, data), Type: e.Type, RequestID: e.RequestID, SubjectID: e.Subject}
	name, verb := inWords(e.Type)
	row.What = name + " " + verb
	gone := strings.HasSuffix(e.Type, ".deleted")
	switch {
	case data.License != nil:
		row.Subject = data.License.Name
		if !gone {
			row.SubjectLink = licensePath(e.Subject)
		}
	case data.Client != nil:
		row.Subject, row.SubjectLink = data.Client.Name, credentialPath(data.Client.ID)
	case data.Operator != nil:
		row.Subject = data.Operator.Email
		if n.v.admin() && n.v.h.opts.Operator == nil {
			row.SubjectLink = operatorPath(data.Operator.ID)
		}
	case data.Webhook != nil:
		row.Subject = data.Webhook.URL
		if !gone {
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
	if data.Erased {
		row.Details = append(row.Details, "The personal data has been erased.")
	}
	return row
}
