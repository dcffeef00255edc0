package endpoints

import (
	"bytes"
	"context"
	"io"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// exportLicenses writes one license per line, in store order. A failed export is
// aborted, so that it cannot be mistaken for a complete one.
func exportLicenses(rules *license.Service, ctx context.Context, p api.ExportLicensesParams, _ []byte, w io.Writer) error {
	return rules.Export(ctx, w, selected(p))
}

// exportCSV writes the same licenses as a spreadsheet.
func exportCSV(rules *license.Service, ctx context.Context, p api.ExportLicensesParams, _ []byte, w io.Writer) error {
	return inner.Of(rules).MoveIn().ExportCSV(ctx, w, selected(p))
}

func selected(p api.ExportLicensesParams) api.ListLicensesParams {
	return api.ListLicensesParams{
		CustomerID: p.CustomerID, ProductID: p.ProductID, Status: p.Status,
		ExpiresBefore: p.ExpiresBefore, ExpiresAfter: p.ExpiresAfter,
	}
}

// importLicenses imports each row and writes its result after it is stored.
func importLicenses(rules *license.Service, ctx context.Context, _ struct{}, lines []byte, w io.Writer) error {
	return rules.Import(ctx, bytes.NewReader(lines), func(result api.RowResult) error {
		line, err := web.Marshal(result)
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	})
}
