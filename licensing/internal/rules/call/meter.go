package call

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// The limits of meters.
const (
	maxMeters = terms.MaxMeters
	// MaxUnits is the largest limit of a meter, and the largest total of a report.
	MaxUnits = terms.MaxUnits
)

var meterPeriods = []api.MeterPeriod{"", api.PerDay, api.PerMonth, api.PerYear, api.PerLicenseMonth, api.PerLicenseYear, api.PerBillingMonth}

// CheckMeters returns a copy of the meters that shares no memory with them; nil: there
// are none.
func CheckMeters(in map[string]api.Meter) (out map[string]api.Meter, broken []api.FieldError) {
	if len(in) == 0 {
		return nil, nil
	}
	if len(in) > maxMeters {
		return nil, []api.FieldError{{Field: "meters", Code: api.FieldTooMany, Detail: fmt.Sprintf("must have at most %d entries", maxMeters)}}
	}
	out = make(map[string]api.Meter, len(in))
	for _, name := range Names(in) {
		if !IsMeterName(name) {
			broken = append(broken, api.FieldError{Field: "meters", Code: api.FieldInvalidFormat, Detail: "each name " + meterNameRule})
			continue
		}
		m, field := in[name], Pointer("meters", name)
		if m.Limit != nil {
			if m.Limit = new(*m.Limit); *m.Limit < 0 || *m.Limit > MaxUnits {
				broken = append(broken, api.FieldError{Field: field + "/limit", Code: api.FieldOutOfRange, Detail: "must be between 0 and 1,000,000,000,000; omit it to only count"})
			}
		}
		if !slices.Contains(meterPeriods, m.Per) {
			broken = append(broken, api.FieldError{Field: field + "/per", Code: api.FieldUnknown, Detail: "must be day, month, year, license_month, license_year or billing_month; omit it to never start again"})
		}
		out[name] = m
	}
	return out, broken
}

// JoinMeters returns the meters of two sets. If both have one, or if together they have
// more than a license may have, those of more count.
func JoinMeters(some, more map[string]api.Meter) map[string]api.Meter {
	all := map[string]api.Meter{}
	maps.Copy(all, some)
	maps.Copy(all, more)
	if len(all) > maxMeters {
		return more
	}
	return all
}

const meterNameRule = "must be 1 to 64 letters, digits and . _ : @ -, and begin with a letter or a digit"

// IsMeterName reports whether s can be the name of a meter.
func IsMeterName(s string) bool { return IsIdentifier(s) && len(s) <= maxNameLength }

// IsReserved reports whether the service counts a meter itself.
func IsReserved(name string) bool {
	return name == api.MeterActivations || name == api.MeterTransfers
}

func sameMeter(a, b api.Meter) bool {
	return SameCount(a.Limit, b.Limit) && a.Soft == b.Soft && a.Per == b.Per
}
