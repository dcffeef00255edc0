package license

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/ijson"
)

// maxRow bounds a line. The largest license that the rules allow fits twice.
const maxRow = 1 << 20

// maxRowErrors is how many errors are reported for one row.
const maxRowErrors = 20

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
			broken = append(broken, FieldError{escapePointer.Replace(clip(name, maxNameLength)), CodeUnknown, "is not a member of an import row; leave it out"})
		case !null && members[name] == nil:
			broken = append(broken, FieldError{name, CodeRequired, "cannot be null"})
		}
	}
	metadata, _ := members["metadata"].(map[string]any)
	for _, name := range names(metadata) {
		if metadata[name] == nil {
			broken = append(broken, FieldError{pointer("metadata", clip(name, maxNameLength)), CodeRequired, "cannot be null"})
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
