package dashboard

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/csvfile"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

const maxCSV = 16 << 20 // the maximum size of a CSV file, in bytes

const maxRows = 64 << 20 // the maximum size of these rows as lines

const rowsPreviewed = 10

const faultsReported = 500

// importFor is how long a request imports rows. Then its page says how far it is.
const importFor = 10 * time.Second

const rangesShown = 5 // of the rows with one fault

// importPage is the body of the pages of a CSV import: the form, the preview and
// the result.
type importPage struct {
	Problems []string // faults of the whole file
	MaxRows  string
	Zone     string   // of dates
	Checked  bool     // the page is a preview
	Metadata []string // columns that become metadata
	Imported bool     // the page is a result

	Rows       []previewRow
	N          map[string]int // licenses by result
	Faults     []*csvFault
	MoreFaults int
	More       int    // rows that are not shown
	Lines      string // the rows to import, packed; empty: there is nothing to confirm
	Read       string // how many of them were imported before the page of a result shows the others; empty: all
	Bad        string // the refused rows as a CSV file, packed
}

// previewRow is a row of a CSV file and what its import would do.
type previewRow struct {
	api.RowResult
	Row api.LicenseRow
}

// A csvFault is one thing that is wrong with rows.
type csvFault struct {
	Column, Detail string
	lines          []int // in order
}

// Rows returns where the fault is, such as "Rows 2–301, 400".
func (f *csvFault) Rows() string {
	lines := slices.Compact(slices.Clone(f.lines)) // a row can have a fault twice
	var ranges []string
	shown := 0
	for from := 0; from < len(lines) && len(ranges) < rangesShown; from = shown {
		for shown = from + 1; shown < len(lines) && lines[shown] == lines[shown-1]+1; {
			shown++
		}
		text := strconv.Itoa(lines[from])
		if shown > from+1 {
			text += "–" + strconv.Itoa(lines[shown-1])
		}
		ranges = append(ranges, text)
	}
	text := "Rows " + strings.Join(ranges, ", ")
	if len(lines) == 1 {
		text = "Row " + ranges[0]
	}
	if more := len(lines) - shown; more > 0 {
		text += " and " + kit.Thousands(int64(more)) + " more"
	}
	return text
}

func showImport(v *kit.Visit) error { return renderImport(v, http.StatusOK, importPage{}) }

func renderImport(v *kit.Visit, status int, body importPage) error {
	body.MaxRows, body.Zone = kit.Thousands(csvfile.MaxRows), v.Zone().String()
	return v.Render(status, "import", kit.Page{Title: "Import licenses", Section: "licenses", Body: body})
}

// previewImport shows what the import of a file would do. It writes nothing.
func previewImport(v *kit.Visit) error {
	refuse := func(problems ...string) error {
		return renderImport(v, http.StatusUnprocessableEntity, importPage{Problems: problems})
	}
	file, _, err := v.R.FormFile("file")
	if err != nil {
		return refuse("Choose a CSV file.")
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxCSV+1))
	if err != nil {
		return err
	}
	if len(text) > maxCSV {
		return refuse("The file is larger than 16 MiB. Split it into smaller files.")
	}
	preview, err := inner.Of(v.Licenses).MoveIn().PreviewCSV(v.R.Context(), text)
	if invalid, ok := errors.AsType[*api.InvalidError](err); ok {
		var problems []string
		for _, x := range invalid.Fields {
			if x.Field != "" {
				x.Detail = "Column “" + x.Field + "” " + x.Detail
			}
			problems = append(problems, forms.ErrorText(x.Detail))
		}
		return refuse(problems...)
	}
	if err != nil {
		return err
	}
	if len(preview.NDJSON) > maxRows {
		return refuse("The rows of the file are too long for one import. Split it into smaller files.")
	}
	body, status := importPage{Checked: true, Metadata: preview.Metadata, More: max(0, len(preview.Results)-rowsPreviewed), Bad: pack(preview.Refused)}, http.StatusOK
	body.take(preview.Results)
	for i, result := range preview.Results[:min(len(preview.Results), rowsPreviewed)] {
		body.Rows = append(body.Rows, previewRow{result, preview.Rows[i]})
	}
	if body.N[api.ImportCreated] > 0 {
		body.Lines = pack(preview.NDJSON)
	}
	if body.N[api.ImportRefused] > 0 {
		status = http.StatusUnprocessableEntity
	}
	return renderImport(v, status, body)
}

// pack compresses text for a hidden field of a form, which sends it back; unpack
// reads it. Nothing is stored between the preview and the import.
func pack(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // into memory
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func unpack(packed string) (io.Reader, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		return nil, web.NewProblem(http.StatusUnprocessableEntity, "invalid_form", "The rows of the import are incomplete. Choose the file again.").WithCause(err)
	}
	return io.LimitReader(z, maxRows), nil
}

// downloadRefused responds with the rows that a preview has refused.
func downloadRefused(v *kit.Visit) error {
	rows, err := unpack(v.Sent("bad"))
	if err != nil {
		return err
	}
	_, err = io.Copy(&kit.CsvDownload{V: v, Name: "refused-rows"}, rows)
	return err
}

// take counts results and lists their faults.
func (b *importPage) take(results []api.RowResult) {
	b.N = map[string]int{}
	known := map[[2]string]*csvFault{}
	for _, result := range results {
		b.N[result.Result]++
		for _, x := range result.Errors {
			column, part, _ := strings.Cut(x.Field, "/")
			if part != "" {
				x.Detail = "“" + part + "” " + x.Detail
			}
			key := [2]string{column, forms.ErrorText(x.Detail)}
			if known[key] == nil && len(b.Faults) == faultsReported {
				b.MoreFaults++
				continue
			}
			if known[key] == nil {
				known[key] = &csvFault{Column: key[0], Detail: key[1]}
				b.Faults = append(b.Faults, known[key])
			}
			known[key].lines = append(known[key].lines, result.Line)
		}
	}
}

// runImport imports the rows that a preview has checked. Submitting the form again
// creates no license twice, because each row has an ID or a key.
func runImport(v *kit.Visit) error {
	lines, err := unpack(v.Sent("lines"))
	if err != nil {
		return err
	}
	var results []api.RowResult
	made := false // so that each request comes further than the one before
	err = v.Licenses.Import(v.R.Context(), accessReader{v, lines, v.Opts.Now().Add(importFor), &made}, func(result api.RowResult) error {
		made = made || result.Result == api.ImportCreated
		results = append(results, result)
		return nil
	})
	body := importPage{Imported: true, Bad: v.Sent("bad")}
	body.take(results)
	status := http.StatusOK
	if errors.Is(err, errLonger) {
		body.Read, body.Lines = kit.Count(len(results), "row"), v.Sent("lines")
	} else if err != nil && len(results) > 0 {
		p := web.ProblemOf(err)
		status = p.Status
		body.Problems = []string{fmt.Sprintf("The import stopped after %s. %s Import the file again: licenses that exist stay unchanged.", kit.Count(len(results), "row"), kit.Sentence(p.Detail))}
	} else if err != nil {
		return err
	}
	return renderImport(v, status, body)
}

// An accessReader reads the lines of an import in parts, for as long as the
// operator may import licenses, and until an instant or, if nothing was made by then, until
// something was.
type accessReader struct {
	v     *kit.Visit
	lines io.Reader
	until time.Time
	made  *bool
}

var errLonger = errors.New("the import takes another request")

func (r accessReader) Read(part []byte) (int, error) {
	if err := r.v.CheckAccess(); err != nil {
		return 0, err
	}
	if *r.made && r.v.Opts.Now().After(r.until) {
		return 0, errLonger
	}
	return r.lines.Read(part[:min(len(part), 64<<10)])
}
