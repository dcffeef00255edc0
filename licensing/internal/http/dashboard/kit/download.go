package kit

import (
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// partTimeout is the write timeout for one part of an export.
const partTimeout = 30 * time.Second

// A CsvDownload is the response of an export. It sends its headers with the first
// part, so that an export that fails before it can answer with an error page. It checks
// the access of the operator before each part.
type CsvDownload struct {
	V       *Visit
	Name    string // the beginning of the file name
	Json    bool   // it is JSON instead of CSV
	started bool
	broken  bool // the browser has disconnected
	control *http.ResponseController
}

func (d *CsvDownload) Write(part []byte) (int, error) {
	if err := d.V.CheckAccess(); err != nil {
		return 0, err
	}
	if !d.started {
		d.started = true
		h := d.V.W.Header()
		mediaType, ext := "text/csv; charset=utf-8", "csv"
		if d.Json {
			mediaType, ext = "application/json", "json"
		}
		h.Set("Content-Type", mediaType)
		h.Set("Content-Disposition", `attachment; filename="`+d.Name+`-`+d.V.Opts.Now().UTC().Format("2006-01-02")+`.`+ext+`"`)
		d.control = http.NewResponseController(d.V.W)
	}
	// Each part gets a new deadline in place of the one of the server.
	_ = d.control.SetWriteDeadline(time.Now().Add(partTimeout))
	n, err := d.V.W.Write(part)
	if err != nil {
		d.broken = true
		return n, err
	}
	_ = d.control.Flush()
	return n, nil
}

// Ended logs that a download stopped before its end, and returns the error to respond with
// after an export that returned err. A download that has started is then aborted, so that it
// does not look complete.
func (d *CsvDownload) Ended(err error) error {
	if err != nil && d.started {
		d.V.Opts.Logger.LogAttrs(d.V.R.Context(), slog.LevelWarn, "licensing: export interrupted", slog.String("request_id", d.V.Id), slog.Any("error", err))
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

// Describe returns what was exported, with the filters.
func (d exportData) Describe() []string {
	lines := []string{Count(d.Rows, "license") + " with keys, as " + strings.ToUpper(d.Format)}
	return append(lines, Each(PairsOf(d.Filter, FormatValue), Pair.Line)...)
}
