package dashboard

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// exportLicenses streams all licenses that match the filter, or the licenses
// selected in the list, as CSV.
func exportLicenses(v *visit) error {
	q := v.r.URL.Query()
	p := readFilter(q).params(v.h.opts.Now())
	selected := q.Has("of") || q.Has("id")
	switch {
	case selected && readFilter(q) != filter{}:
		return errTwoSelections
	case selected:
		p = api.ListLicensesParams{IDs: distinct(q["id"])}
		if err := checkSelected(len(p.IDs), maxSelected, "license"); err != nil {
			return err
		}
	}
	d := &csvDownload{v: v, name: "licenses"}
	return d.ended(inner.Of(v.licenses).MoveIn().ExportCSV(v.r.Context(), d, p))
}

// partTimeout is the write timeout for one part of an export.
const partTimeout = 30 * time.Second

// A csvDownload is the response of an export. It sends its headers with the first
// part, so that an export that fails before it can answer with an error page. It checks
// the access of the operator before each part.
type csvDownload struct {
	v       *visit
	name    string // the beginning of the file name
	json    bool   // it is JSON instead of CSV
	started bool
	broken  bool // the browser has disconnected
	control *http.ResponseController
}

func (d *csvDownload) Write(part []byte) (int, error) {
	if err := d.v.checkAccess(); err != nil {
		return 0, err
	}
	if !d.started {
		d.started = true
		h := d.v.w.Header()
		mediaType, ext := "text/csv; charset=utf-8", "csv"
		if d.json {
			mediaType, ext = "application/json", "json"
		}
		h.Set("Content-Type", mediaType)
		h.Set("Content-Disposition", `attachment; filename="`+d.name+`-`+d.v.h.opts.Now().UTC().Format("2006-01-02")+`.`+ext+`"`)
		d.control = http.NewResponseController(d.v.w)
	}
	// Each part gets a new deadline in place of the one of the server.
	_ = d.control.SetWriteDeadline(time.Now().Add(partTimeout))
	n, err := d.v.w.Write(part)
	if err != nil {
		d.broken = true
		return n, err
	}
	_ = d.control.Flush()
	return n, nil
}

// ended logs that a download stopped before its end, and returns the error to respond with
// after an export that returned err. A download that has started is then aborted, so that it
// does not look complete.
func (d *csvDownload) ended(err error) error {
	if err != nil && d.started {
		d.v.h.opts.Logger.LogAttrs(d.v.r.Context(), slog.LevelWarn, "licensing: export interrupted", slog.String("request_id", d.v.id), slog.Any("error", err))
	}
	if d.broken {
		return nil
	}
	return err
}

// exportData is the data of an event about an export.
type exportData struct {
	Format string         `json:"format"`
	Rows   int            `json:"rows"`
	Filter map[string]any `json:"filter"`
}

// describe returns what was exported, with the filters.
func (d exportData) describe() []string {
	lines := []string{count(d.Rows, "license") + " with keys, as " + strings.ToUpper(d.Format)}
	return append(lines, each(pairsOf(d.Filter, formatValue), pair.line)...)
}
