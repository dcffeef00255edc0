package reports

import (
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
)

// maxReports is how many reports one call takes.
const maxReports = 2000

// CheckCount checks the parameters of CountUsage, and truncates times as stored.
func CheckCount(p *api.CountUsageParams, now time.Time) []api.FieldError {
	return append(call.CheckTags(p), checkReports("usage", p.Usage, now)...)
}

// CheckRecord checks the parameters of RecordUsage, and truncates times as stored.
func CheckRecord(p *api.RecordUsageParams, now time.Time) []api.FieldError {
	broken := call.CheckTags(p)
	seen, sum := map[string]bool{}, 0
	for i, l := range p.Licenses {
		field := "licenses/" + strconv.Itoa(i)
		if seen[l.LicenseID] {
			broken = append(broken, api.FieldError{Field: field + "/license_id", Code: api.FieldRepeated, Detail: "is in the list already; put all reports about a license together"})
		}
		seen[l.LicenseID] = true
		broken = append(broken, checkReports(field+"/usage", l.Usage, now)...)
		sum += len(l.Usage)
	}
	if sum > maxReports {
		broken = append(broken, api.FieldError{Field: "licenses", Code: api.FieldTooMany, Detail: fmt.Sprintf("must have at most %d reports together", maxReports)})
	}
	return broken
}

// checkReports checks what the tags do not, and returns at most one error of each member.
func checkReports(field string, reports []api.UsageReport, now time.Time) (broken []api.FieldError) {
	for i := range reports {
		r, path := &reports[i], field+"/"+strconv.Itoa(i)
		if r.At = call.Cut(r.At); r.At != nil && (r.At.Before(now.Add(-meters.ReportWindow)) || r.At.After(now.Add(meters.ReportAhead))) {
			broken = append(broken, api.FieldError{Field: path + "/at", Code: api.FieldOutOfRange, Detail: "must be from 35 days ago to 5 minutes ahead"})
		}
		if call.IsReserved(r.Meter) {
			broken = append(broken, api.FieldError{Field: path + "/meter", Code: api.FieldOutOfRange, Detail: "is counted by the service; report other meters"})
		}
	}
	return broken
}
