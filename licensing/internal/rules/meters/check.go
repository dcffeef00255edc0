package meters

import (
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
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
		sum += len(l.Usage)
		if len(broken) < input.MaxErrors {
			broken = append(broken, checkReports(field+"/usage", l.Usage, now)...)
		}
	}
	if sum > maxReports {
		broken = append(broken, api.FieldError{Field: "licenses", Code: api.FieldTooMany, Detail: fmt.Sprintf("must have at most %d reports together", maxReports)})
	}
	return broken
}

// checkReports checks each report, and returns at most one error of each member. It stops
// after [input.MaxErrors]: a caller without a token must not make the service describe the
// errors of many reports.
func checkReports(field string, reports []api.UsageReport, now time.Time) (broken []api.FieldError) {
	for i := range reports {
		if len(broken) >= input.MaxErrors {
			break
		}
		r := &reports[i]
		var wrong []api.FieldError
		if r.At = call.Cut(r.At); r.At != nil && (r.At.Before(now.Add(-ReportWindow)) || r.At.After(now.Add(ReportAhead))) {
			wrong = append(wrong, api.FieldError{Field: "at", Code: api.FieldOutOfRange, Detail: "must be from 35 days ago to 5 minutes ahead"})
		}
		if call.IsReserved(r.Meter) {
			wrong = append(wrong, api.FieldError{Field: "meter", Code: api.FieldOutOfRange, Detail: "is counted by the service; report other meters"})
		}
		for _, e := range input.Merge(call.CheckTags(r), wrong) {
			e.Field = field + "/" + strconv.Itoa(i) + "/" + e.Field
			broken = append(broken, e)
		}
	}
	return broken
}
