package dashboard

import (
	"encoding/csv"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// formulaStart matches the text that a spreadsheet can interpret as the start of
// a formula: at the start of a cell or after a semicolon, which is the cell
// separator in many locales.
var formulaStart = regexp.MustCompile(`(^|;[ "]*)([=+\-@\t\r\n＝＋－＠])`)

// auditColumns are the columns of the export of the audit log.
var auditColumns = []string{
	"time", "event", "type", "object", "object_id", "product_id", "customer_id", "by", "actor", "reason", "changes", "request_id", "event_id",
}

// exportAudit streams all events that match the filter as CSV (RFC 4180), newest
// first. It holds a few events in memory.
func exportAudit(v *visit) error {
	ctx := v.r.Context()
	f, err := v.readAuditFilter(v.r.URL.Query())
	if err != nil {
		return err
	}
	after, err := v.seekAudit(f)
	if err != nil {
		return err
	}
	part, err := v.licenses.Events(ctx, f.params(after, auditReads))
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="audit-log-`+v.h.opts.Now().UTC().Format("2006-01-02")+`.csv"`)
	web.CloseAfter(v.w, v.r) // the write deadlines must not apply to a later request
	control := http.NewResponseController(v.w)
	_, _ = v.w.Write([]byte("\ufeff")) // a byte order mark, so that spreadsheets read UTF-8
	out := csv.NewWriter(v.w)
	out.UseCRLF = true
	_ = out.Write(auditColumns)
	for {
		// Each part gets a new deadline in place of the one of the server.
		_ = control.SetWriteDeadline(time.Now().Add(partTimeout))
		for _, e := range part.Data {
			if f.ended(e) {
				part.HasMore = false
				break
			}
			if f.matches(e) {
				_ = out.Write(f.actors.csvRow(e))
			}
		}
		out.Flush()
		if out.Error() != nil {
			return nil // the browser has disconnected
		}
		_ = control.Flush()
		if !part.HasMore {
			return nil
		}
		if part, err = v.licenses.Events(ctx, f.params(part.NextCursor, auditReads)); err != nil {
			return err
		}
	}
}

func (n *actorNames) csvRow(e license.Event) []string {
	x := n.auditRow(e)
	row := []string{
		e.Timestamp.Format(time.RFC3339Nano), x.Text, e.Type, x.Subject, e.Subject, e.ProductID, e.CustomerID, x.Actor, e.Actor,
		x.Reason, strings.Join(x.Details, "; "), e.RequestID, e.ID,
	}
	for i, cell := range row {
		row[i] = formulaStart.ReplaceAllString(cell, "$1'$2")
	}
	return row
}
