package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
)

// auditPerPage is the number of events on a page of the audit log.
const auditPerPage = 50

// auditBudget and auditTime limit the work for one page: the number of events
// that it examines, and the time after which it starts no new read.
var (
	auditBudget = 100_000
	auditTime   = time.Second
)

// One read examines up to typeReads events if it selects a type, and up to
// auditReads otherwise; see [license.Service.Events].
const (
	typeReads  = 1000
	auditReads = 200
)

// auditLog is the body of the audit log page.
type auditLog struct {
	Filter   *auditFilter
	Types    []choices
	Actors   []choices
	Filtered bool
	Rows     []auditRow
	pager
	Stopped string // why the page is not full although older events may match; empty: it is full or the last
	CSV     string // the export with the same filter, as a reference from dashboard/
	Problem string // of the filter
}

// choices are options with a common heading.
type choices struct {
	Label   string
	Options []option
}

// auditRow is one event of the audit log.
type auditRow struct {
	historyEntry
	Event       api.Event
	Subject     string // the name of the object
	SubjectLink string
}

func showAudit(v *visit) error {
	q := v.r.URL.Query()
	f, err := v.readAuditFilter(q)
	filter := f.query()
	body := auditLog{Filter: f, Types: append([]choices{saleChoices(f.Type)}, eventChoices(f.Type)...), Filtered: len(filter) > 0, CSV: withQuery("audit.csv", filter.Encode())}
	after := q.Get("after")
	var events auditPage
	status := http.StatusOK
	if invalid, ok := errors.AsType[*api.InvalidError](err); ok { // the form can correct it
		status, body.Problem = http.StatusBadRequest, sentence(invalid.Fields[0].Field+" "+invalid.Fields[0].Detail)
	} else if events, err = v.fillAudit(f, after, auditPerPage); err != nil {
		return err
	}
	body.pager = v.pager(filter, "after", events.next)
	if events.next != "" && len(events.list) < auditPerPage {
		body.Stopped = events.stopped(v)
	}
	if body.Actors, err = v.actorChoices(f); err != nil {
		return err
	}
	if err := f.actors.nameLicenses(each(events.list, func(m auditMatch) api.Event { return m.Event })); err != nil {
		return err
	}
	for _, e := range events.list {
		body.Rows = append(body.Rows, f.actors.auditRow(e.Event, e.sales))
	}
	return v.render(status, "audit", page{Title: "Audit log", Section: "audit", Body: body})
}

// An auditPage is a page of the audit log.
type auditPage struct {
	list     []auditMatch
	next     string // the cursor of the next page; empty: none
	examined int    // the maximum number of events that were examined
}

// An auditMatch is an event of the audit log, with what matches returns for it.
type auditMatch struct {
	api.Event
	sales int
}

// stopped describes how far the search went.
func (p auditPage) stopped(v *visit) string {
	text := "This page searched up to " + thousands(int64(p.examined)) + " events"
	at, err := v.licenses.Events(v.r.Context(), api.ListEventsParams{After: p.next, NewestFirst: true, Limit: 1})
	if err == nil && len(at.Data) > 0 {
		text += ", back to " + v.moment(at.Data[0].Timestamp).Full
	}
	return text + "."
}

// fillAudit reads events until the page has as many as its size, the events end, or a limit is
// reached.
func (v *visit) fillAudit(f *auditFilter, after string, size int) (page auditPage, err error) {
	start := time.Now()
	if after == "" {
		if after, err = f.start(); err != nil {
			return auditPage{}, err
		}
	}
	for page.examined < auditBudget && time.Since(start) <= auditTime {
		part, err := v.licenses.Events(v.r.Context(), f.params(after, size-len(page.list)))
		if err != nil {
			return auditPage{}, err
		}
		page.examined += len(part.Data)
		if f.Type != "" {
			page.examined += typeReads - len(part.Data)
		}
		for i, e := range part.Data {
			if f.ended(e) {
				page.next = ""
				return page, nil
			}
			if n, err := f.matches(e); err != nil {
				return auditPage{}, err
			} else if n > 0 {
				page.list = append(page.list, auditMatch{e, n})
			}
			if len(page.list) == size && (i < len(part.Data)-1 || part.HasMore) {
				page.next = placeAt(e.Seq)
				return page, nil
			}
		}
		if page.next = part.NextCursor; !part.HasMore {
			page.next = ""
			break
		}
		after = page.next
	}
	return page, nil
}

// saleLabels name what events count as in sales.
var saleLabels = map[sales.Kind]string{
	sales.New: "Sold", sales.ByHand: "Created by hand", sales.Trial: "Trial started", sales.Converted: "Trial converted",
	sales.Renewed: "Renewed", sales.Ended: "Ended",
}

// saleChoices returns what events count as in sales, for the filter.
func saleChoices(chosen string) choices {
	sold := choices{Label: "Sales"}
	for _, kind := range sales.Kinds {
		t := salesPrefix + string(kind)
		sold.Options = append(sold.Options, option{Value: t, Label: saleLabels[kind], Chosen: t == chosen})
	}
	return sold
}

// eventChoices returns the event types, grouped by object.
func eventChoices(chosen string) (list []choices) {
	for _, k := range eventFamilies {
		c := choices{Label: k.label}
		for _, t := range api.EventTypes() {
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

// auditRow describes an event of any type, which counts as a number of sales.
func (n *actorNames) auditRow(e api.Event, sales int) auditRow {
	data := readEventData(e)
	row := auditRow{historyEntry: n.historyEntry(e.Type, e.Actor, e.Timestamp, data), Event: e}
	name, verb := describeType(e.Type)
	row.Text, row.Subject = name+" "+verb, data.name()
	switch {
	case strings.HasSuffix(e.Type, ".deleted"):
	case data.License != nil, strings.HasPrefix(e.Subject, "lic_"):
		row.SubjectLink = licensePath(e.Subject)
		row.Subject = cmp.Or(row.Subject, n.licenses[e.Subject])
	case data.Client != nil:
		row.SubjectLink = n.v.credentialLink(data.Client.ID)
	case data.Operator != nil:
		if n.v.admin() && n.v.h.opts.Operator == nil {
			row.SubjectLink = operatorPath(data.Operator.ID)
		}
	case data.Webhook != nil:
		row.SubjectLink = webhookPath(data.Webhook.ID)
	case data.Plan != nil:
		row.SubjectLink = planPath(data.Plan.ID)
	case strings.HasPrefix(e.Subject, "opr_"):
		row.Subject, _ = n.actor("operator:" + e.Subject)
	}
	if row.Subject == "" {
		row.Subject = e.Subject
	}
	if row.Subject == "" && e.Type == "operator.sign_in_failed" {
		row.Subject = "an unknown account"
	}
	if sales > 1 { // only ends of purchases are more than one
		row.Details = append(row.Details, count(sales, "purchase")+" ended.")
	}
	if data.Export != nil {
		row.Details = append(row.Details, data.Export.describe()...)
	}
	if data.Erased {
		row.Details = append(row.Details, "Personal data has been erased.")
	}
	return row
}
