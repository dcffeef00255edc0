package movein

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/csvfile"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
)

// csvFields are the fields of a License that a CSV file has: all but Object and
// Upcoming.
var csvFields = slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[api.License]()), func(f reflect.StructField) bool {
	return f.Anonymous || f.Name == "Object" || f.Name == "Upcoming"
})

// csvColumns are the columns of a CSV file: the names of csvFields in the API.
var csvColumns = func() (names []string) {
	for _, f := range csvFields {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

// ExportCSV writes the licenses that p selects to w as CSV (RFC 4180) for
// spreadsheets, with a byte order mark and a header, in the order of
// [Service.All]. Cells that a spreadsheet would run as a formula begin with an
// apostrophe. The output has the column "key" unless the Caller may not see keys.
// Like [Service.Export], it appends an event.
func (s Service) ExportCSV(ctx context.Context, w io.Writer, p api.ListLicensesParams) error {
	out := csvfile.NewWriter(bufio.NewWriterSize(w, 64<<10))
	key := slices.Index(csvColumns, "key")
	write := func(row []string) {
		if s.Caller.MaskKeys {
			row = slices.Delete(row, key, key+1)
		}
		out.Write(row)
	}
	started := false
	err := s.export(ctx, "csv", p, func(list []api.License) error {
		if !started {
			started = true
			write(slices.Clone(csvColumns))
		}
		for _, l := range list {
			write(cellsOf(l))
		}
		return out.Flush()
	})
	if err != nil {
		return fmt.Errorf("export licenses: %w", err)
	}
	return nil
}

// cellsOf returns the values of a license in the order of csvColumns.
func cellsOf(l api.License) []string {
	cells := make([]string, len(csvColumns))
	for i, f := range csvFields {
		cells[i] = csvCell(reflect.ValueOf(l).FieldByIndex(f.Index))
	}
	return cells
}

// csvCell returns a value as in JSON, but strings and times without quotation
// marks, and nil as an empty cell.
func csvCell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if at, ok := v.Interface().(time.Time); ok {
		return at.Format(time.RFC3339Nano)
	}
	if v.Kind() == reflect.String {
		return v.String()
	}
	if v.Kind() == reflect.Map && v.IsNil() {
		return ""
	}
	return string(record.Encode(v.Interface()))
}
