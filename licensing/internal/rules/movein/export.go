package movein

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// All iterates over the licenses that p selects and stops after the first error; see
// package license.
func (s Service) All(ctx context.Context, p api.ListLicensesParams) iter.Seq2[api.License, error] {
	p.Limit = call.MaxLimit
	return call.All(func(cursor string) (api.Page[api.License], error) {
		p.Cursor = cursor
		list, err := s.Find.List(ctx, p)
		return list.Page, err
	})
}

// rowOf converts a license for export.
func rowOf(l api.License) api.LicenseRow {
	row := api.LicenseRow{ID: l.ID, CreateLicenseParams: licenses.ParamsOf(l), State: api.LicenseActive, StateReason: l.StatusReason, CreatedAt: &l.CreatedAt, Generation: l.Generation, Reference: l.Reference, Starts: l.Starts}
	if l.Status == api.LicenseSuspended || l.Status == api.LicenseRevoked {
		row.State = l.Status
	}
	return row
}

// Export writes the licenses that p selects to w, one [api.LicenseRow] per line, in the
// order of [Service.All]; see package license.
func (s Service) Export(ctx context.Context, w io.Writer, p api.ListLicensesParams) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	err := s.export(ctx, "ndjson", p, func(list []api.License) error {
		rows, err := s.rows(ctx, list)
		for _, row := range rows {
			if err := encoder.Encode(row); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("export licenses: %w", err)
	}
	return nil
}

// rows returns the rows of licenses, without the ones that were deleted meanwhile. Each has
// the license and its purchases as they were at one instant.
func (s Service) rows(ctx context.Context, list []api.License) (rows []api.LicenseRow, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.ID
	}
	err = s.Read(ctx, func(r store.Reader) error {
		rows = make([]api.LicenseRow, 0, len(list))
		found, err := r.Licenses(ctx, store.LicenseQuery{IDs: ids})
		if err != nil {
			return err
		}
		for _, id := range ids {
			i := slices.IndexFunc(found, func(l store.License) bool { return l.ID == id })
			if i < 0 || !s.Sees(found[i].ProductID) {
				continue
			}
			now := s.Now()
			rec, err := licenses.Read(found[i], now)
			if err != nil {
				return err
			}
			l, err := licenses.FromRecord(rec, now)
			if err != nil {
				return err
			}
			row := rowOf(l)
			if s.Caller.MaskKeys {
				row.Key = ""
			}
			if rec.Bought || rec.Reference != "" || rec.Suspension != nil {
				if err := purchases.Of(s.Call).ExportRow(ctx, r, rec, &row, now); err != nil {
					return err
				}
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// export calls write for each page of the licenses that p selects. It appends an
// event if any key was written. The last page is written only after the event is
// stored, so an export that returned nil has its event.
func (s Service) export(ctx context.Context, format string, p api.ListLicensesParams, write func([]api.License) error) error {
	p.Limit, p.Cursor = call.MaxLimit, ""
	rows := 0
	for {
		page, err := s.Find.List(ctx, p)
		if err == nil {
			rows += len(page.Data)
			if p.Cursor = page.NextCursor; p.Cursor == "" {
				if err := s.exported(ctx, format, p, rows); err != nil {
					return err
				}
				return write(page.Data)
			}
			err = write(page.Data)
		}
		if err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportEventTimeout)
			defer cancel()
			return errors.Join(err, s.exported(ctx, format, p, rows))
		}
	}
}

// exportEventTimeout is how long a failed export waits for its event to be stored.
const exportEventTimeout = 10 * time.Second

// exported appends the event of an export that has keys.
func (s Service) exported(ctx context.Context, format string, p api.ListLicensesParams, rows int) error {
	if s.Caller.MaskKeys || rows == 0 {
		return nil
	}
	data := api.EventData{Export: &api.EventExport{Format: format, Rows: rows, Filter: api.ExportFilter{
		CustomerID: p.CustomerID, ProductID: p.ProductID, Status: p.Status, Search: (p.Search != "" || p.KeyPart != "") && p.IDs == nil, IDs: p.IDs,
		ExpiresBefore: record.OptionalTime(p.ExpiresBefore), ExpiresAfter: record.OptionalTime(p.ExpiresAfter), PlanID: p.PlanID, Only: p.Only,
	}}}
	return s.Write(ctx, func(tx *call.Tx) error {
		return s.AppendOther(ctx, tx, store.Event{Type: api.EventLicensesExported, ProductID: p.ProductID, CustomerID: p.CustomerID, Data: record.Encode(data)})
	})
}
