package license

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A RowResult says what became of one line of an import.
type RowResult struct {
	Line   int    `json:"line"`         // counted from 1
	ID     string `json:"id,omitempty"` // of the license, if there is one
	Result string `json:"result"`       // one of the constants below
	// Errors says why a row was refused.
	Errors []FieldError `json:"errors,omitempty"`
}

// The results of a row.
const (
	RowCreated = "created"
	RowExists  = "exists" // its id or key is here already, and was left as it is
	RowRefused = "refused"
	// RowStopped is the last result of an import that ended early, because
	// a thousand rows were refused. Its line and those after it were not
	// decided; its Errors say what to do.
	RowStopped = "stopped"
)

// importBatch is how many rows are written in one Update.
const importBatch = 100

// maxRefused is how many rows an import refuses before it stops.
const maxRefused = 1000

// Import reads licenses from r, a [Row] of JSON a line, creates those that are
// not here yet, and tells report of each line, in order, once it is decided
// and stored; blank lines are passed over. Each row has an id or a key of its
// own, or both, so that the same import can be run again after a failure: what
// is here already is left as it is.
//
// Rows keep their id, key, state and time of creation; they begin at revision
// 1, and each appends "license.created". Options.BeforeCreate is not called.
// A refused row hinders no other. After 1,000 refused rows Import stops: it
// reports [RowStopped] for the next row and returns nil. Import ends with the
// first error of r, of report or of the store. What was reported until then
// stays.
func (s *Service) Import(ctx context.Context, r io.Reader, report func(RowResult) error) error {
	lines := bufio.NewReaderSize(r, maxRow)
	refused := 0
	for number := 1; ; {
		var batch []importRow
		var end error
		for len(batch) < importBatch && end == nil {
			var row importRow
			var blank bool
			row, blank, end = readRow(ctx, lines)
			if end != nil && end != io.EOF {
				return fmt.Errorf("import licenses: line %d: %w", number, end)
			}
			row.line = number
			number++
			if !blank {
				batch = append(batch, row)
			}
		}
		results, err := s.importRows(ctx, batch, maxRefused-refused)
		if err != nil {
			return fmt.Errorf("import licenses: lines %d to %d: %w", batch[0].line, number-1, err)
		}
		for _, result := range results {
			if err := report(result); err != nil {
				return err
			}
			switch result.Result {
			case RowRefused:
				refused++
			case RowStopped:
				return nil
			}
		}
		if end != nil {
			return nil
		}
	}
}

// importRows decides and writes a batch in one Update. It stops at the row
// after as many refused ones as are left to refuse.
func (s *Service) importRows(ctx context.Context, batch []importRow, left int) (results []RowResult, err error) {
	if len(batch) == 0 {
		return nil, nil
	}
	err = s.update(ctx, func(tx *transaction) error {
		results = make([]RowResult, 0, len(batch)) // anew, should this run again
		refusals := 0
		for _, row := range batch {
			if refusals == left {
				results = append(results, stopped(row.line))
				return nil
			}
			result := RowResult{Line: row.line, ID: row.row.ID, Result: RowCreated}
			err := row.err
			if err == nil {
				result.ID, err = s.importRow(ctx, tx, row.row)
			}
			var refused *InvalidError
			switch {
			case errors.Is(err, errExists):
				result.Result = RowExists
			case errors.As(err, &refused):
				refusals++
				result.Result, result.Errors = RowRefused, refused.Fields[:min(len(refused.Fields), maxRowErrors)]
			case err != nil:
				return err
			}
			results = append(results, result)
		}
		return nil
	})
	return results, err
}

// stopped is the last result of an import with too many refused rows.
func stopped(line int) RowResult {
	return RowResult{Line: line, Result: RowStopped, Errors: []FieldError{{Code: CodeTooMany, Detail: fmt.Sprintf(
		"%d lines were refused, so the import stopped before this line; correct them and import again", maxRefused)}}}
}

// errExists: the license of a row is here already.
var errExists = errors.New("exists")

// importRow writes one row and returns the id of its license.
func (s *Service) importRow(ctx context.Context, tx *transaction, row Row) (id string, err error) {
	if !s.sees(row.ProductID) {
		return "", Invalid("product_id", CodeUnknown, "is outside the caller's product limit")
	}
	if row.ID != "" {
		rec, err := tx.License(ctx, row.ID)
		if err == nil && s.sees(rec.ProductID) && (row.Key == "" || row.Key == rec.Key) {
			return rec.ID, errExists
		}
		if err == nil {
			return "", Invalid("id", CodeTaken, "is that of another license here")
		}
		if !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
	}
	if row.Key != "" {
		rec, err := tx.LicenseByKey(ctx, row.Key)
		if err == nil && s.sees(rec.ProductID) && row.ID == "" {
			return rec.ID, errExists
		}
		if err == nil {
			return "", Invalid("key", CodeTaken, "is that of another license here")
		}
		if !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
	}
	rec := store.License{
		ID:          row.ID,
		State:       row.State,
		StateReason: row.StateReason,
		StateAt:     tx.now,
		Revision:    1,
		CreatedAt:   tx.now,
		UpdatedAt:   tx.now,
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
	row.write(&rec)
	if rec.Key == "" {
		rec.Key = NewKey()
	}
	_, err = s.add(ctx, tx, rec)
	return rec.ID, err
}
