// Package csvfile writes CSV files (RFC 4180) that a spreadsheet shows as
// text, and reads their cells back.
package csvfile

import (
	"encoding/csv"
	"io"
	"regexp"
)

// ByteOrderMark tells a spreadsheet that a CSV file is UTF-8.
const ByteOrderMark = "\ufeff"

// MaxRows is the maximum number of rows, without the header, of a file to import.
const MaxRows = 25_000

// A Writer writes a CSV file with a byte order mark.
type Writer struct {
	csv   *csv.Writer
	begun bool
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	return &Writer{csv: c}
}

// Write adds a row. Cells that a spreadsheet would run as a formula get an
// apostrophe, which [Unescape] removes. Flush returns the error.
func (w *Writer) Write(row []string) {
	cells := make([]string, len(row))
	for i, cell := range row {
		cells[i] = formula.ReplaceAllString(cell, "$1'$2$3")
	}
	if !w.begun {
		w.begun = true
		cells[0] = ByteOrderMark + cells[0]
	}
	_ = w.csv.Write(cells)
}

// Flush writes the rows that were added. It returns the first error of all
// writes.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// A spreadsheet can interpret these characters as the start of a formula: at the
// start of a cell, or after a semicolon, which is the cell separator in many
// locales. Apostrophes before them may be part of the text: Write adds one to
// these too, so that Unescape removes only what Write added.
const (
	cellStart    = `(^|;[ "]*)`
	formulaStart = `('*)([=+\-@\t\r\n＝＋－＠])`
)

var (
	formula = regexp.MustCompile(cellStart + formulaStart)
	escaped = regexp.MustCompile(cellStart + `'` + formulaStart)
)

// Unescape returns a cell without what Write added.
func Unescape(cell string) string { return escaped.ReplaceAllString(cell, "$1$2$3") }
