package license

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/csvfile"
)

// csvColumns are the columns of a CSV export. They have the names of the API.
var csvColumns = []string{
	"id", "name", "product_id", "customer_id", "key", "status", "status_reason", "starts_at", "expires_at", "grace_seconds",
	"max_activations", "lease_seconds", "offline_seconds", "generation", "entitlements", "metadata", "revision", "created_at", "updated_at",
}

// ExportCSV writes the licenses that p selects to w as CSV (RFC 4180) for
// spreadsheets, with a byte order mark and a header, in the order of
// [Service.All]. Cells that a spreadsheet would run as a formula begin with an
// apostrophe. The output has the column "key" unless the Caller may not see keys.
// Like [Service.Export], it appends an event.
func (s internals) ExportCSV(ctx context.Context, w io.Writer, p ListParams) error {
	out := csvfile.NewWriter(bufio.NewWriterSize(w, 64<<10))
	columns := csvColumns
	if s.caller.MaskKeys {
		columns = slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == "key" })
	}
	started := false
	err := s.export(ctx, "csv", p, func(list []License) error {
		if !started {
			started = true
			out.Write(columns)
		}
		for _, l := range list {
			cells := l.cells()
			row := make([]string, len(columns))
			for i, name := range columns {
				row[i] = cells[name]
			}
			out.Write(row)
		}
		return out.Flush()
	})
	if err != nil {
		return fmt.Errorf("export licenses: %w", err)
	}
	return nil
}

// cells returns the values of l by column.
func (l License) cells() map[string]string {
	when := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.Format(time.RFC3339Nano)
	}
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	return map[string]string{
		"id": l.ID, "name": l.Name, "product_id": l.ProductID, "customer_id": l.CustomerID, "key": l.Key,
		"status": string(l.Status), "status_reason": l.StatusReason,
		"starts_at": when(l.StartsAt), "expires_at": when(l.ExpiresAt), "grace_seconds": number(&l.GraceSeconds),
		"max_activations": number(l.MaxActivations), "lease_seconds": number(l.LeaseSeconds),
		"offline_seconds": number(l.OfflineSeconds), "generation": number(&l.Generation),
		"entitlements": string(encode(l.Entitlements)), "metadata": string(encode(l.Metadata)),
		"revision": number(&l.Revision), "created_at": when(&l.CreatedAt), "updated_at": when(&l.UpdatedAt),
	}
}
