package audit

import (
	"bufio"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/csvfile"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// auditColumns are the columns of the export of the audit log.
var auditColumns = []string{
	"time", "event", "type", "object", "object_id", "product_id", "customer_id", "by", "actor", "reason", "changes", "request_id", "event_id",
}

// ExportAudit streams all events that match the filter as CSV (RFC 4180), newest
// first. It holds a few events in memory.
func ExportAudit(v *kit.Visit) error {
	f, err := readAuditFilter(v, v.R.URL.Query())
	if err != nil {
		return err
	}
	d := &kit.CsvDownload{V: v, Name: "audit-log"}
	out := csvfile.NewWriter(bufio.NewWriterSize(d, 64<<10))
	out.Write(auditColumns)
	for after, more := "", true; more; more = after != "" {
		events, err := fillAudit(v, f, after, auditReads)
		if err != nil {
			return d.Ended(err)
		}
		for _, e := range events.list {
			out.Write(csvRow(&f.actors, e.Event, e.sales))
		}
		if err := out.Flush(); err != nil {
			return d.Ended(err)
		}
		after = events.next
	}
	return nil
}

func csvRow(n *kit.ActorNames, e api.Event, sales int) []string {
	x := AuditRowOf(n, e, sales)
	return []string{
		e.Timestamp.Format(time.RFC3339Nano), x.Text, e.Type, x.Subject, e.Subject, e.ProductID, e.CustomerID, x.Actor, e.Actor,
		x.Reason, strings.Join(x.Details, "; "), e.RequestID, e.ID,
	}
}
