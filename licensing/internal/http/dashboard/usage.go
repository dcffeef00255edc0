package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// usageDays is how many days of validations and refusals the pages show.
const usageDays = 90

// readUsage returns the validations of each day, and how many requests were refused by reason.
func readUsage(v *kit.Visit) (figures []kit.Figure, refused map[api.VerdictCode]int64, err error) {
	usage, err := inner.Of(v.Licenses).Refused().Usage(v.R.Context())
	if err != nil {
		return nil, nil, err
	}
	refused = map[api.VerdictCode]int64{}
	for _, day := range usage[len(usage)-usageDays:] {
		f := kit.Figure{From: day.From, N: day.Validations}
		for code, n := range day.Refused {
			refused[code] += n
			f.Refused += n
		}
		figures = append(figures, f)
	}
	return figures, refused, nil
}
