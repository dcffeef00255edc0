package license

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/ijson"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A RowResult says what became of one line of an import.
type RowResult struct {
	Line   int    `json:"line"`         // counted from 1
	ID     string `json:"id,omitempty"` // of the licence, if there is one
	Result string `json:"result"`       // one of the constants below
	// Errors says why a row was refused.
	Errors []FieldError `json:"errors,omitempty"`
}

// The results of a row.
const (
	RowCreated = "created"
	RowExists  = "exists" // its id or key is here already, and was left as it is
	RowRefused = "refused"
)

// importBatch is how many rows are written in one Update.
const importBatch = 100

// maxRow bounds a line. The largest licence that the rules allow fits twice.
const maxRow = 1 << 20

// Import reads licences from r, a [Row] of JSON a line, creates those that are
// not here yet, and tells report of each line, in order, once it is decided
// and stored; blank lines are passed over. Each row has an id or a key of its
// own, or both, so that the same import can be run again after a failure: what
// is here already is left as it is.
//
// Rows keep their id, key, state and time of creation; they begin at revision
// 1, and each appends "license.created". Options.BeforeCreate is not called.
// A refused row hinders no other. Import ends with the first error of r, of
// report or of the store; what was reported until then stays.
func (s *Service) Import(ctx context.Context, r io.Reader, report func(RowResult) error) error {
	lines := bufio.NewReaderSize(r, maxRow)
	for number := 1; ; {
		var batch []importRow
		var end error
		for len(batch) < importBatch && end == nil {
			var row importRow
			var blank bool
			row, blank, end = readRow(lines)
			if end != nil && end != io.EOF {
				return fmt.Errorf("import licenses: line %d: %w", number, end)
			}
			row.line = number
			number++
			if !blank {
				batch = append(batch, row)
			}
		}
		results, err := s.importRows(ctx, batch)
		if err != nil {
			return fmt.Errorf("import licenses: lines %d to %d: %w", batch[0].line, number-1, err)
		}
		for _, result := range results {
			if err := report(result); err != nil {
				return err
			}
		}
		if end != nil {
			return nil
		}
	}
}

// An importRow is a line as it was read: a row, or why it is none.
type importRow struct {
	line int
	row  Row
	err  error
}

// readRow reads one line. An error of the reader, io.EOF among them, comes
// beside what was read of the last one.
func readRow(r *bufio.Reader) (row importRow, blank bool, end error) {
	line, end := r.ReadSlice('\n')
	if end == bufio.ErrBufferFull {
		for end == bufio.ErrBufferFull {
			_, end = r.ReadSlice('\n')
		}
		row.err = Invalid("", CodeTooLong, fmt.Sprintf("a line must be at most %d bytes", maxRow))
		return row, false, end
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return row, true, end
	}
	row.err = parseRow(line, &row.row)
	return row, false, end
}

// parseRow reads a line as strictly as a request body. The names of members
// are compared before encoding/json, which ignores their case, gets the line.
func parseRow(line []byte, row *Row) error {
	v, err := ijson.Parse(line)
	if err != nil {
		return Invalid("", CodeInvalidJSON, "the line "+err.Error())
	}
	members, ok := v.(map[string]any)
	if !ok {
		return Invalid("", CodeInvalidJSON, "must be a JSON object")
	}
	if broken := checkMembers(members); len(broken) > 0 {
		return &InvalidError{Fields: broken}
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(row); err != nil {
		return rowTypeError(err)
	}
	return row.check()
}

// rowMembers are the members of a row, and whether each may be null.
var rowMembers = map[string]bool{
	"id": false, "name": false, "product_id": false, "customer_id": false, "key": false,
	"starts_at": true, "expires_at": true, "grace_seconds": false, "max_activations": true, "lease_seconds": true,
	"entitlements": true, "metadata": true, "state": false, "state_reason": false, "created_at": true,
}

// checkMembers refuses unknown members, and null where encoding/json would
// silently make it an empty value.
func checkMembers(members map[string]any) (broken []FieldError) {
	for _, name := range names(members) {
		null, known := rowMembers[name]
		switch {
		case !known:
			broken = append(broken, FieldError{escapePointer.Replace(name), CodeUnknown, "is not a member of an import row; leave it out"})
		case !null && members[name] == nil:
			broken = append(broken, FieldError{name, CodeRequired, "cannot be null"})
		}
	}
	metadata, _ := members["metadata"].(map[string]any)
	for _, name := range names(metadata) {
		if metadata[name] == nil {
			broken = append(broken, FieldError{pointer("metadata", name), CodeRequired, "cannot be null"})
		}
	}
	return broken
}

// rowTypeError says which member has a value of the wrong type.
func rowTypeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return Invalid("", CodeInvalidJSON, "each time must be in the form of RFC 3339, such as 2030-01-31T00:00:00Z")
	}
	field := strings.TrimPrefix(wrong.Field, "CreateParams.")
	return Invalid(field, CodeInvalidJSON, "has a value of the wrong type, or a number out of range")
}

func (row *Row) check() error {
	var broken []FieldError
	if err := row.CreateParams.check(); err != nil {
		broken = err.(*InvalidError).Fields
	}
	if row.ID == "" && row.Key == "" {
		broken = append(broken, FieldError{"key", CodeRequired, "give a key or an id, so that the import can be repeated"})
	}
	if row.ID != "" && !isID("lic", row.ID) {
		broken = append(broken, FieldError{"id", CodeInvalidFormat, `must be "lic_" and 26 characters`})
	}
	own := *row
	own.CreateParams = CreateParams{Name: "-", ProductID: "-", CustomerID: "-"} // checked above
	broken = append(broken, checkTags(own)...)
	row.CreatedAt = cut(row.CreatedAt)
	if len(broken) > 0 {
		return &InvalidError{Fields: broken}
	}
	return nil
}

// importRows decides and writes a batch in one Update.
func (s *Service) importRows(ctx context.Context, batch []importRow) (results []RowResult, err error) {
	if len(batch) == 0 {
		return nil, nil
	}
	err = s.update(ctx, func(tx *transaction) error {
		results = make([]RowResult, 0, len(batch)) // anew, should this run again
		for _, row := range batch {
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
				result.Result, result.Errors = RowRefused, refused.Fields
			case err != nil:
				return err
			}
			results = append(results, result)
		}
		return nil
	})
	return results, err
}

// errExists: the licence of a row is here already.
var errExists = errors.New("exists")

// importRow writes one row and returns the id of its licence.
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
			return "", Invalid("id", CodeTaken, "is that of another licence here")
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
			return "", Invalid("key", CodeTaken, "is that of another licence here")
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
