package movein

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/holds"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/leave"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A batch of rows is written in one Update. Other writers wait meanwhile, so a
// batch has as many rows as the one before would have written and committed in
// importHold.
const (
	importHold  = 4 * time.Millisecond
	importLeast = 100 // rows; also those of the first batch
	importMost  = 600
	importBytes = 256 << 10 // a batch ends when its lines have this many

	// purchaseBytes is what a purchase counts in addition, so that a batch writes at most
	// some thousand entries.
	purchaseBytes = 256
)

// maxRefused is how many rows an import refuses before it stops.
const maxRefused = 1000

// Import reads licenses from r, one [api.LicenseRow] in JSON per line, and creates the ones
// that do not exist; see package license.
func (s Service) Import(ctx context.Context, r io.Reader, report func(api.RowResult) error) error {
	_ = leave.Of(s.Call).ClearAllDeleted(ctx) // so that rows can have the IDs of deleted licenses
	lines := bufio.NewReaderSize(r, maxRow)
	refused := 0
	rows := importLeast // of the next batch
	for number := 1; ; {
		batch := make([]parsedRow, 0, rows)
		var end error
		for size := 0; len(batch) < rows && size < importBytes && end == nil; {
			var line []byte
			var tooLong bool
			line, tooLong, end = readLine(lines)
			if end != nil && end != io.EOF {
				return fmt.Errorf("import licenses: line %d: %w", number, end)
			}
			number++
			if len(line) == 0 && !tooLong {
				continue
			}
			row := parsedRow{line: number - 1, err: errRowTooLong}
			if !tooLong {
				row.err = parseRow(line, &row.row)
			}
			size += len(line) + len(row.row.Purchases)*purchaseBytes
			batch = append(batch, row)
		}
		for len(batch) > 0 {
			part := batch[:min(rows, len(batch))]
			results, held, err := s.importRows(ctx, part, maxRefused-refused)
			if err != nil {
				return fmt.Errorf("import licenses: lines %d to %d: %w", part[0].line, part[len(part)-1].line, err)
			}
			if len(results) == 0 { // again in smaller parts
				rows = importLeast
				continue
			}
			if held > 0 {
				rows = int(min(max(time.Duration(len(part))*importHold/held, importLeast), importMost))
			}
			batch = batch[len(part):]
			for _, result := range results {
				if err := report(result); err != nil {
					return err
				}
				switch result.Result {
				case api.ImportRefused:
					refused++
				case api.ImportStopped:
					return nil
				}
			}
		}
		if end != nil {
			return nil
		}
	}
}

// importRows processes a batch in one Update. It stops after refusing left
// rows. It prepares the batch before the Update as if no license of it existed
// and, if one does or did, processes row by row. That takes longer, so of
// more than importLeast rows it then writes nothing and returns no results. It
// returns how long other writers waited for the Update.
func (s Service) importRows(ctx context.Context, batch []parsedRow, left int) (results []api.RowResult, held time.Duration, err error) {
	now := s.Now()
	created := make([]store.License, 0, len(batch))
	events := make([]store.Event, 0, len(batch))
	var derived []store.Entry
	var ids, customers []string // that rows bring
	single := false             // rows that are processed one by one, for their purchases or who suspends them
	prepared, err := importResults(batch, left, func(row api.LicenseRow) (id string, err error) {
		if err := s.importVisible(row); err != nil {
			return row.ID, err
		}
		if row.ID != "" {
			ids = append(ids, row.ID)
		}
		customers = append(customers, row.CustomerID)
		single = single || row.Reference != "" || row.Purchases != nil || row.ByHand != nil || row.Suspension != nil || row.Starts != ""
		rec := recordOf(row, now)
		l := licenses.FromParts(rec, row.Entitlements, row.Metadata, row.Meters, now)
		if licenses.LapsesAnew(record.License{}, rec, now) {
			derived = append(derived, licenses.LapseEntry(rec, now))
		}
		address, err := licenses.Of(s.Call).AddressEntries(rec)
		if err != nil {
			return rec.ID, err
		}
		derived = append(derived, address...)
		created, events = append(created, rec.Row()), append(events, s.Event(now, api.EventLicenseCreated, l, api.EventData{Imported: true}))
		return rec.ID, nil
	})
	if err != nil || len(created) == 0 {
		return prepared, 0, err
	}
	var began time.Time
	err = s.Write(ctx, func(tx *call.Tx) error {
		began = time.Now()
		results = prepared
		err := s.importIDs(ctx, tx, ids)
		if held, failed := holds.Any(ctx, tx, customers); failed != nil {
			return failed
		} else if held {
			err = store.ErrExists
		}
		if err == nil && single {
			err = store.ErrExists
		}
		if err == nil {
			err = tx.CreateLicenses(ctx, created...)
		}
		if errors.Is(err, store.ErrExists) && len(batch) > importLeast {
			results = nil
			return nil
		}
		if errors.Is(err, store.ErrExists) {
			results, err = importResults(batch, left, func(row api.LicenseRow) (string, error) { return s.importRow(ctx, tx, row) })
			return err
		}
		if err == nil && len(derived) > 0 {
			err = tx.PutEntries(ctx, derived...)
		}
		if err == nil {
			err = tx.AppendEvents(ctx, events...)
		}
		return err
	})
	return results, time.Since(began), err
}

// importResults calls process for the rows of a batch that have no error, and
// returns the results. It stops after left refused rows.
func importResults(batch []parsedRow, left int, process func(api.LicenseRow) (id string, err error)) ([]api.RowResult, error) {
	results := make([]api.RowResult, 0, len(batch))
	refusals := 0
	for _, row := range batch {
		if refusals == left {
			return append(results, stopped(row.line)), nil
		}
		id, err := row.row.ID, row.err
		if err == nil {
			id, err = process(row.row)
		}
		result, err := importResult(row.line, id, err)
		if err != nil {
			return nil, err
		}
		if result.Result == api.ImportRefused {
			refusals++
		}
		results = append(results, result)
	}
	return results, nil
}

// importResult returns the result of a row whose import returned err, or err if
// the row did not cause it.
func importResult(line int, id string, err error) (api.RowResult, error) {
	result := api.RowResult{Line: line, ID: id, Result: api.ImportCreated}
	var refused *api.InvalidError
	switch {
	case errors.Is(err, errExists):
		result.Result = api.ImportExists
	case errors.As(err, &refused):
		result.Result = api.ImportRefused
		for _, f := range refused.Fields[:min(len(refused.Fields), maxRowErrors)] {
			result.Errors = append(result.Errors, api.RowError{Field: f.Field, Code: f.Code, Detail: f.Detail})
		}
	case err != nil:
		return api.RowResult{}, err
	}
	return result, nil
}

// stopped returns the last result of an import with too many refused rows.
func stopped(line int) api.RowResult {
	return api.RowResult{Line: line, Result: api.ImportStopped, Errors: []api.RowError{{Code: api.FieldTooMany, Detail: fmt.Sprintf(
		"%d lines were refused, so the import stopped before this line; correct them and import again", maxRefused)}}}
}

// importRow writes one row and returns the ID of its license.
func (s Service) importRow(ctx context.Context, tx *call.Tx, row api.LicenseRow) (id string, err error) {
	if id, err := s.importExists(ctx, tx, row); err != nil {
		return id, err
	}
	rec := recordOf(row, tx.Now)
	moved, err := purchases.Of(s.Call).ReadRow(ctx, tx, row, rec.ID)
	if err == nil {
		err = moved.Restore(&rec, tx.Now)
	}
	if err == nil && rec.Bought {
		err = s.checkRestored(rec, &row, tx.Now)
	}
	if err == nil {
		err = importDeleted(ctx, tx, row.ID)
	}
	if err == nil {
		err = revocations.Readmit(ctx, tx, &rec)
	}
	if err == nil && row.Starts != "" && !rec.Awaits {
		var plan api.Plan
		if plan, err = purchases.Of(s.Call).PlanOfRow(ctx, tx, row); err == nil {
			err = licenses.Of(s.Call).Await(ctx, tx, plan, &rec)
		}
	}
	if err == nil {
		_, err = licenses.Of(s.Call).Add(ctx, tx, rec, row.CreateLicenseParams, api.EventData{Reference: rec.Reference, Imported: true})
	}
	if err != nil {
		return "", err
	}
	return rec.ID, purchases.Of(s.Call).PutMoved(ctx, tx, moved, rec)
}

// checkRestored checks what the purchases of a row have made of its license, and sets
// the fields of the row to it.
func (s Service) checkRestored(rec record.License, row *api.LicenseRow, now time.Time) error {
	l, err := licenses.FromRecord(rec, now)
	if err != nil {
		return err
	}
	row.CreateLicenseParams = licenses.ParamsOf(l)
	if err := s.importVisible(*row); err != nil {
		return err
	}
	return call.InvalidFields(call.CheckCreate(&row.CreateLicenseParams))
}

// recordOf returns the record of the license that the row creates at an instant.
func recordOf(row api.LicenseRow, now time.Time) record.License {
	rec := record.License{
		License:     store.License{ID: row.ID, State: store.State(row.State)},
		StateReason: row.StateReason,
		StateAt:     now,
		Generation:  row.Generation,
		Revision:    1,
		CreatedAt:   now,
		UpdatedAt:   now,
	}
	if row.CreatedAt != nil {
		rec.CreatedAt = *row.CreatedAt
	}
	if rec.ID == "" {
		rec.ID = store.NewID("lic", rec.CreatedAt)
	}
	if rec.State == "" {
		rec.State = store.StateActive
	}
	rec.Reference = row.Reference
	licenses.WriteFields(row.CreateLicenseParams, &rec)
	return rec
}
