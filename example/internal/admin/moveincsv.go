package admin

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/dates"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// readCSV reads a file with a header. The columns key, name, product_id and
// customer_id are required, and expires_at, updates_until, created_at, max_activations,
// plan_id and state are known; any other becomes metadata of its name.
func (m *move) readCSV(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := csv.NewReader(f)
	in.TrimLeadingSpace = true
	header, err := in.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
	}
	for _, name := range []string{"key", "name", "product_id", "customer_id"} {
		if !slices.Contains(header, name) {
			return fmt.Errorf("%s: the column %s is missing; columns are separated by commas", path, name)
		}
	}
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		line, _ := in.FieldPos(0)
		row := api.LicenseRow{State: api.LicenseActive}
		row.Metadata = map[string]string{}
		for i, cell := range cells {
			if cell = strings.TrimSpace(cell); cell == "" {
				continue
			}
			if err := setCell(&row, header[i], cell, m.zone); err != nil {
				return fmt.Errorf("%s: line %d: %s %q: %w", path, line, header[i], cell, err)
			}
		}
		m.rows, m.from = append(m.rows, row), append(m.from, fmt.Sprintf("line %d", line))
	}
}

// setCell sets the field of a column.
func setCell(row *api.LicenseRow, column, cell string, zone *time.Location) (err error) {
	instant := func() (*time.Time, error) {
		day := dates.End // a date is the last day
		if column == "created_at" {
			day = dates.Start
		}
		if t, ok := day(cell, zone); ok {
			return &t, nil
		}
		if t, err := time.Parse(time.RFC3339, cell); err == nil {
			return &t, nil
		}
		return nil, errors.New("must be a time such as 2027-01-31 or 2027-01-31T12:00:00Z")
	}
	switch column {
	case "key":
		row.Key = cell
	case "name":
		row.Name = cell
	case "product_id":
		row.ProductID = cell
	case "customer_id":
		row.CustomerID = cell
	case "plan_id":
		row.PlanID = cell
	case "state":
		row.State = api.LicenseStatus(cell)
	case "expires_at":
		row.ExpiresAt, err = instant()
	case "updates_until":
		row.UpdatesUntil, err = instant()
	case "created_at":
		row.CreatedAt, err = instant()
	case "max_activations":
		var n int64
		if n, err = strconv.ParseInt(cell, 10, 64); err == nil {
			row.MaxActivations = &n
		}
	default:
		row.Metadata[column] = cell
	}
	return err
}
