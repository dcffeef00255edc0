package audit

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
)

// auditPerPage is the number of events on a page of the audit log.
const auditPerPage = 50

// Budget is the number of events that one page examines, as many as one of licenses does.
var Budget int64 = 10_000

// One read examines typeBatch events if it selects a type or, if these are too few, typeReads,
// and otherwise auditReads and the next one; see [license.Service.Events].
const (
	typeBatch  = 500
	typeReads  = 1000
	auditReads = 200
)

// auditLog is the body of the audit log page.
type auditLog struct {
	Filter   *AuditFilter
	Types    []forms.Choices
	Actors   []forms.Choices
	Filtered bool
	Rows     []AuditRow
	kit.Pager
	Stopped string // why the page is not full although older events may match; empty: it is full or the last
	CSV     string // the export with the same filter, as a reference from dashboard/
	Problem string // of the filter
}

// AuditRow is one event of the audit log.
type AuditRow struct {
	kit.HistoryEntry
	Event api.Event
}

func ShowAudit(v *kit.Visit) error {
	q := v.R.URL.Query()
	f, err := readAuditFilter(v, q)
	filter := f.Query()
	body := auditLog{Filter: f, Types: append([]forms.Choices{saleChoices(f.Type)}, forms.EventChoices(f.Type)...), Filtered: len(filter) > 0, CSV: kit.WithQuery("audit.csv", filter.Encode())}
	after := q.Get("after")
	var events auditPage
	status := http.StatusOK
	if invalid, ok := errors.AsType[*api.InvalidError](err); ok { // the form can correct it
		status, body.Problem = http.StatusBadRequest, kit.Sentence(invalid.Fields[0].Field+" "+invalid.Fields[0].Detail)
	} else if events, err = fillAudit(v, f, after, auditPerPage); err != nil {
		return err
	}
	body.Pager = v.Pager(filter, "after", events.next)
	if events.next != "" && len(events.list) < auditPerPage {
		body.Stopped = events.stopped(v)
	}
	if body.Actors, err = actorChoices(v, f); err != nil {
		return err
	}
	if err := f.actors.NameLicenses(kit.Each(events.list, func(m auditMatch) api.Event { return m.Event })); err != nil {
		return err
	}
	for _, e := range events.list {
		body.Rows = append(body.Rows, AuditRowOf(&f.actors, e.Event, e.sales))
	}
	return v.Render(status, "audit", kit.Page{Title: "Audit log", Section: "audit", Body: body})
}

// An auditPage is a page of the audit log.
type auditPage struct {
	list     []auditMatch
	next     string // the cursor of the next page; empty: none
	examined int64  // how many events were examined at most
}

// An auditMatch is an event of the audit log, with what matches returns for it.
type auditMatch struct {
	api.Event
	sales int
}

// stopped describes how far the search went.
func (p auditPage) stopped(v *kit.Visit) string {
	text := "This page searched up to " + kit.Thousands(p.examined) + " events"
	at, err := v.Licenses.Events(v.R.Context(), api.ListEventsParams{After: p.next, NewestFirst: true, Limit: 1})
	if err == nil && len(at.Data) > 0 {
		text += ", back to " + v.Moment(at.Data[0].Timestamp).Full
	}
	return text + "."
}

// fillAudit reads events until the page has as many as its size, the events end, or a limit is
// reached.
func fillAudit(v *kit.Visit, f *AuditFilter, after string, size int) (page auditPage, err error) {
	if after == "" {
		if after, err = f.start(); err != nil {
			return auditPage{}, err
		}
	}
	for page.examined <= Budget-typeReads {
		p := f.params(after, size-len(page.list))
		part, err := v.Licenses.Events(v.R.Context(), p)
		if err != nil {
			return auditPage{}, err
		}
		page.examined += examined(p, part)
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

// examined returns how many events a read after a place has examined.
func examined(p api.ListEventsParams, part api.Page[api.Event]) int64 {
	if p.Types == nil {
		return auditReads + 1
	}
	from, _ := feed.ParsePlace(p.After)
	to, _ := feed.ParsePlace(part.NextCursor)
	if n := from.Seq() - to.Seq(); n > 0 && n <= typeBatch && part.HasMore {
		return typeBatch
	}
	return typeReads
}

// saleLabels name what events count as in sales.
var saleLabels = map[sales.Kind]string{
	sales.New: "Sold", sales.ByHand: "Made by you", sales.Trial: "Trial started", sales.Converted: "Trial converted",
	sales.Renewed: "Renewed", sales.Ended: "Ended",
}

// saleChoices returns what events count as in sales, for the filter.
func saleChoices(chosen string) forms.Choices {
	sold := forms.Choices{Label: "Sales"}
	for _, kind := range sales.Kinds {
		t := SalesPrefix + string(kind)
		sold.Options = append(sold.Options, forms.Option{Value: t, Label: saleLabels[kind], Chosen: t == chosen})
	}
	return sold
}

// AuditRowOf describes an event of any type, which counts as a number of sales.
func AuditRowOf(n *kit.ActorNames, e api.Event, sales int) AuditRow {
	data := kit.ReadEventData(e)
	row := AuditRow{HistoryEntry: n.HistoryEntry(e.Type, e.Actor, e.Timestamp, data), Event: e}
	name, verb := kit.DescribeType(e.Type)
	row.Text, row.Subject = name+" "+verb, data.Name()
	switch {
	case strings.HasSuffix(e.Type, ".deleted"):
	case data.License != nil, strings.HasPrefix(e.Subject, "lic_"):
		row.SubjectLink = kit.LicensePath(e.Subject)
		row.Subject = cmp.Or(row.Subject, n.Licenses[e.Subject])
	case data.Client != nil:
		row.SubjectLink = n.V.CredentialLink(data.Client.ID)
	case data.Operator != nil:
		if n.V.Admin() && n.V.Opts.Operator == nil {
			row.SubjectLink = kit.OperatorPath(data.Operator.ID)
		}
	case data.Webhook != nil:
		row.SubjectLink = kit.WebhookPath(data.Webhook.ID)
	case data.Plan != nil:
		row.SubjectLink = kit.PlanPath(data.Plan.ID)
	case strings.HasPrefix(e.Subject, "opr_"):
		row.Subject, _ = n.Actor("operator:" + e.Subject)
	}
	if row.Subject == "" {
		row.Subject = e.Subject
	}
	if row.Subject == "" && e.Type == api.EventOperatorSignInFailed {
		row.Subject = "an unknown account"
	}
	if sales > 1 { // only ends of purchases are more than one
		row.Details = append(row.Details, kit.Count(sales, "purchase")+" ended.")
	}
	if data.Export != nil {
		row.Details = append(row.Details, data.Export.Describe()...)
	}
	if data.Erased {
		row.Details = append(row.Details, "Personal data has been erased.")
	}
	return row
}
