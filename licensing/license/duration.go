package license

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ParseDuration is [api.ParseDuration] with an [*api.InvalidError] for the field
// "duration".
func ParseDuration(s string) (api.Duration, error) {
	d, err := api.ParseDuration(s)
	if err != nil {
		return api.Duration{}, api.Invalid("duration", api.FieldInvalidFormat, err.Error())
	}
	return d, nil
}
