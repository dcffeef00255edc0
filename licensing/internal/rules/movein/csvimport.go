package movein

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/internal/dates"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/csvfile"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A csvPreview says what an import of a CSV file would do.
type csvPreview struct {
	// Results has a result for each row, in order. Line is the number of the
	// row in a spreadsheet: the header is row 1. The Field of an error begins
	// with the name of the column.
	Results []api.RowResult
	// Metadata are the other columns of the file, which become metadata of their names.
	Metadata []string
	Rows     []api.LicenseRow // the row of each result; incomplete if it is refused
	// Refused has the refused rows as a CSV file, with the errors in the column
	// "error", which an import ignores; nil: none.
	Refused []byte
	// NDJSON has the other rows for [Service.Import]; nil: none. Each row is on the line with its number, after empty lines. Rows
	// without an ID and a key have new IDs, so that a repeated import creates
	// no license twice.
	NDJSON []byte
}

// PreviewCSV checks a CSV file of at most [csvfile.MaxRows] rows with a header and the columns
// of ExportCSV, in any order, and writes nothing. The columns name, product_id and customer_id
// are required; revision, updated_at and error are ignored, state is status, and email is the
// metadata of Options.EmailKey. Any other becomes metadata of its name, unless it may be a typo
// of a known one. Fields are separated by commas or semicolons. Times may be dates, of which
// ends are the last day. A fault of the whole file is an [*api.InvalidError].
func (s Service) PreviewCSV(ctx context.Context, file []byte) (csvPreview, error) {
	return s.previewCSV(ctx, file, csvfile.MaxRows, false)
}

// PreviewMove is PreviewCSV for a file of any length. Its rows bring their keys or IDs, so that
// the file can be imported again.
func (s Service) PreviewMove(ctx context.Context, file []byte) (csvPreview, error) {
	return s.previewCSV(ctx, file, math.MaxInt, true)
}

func (s Service) previewCSV(ctx context.Context, file []byte, most int, keyed bool) (csvPreview, error) {
	columns, records, err := readCSV(file, most)
	if err != nil {
		return csvPreview{}, err
	}
	now := s.Now()
	newID := func() string {
		if keyed {
			return ""
		}
		return store.NewID("lic", now)
	}
	var p csvPreview
	var lines, refused bytes.Buffer
	first := map[string]int{} // the row that has an ID, a key or a reference
	err = s.Read(ctx, func(r store.Reader) error {
		p = csvPreview{Metadata: slices.DeleteFunc(slices.Clone(columns), isKnown)}
		lines.Reset()
		refused.Reset()
		out := csvfile.NewWriter(&refused)
		clear(first)
		end := 0 // the number of the last line in lines
		for _, record := range records {
			if !slices.ContainsFunc(record.cells, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
				continue
			}
			line := s.rowOfCells(columns, record.cells, newID)
			row, result, err := s.previewRow(ctx, r, line, record.number, first)
			if err != nil {
				return err
			}
			p.Results, p.Rows = append(p.Results, result), append(p.Rows, row)
			if result.Result == api.ImportRefused {
				if p.Refused == nil {
					p.Refused = []byte{}
					out.Write(append(slices.Clone(columns), errorColumn))
				}
				out.Write(append(refusedCells(record.cells, len(columns)), errorCell(result.Errors)))
				continue
			}
			lines.Write(bytes.Repeat([]byte{'\n'}, record.number-1-end))
			lines.Write(append(line, '\n'))
			end = record.number
		}
		return out.Flush()
	})
	if err != nil {
		return csvPreview{}, fmt.Errorf("preview import: %w", err)
	}
	if len(p.Results) == 0 {
		return csvPreview{}, api.Invalid("", api.FieldRequired, "the file has no rows below its header")
	}
	if p.Refused != nil {
		p.Refused = refused.Bytes()
	}
	if lines.Len() > 0 {
		p.NDJSON = lines.Bytes()
	}
	return p, nil
}

// errorColumn is the column of csvPreview.Refused with the errors of a row.
const errorColumn = "error"

// refusedCells returns the cells of a row for a file with n columns.
func refusedCells(cells []string, n int) []string {
	row := make([]string, n)
	for i := range min(n, len(cells)) {
		row[i] = csvfile.Unescape(cells[i])
	}
	return row
}

func errorCell(errs []api.RowError) string {
	var all []string
	for _, x := range errs {
		all = append(all, x.Field+" "+x.Detail)
	}
	return strings.Join(all, "; ")
}

// previewRow checks a row without importing it. First has the IDs, keys and references of the
// rows before it.
func (s Service) previewRow(ctx context.Context, r store.Reader, line []byte, number int, first map[string]int) (row api.LicenseRow, result api.RowResult, err error) {
	err = parseRow(line, &row)
	if err == nil {
		err = seenBefore(first, row, number)
	}
	id := ""
	if err == nil {
		id, err = s.importExists(ctx, r, row)
	}
	if err == nil {
		_, err = purchases.Of(s.Call).ReadRow(ctx, r, row, id)
	}
	if err == nil && row.Starts != "" && row.Purchases == nil {
		_, err = purchases.Of(s.Call).PlanOfRow(ctx, r, row)
	}
	result, err = importResult(number, id, err)
	result.Errors = byColumn(result.Errors)
	return row, result, err
}

// A csvRecord is a row of a CSV file.
type csvRecord struct {
	number int // in a spreadsheet, which has a row for each empty line too
	cells  []string
}

// readCSV returns the columns and the records of a file. It leaves out empty
// lines.
func readCSV(file []byte, most int) (columns []string, records []csvRecord, err error) {
	text := strings.TrimPrefix(string(file), csvfile.ByteOrderMark)
	if !utf8.ValidString(text) {
		return nil, nil, api.Invalid("", api.FieldInvalidFormat, "the file is not UTF-8; save it as “CSV UTF-8”")
	}
	in := csv.NewReader(strings.NewReader(text))
	header, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	if strings.Count(header, ";") > strings.Count(header, ",") {
		in.Comma = ';'
	}
	in.FieldsPerRecord = -1
	for number := 1; ; number++ {
		rest := text[in.InputOffset():]
		cells, err := in.Read()
		if err == io.EOF {
			break
		}
		if broken, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, nil, api.Invalid("", api.FieldInvalidFormat, fmt.Sprintf("line %d, character %d: the quotation marks are not balanced", broken.Line, broken.Column))
		}
		if err != nil {
			return nil, nil, err
		}
		emptyLines := rest[:len(rest)-len(strings.TrimLeft(rest, "\r\n"))] // Read has skipped them
		number += strings.Count(emptyLines, "\n")
		records = append(records, csvRecord{number, cells})
	}
	if len(records) == 0 {
		return nil, nil, api.Invalid("", api.FieldRequired, "the file is empty")
	}
	columns, records = records[0].cells, records[1:]
	if len(records) > most {
		return nil, nil, api.Invalid("", api.FieldTooMany, fmt.Sprintf("the file has %d rows; import at most %d at a time", len(records), most))
	}
	var faults []string
	var broken []api.FieldError
	for i, name := range columns {
		name = strings.TrimSpace(name)
		if lower := strings.ToLower(name); isKnown(lower) {
			name = lower
		}
		columns[i] = name
		if meant := typoOf(name); meant != "" {
			faults = append(faults, fmt.Sprintf("“%s” may be meant as %s", name, meant))
		} else if name != "" && slices.Contains(columns[:i], name) || name == "state" && slices.Contains(columns, "status") {
			faults = append(faults, "“"+name+"” appears more than once")
		}
	}
	for _, name := range []string{"name", "product_id", "customer_id"} {
		if !slices.Contains(columns, name) {
			faults = append(faults, name+" is missing")
		}
	}
	if faults != nil {
		broken = append(broken, api.FieldError{Code: api.FieldInvalidFormat, Detail: "correct the header: " + strings.Join(faults, ", ")})
	}
	for _, record := range records {
		if len(record.cells) > len(columns) && strings.Join(record.cells[len(columns):], "") != "" {
			broken = append(broken, api.FieldError{Code: api.FieldInvalidFormat, Detail: fmt.Sprintf("row %d has more cells than the header", record.number)})
		}
	}
	if broken != nil {
		return nil, nil, &api.InvalidError{Fields: broken[:min(len(broken), maxRowErrors)]}
	}
	return columns, records, nil
}

// isKnown reports whether an import knows a column, or ignores it.
func isKnown(name string) bool {
	return name == "" || slices.Contains(csvColumns, name) || slices.Contains([]string{errorColumn, "state", "email"}, name)
}

// typoOf returns the known column from which a name differs by spaces, underscores, case and at
// most one letter; "": there is none.
func typoOf(name string) string {
	letters := strings.NewReplacer(" ", "", "_", "")
	if isKnown(name) {
		return ""
	}
	typed := letters.Replace(strings.ToLower(name))
	for _, known := range append([]string{"state", "email"}, csvColumns...) {
		a, b := typed, letters.Replace(known)
		for a != "" && b != "" && a[0] == b[0] {
			a, b = a[1:], b[1:]
		}
		for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
		if utf8.RuneCountInString(a) <= 1 && len(b) <= 1 {
			return known
		}
	}
	return ""
}

// csvTimes are the layouts of times in UTC, which spreadsheets write, beside
// those of the API. csvTimeColumns are the columns that have them, or dates, which in
// csvEndColumns are the last day.
var (
	csvTimes       = []string{time.DateTime, "2006-01-02 15:04"}
	csvEndColumns  = []string{"expires_at", "updates_until"}
	csvTimeColumns = []string{"starts_at", "expires_at", "updates_until", "created_at"}
)

// rowOfCells returns the cells of a row as a line of an import. Cells of the wrong form
// become values of the wrong type, which the checks of the import report. A row without an ID
// and a key gets the ID that newID returns.
func (s Service) rowOfCells(columns, cells []string, newID func() string) []byte {
	row, metadata := map[string]any{}, map[string]any{}
	for i, name := range columns {
		if i >= len(cells) {
			break
		}
		cell := csvfile.Unescape(strings.TrimSpace(cells[i]))
		if cell == "" {
			continue
		}
		if slices.Contains(csvTimeColumns, name) {
			for _, layout := range csvTimes {
				if at, err := time.Parse(layout, cell); err == nil {
					cell = at.Format(time.RFC3339)
				}
			}
			day := dates.Start
			if slices.Contains(csvEndColumns, name) {
				day = dates.End
			}
			if at, ok := day(cell, s.Opts.TimeZone); ok {
				cell = at.Format(time.RFC3339Nano)
			}
		}
		switch name {
		case "", errorColumn, "revision", "updated_at":
		case "status", "state":
			switch status := api.LicenseStatus(strings.ToLower(cell)); status {
			case api.LicenseActive, api.LicenseExpired, api.LicenseScheduled: // follow from the times
			default:
				row["state"] = status
			}
		case "status_reason":
			row["state_reason"] = cell
		case "grace_seconds", "max_activations", "lease_seconds", "offline_seconds", "generation", "entitlements", "metadata", "meters":
			if row[name] = cell; json.Valid([]byte(cell)) {
				row[name] = json.RawMessage(cell)
			}
		case "email":
			metadata[s.Opts.EmailKey] = cell
		default:
			if row[name] = cell; !isKnown(name) {
				delete(row, name)
				metadata[name] = cell
			}
		}
	}
	if given, is := row["metadata"].(json.RawMessage); len(metadata) > 0 && (is || row["metadata"] == nil) {
		more := maps.Clone(metadata)
		if !is || json.Unmarshal(given, &metadata) == nil { // columns of their own win
			maps.Copy(metadata, more)
			row["metadata"] = metadata
		}
	}
	if row["id"] == nil && row["key"] == nil {
		if id := newID(); id != "" {
			row["id"] = id
		}
	}
	return record.Encode(row)
}

// seenBefore reports an ID, a key or a reference that an earlier row has, and adds those of row.
func seenBefore(first map[string]int, row api.LicenseRow, number int) error {
	for _, x := range [3][2]string{{"id", row.ID}, {"key", call.CanonicalKey(row.Key)}, {"reference", row.Reference}} {
		name, value := x[0], x[1]
		if value == "" {
			continue
		}
		if n, ok := first[name+value]; ok {
			return api.Invalid(name, api.FieldTaken, fmt.Sprintf("is the same as in row %d", n))
		}
		first[name+value] = number
	}
	return nil
}

// byColumn returns the errors of a row as those of its columns.
func byColumn(fields []api.RowError) []api.RowError {
	fields = slices.Clone(fields)
	for i, x := range fields {
		if rest, ok := strings.CutPrefix(x.Field, "state"); ok {
			fields[i].Field = "status" + rest
		}
		if x.Code == api.FieldInvalidFormat && slices.Contains(csvTimeColumns, x.Field) {
			fields[i].Detail = `must be a date such as 2030-01-31 or a time such as 2030-01-31T12:00:00Z`
		}
	}
	return fields
}
