package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// exportLicenses streams all licenses that match the filter, or the licenses
// selected in the list, as CSV.
func exportLicenses(v *kit.Visit) error {
	q := v.R.URL.Query()
	p := readFilter(q).params(v.Opts.Now())
	selected := q.Has("of") || q.Has("id")
	switch {
	case selected && readFilter(q) != Filter{}:
		return errTwoSelections
	case selected:
		p = api.ListLicensesParams{IDs: distinct(q["id"])}
		if err := checkSelected(len(p.IDs), maxSelected, "license"); err != nil {
			return err
		}
	}
	d := &kit.CsvDownload{V: v, Name: "licenses"}
	return d.Ended(inner.Of(v.Licenses).MoveIn().ExportCSV(v.R.Context(), d, p))
}
