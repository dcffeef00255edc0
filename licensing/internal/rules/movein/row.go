package movein

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// maxRow is the maximum length of a line. It is twice the largest license.
const maxRow = 1 << 20

// maxRowErrors is how many errors are reported for one row.
const maxRowErrors = 20

// A parsedRow is one line: a row, or the error that makes it invalid.
type parsedRow struct {
	line int
	row  api.LicenseRow
	err  error
}

// errRowTooLong is the error of a line that is longer than maxRow.
var errRowTooLong = api.Invalid("", api.FieldTooLong, fmt.Sprintf("a line must be at most %d bytes", maxRow))

// readLine reads one line, without white space around it: empty, of a blank line. It
// returns an error of the reader, such as io.EOF, together with the last line.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, end error) {
	line, end = r.ReadSlice('\n')
	for end == bufio.ErrBufferFull {
		tooLong = true
		_, end = r.ReadSlice('\n')
	}
	if tooLong { // the reader has overwritten the line
		return nil, true, end
	}
	return bytes.TrimSpace(line), false, end
}

// rowForm is the wire form of a row.
var rowForm = input.Of(reflect.TypeFor[api.LicenseRow]())

// parseRow parses a line as strictly as a request body.
func parseRow(line []byte, row *api.LicenseRow) error {
	o, err := input.JSON(line)
	var syntax *input.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return api.Invalid("", api.FieldInvalidJSON, "the line "+syntax.Detail)
	case err != nil:
		return api.Invalid("", api.FieldInvalidJSON, "must be a JSON object")
	}
	errs := rowForm.Body(reflect.ValueOf(row), o)
	return call.InvalidFields(input.All(errs, func() []api.FieldError { return checkRow(row) }))
}

// maxImportedGeneration is far below the largest generation that a license file
// can have.
const maxImportedGeneration = 1e15

// checkRow checks the fields of a row and normalizes them as checkCreate does.
func checkRow(row *api.LicenseRow) []api.FieldError {
	broken := append(call.CheckTags(row), call.Normalize(&row.CreateLicenseParams)...)
	if row.ID == "" && row.Key == "" {
		broken = append(broken, api.FieldError{Field: "key", Code: api.FieldRequired, Detail: "is required unless id is set; one of them makes the import repeatable"})
	}
	if row.ID != "" && !record.IsID("lic", row.ID) {
		broken = append(broken, api.FieldError{Field: "id", Code: api.FieldInvalidFormat, Detail: `must be "lic_" followed by 26 characters`})
	}
	if row.Generation > maxImportedGeneration && row.Generation <= licensefile.AllGenerations {
		broken = append(broken, api.FieldError{Field: "generation", Code: api.FieldOutOfRange, Detail: "must be at most 1,000,000,000,000,000, because it rises"})
	}
	if (purchases.Purchase{Reference: row.Reference}).IsOwn() {
		broken = append(broken, purchases.ErrOwn)
	}
	row.CreatedAt = call.Cut(row.CreatedAt)
	return broken
}
