package dashboard

import (
	"errors"
	"regexp"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// Meters are edited in rows, too: the value is a text such as "1000 per month".

// metersField returns the field for the meters of a license or a plan.
func metersField(m map[string]api.Meter) *forms.Field {
	return forms.PairsField("meters", "Usage limits", "Usage limit", "What is counted, such as exports. The value is a limit such as “1000 per month”, “50 per day, soft” or “500”. "+
		"A period is a day, month, year, license month, license year or billing month. Use above a soft limit is not refused. Leave the value blank to only count.", m, kit.FormatMeter, func(s string) (any, error) {
		m, err := parseMeter(s)
		return api.MeterChange{Limit: changeTo(m.Limit), Soft: &m.Soft, Per: api.To(m.Per)}, err
	})
}

var meterPattern = regexp.MustCompile(`^(\d*) ?(?:per (day|month|year|license month|license year|billing month))? ?(soft)?$`)

// parseMeter parses a limit, a period and the word soft, each of which may be left out.
func parseMeter(s string) (m api.Meter, err error) {
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(s, ",", " ")))
	parts := meterPattern.FindStringSubmatch(strings.Join(words, " "))
	if parts == nil {
		return m, errors.New("enter a whole number without separators and a period, such as “1000 per month”")
	}
	if parts[1] != "" {
		limit, err := forms.ParseNumber(parts[1])
		if err != nil {
			return m, err
		}
		m.Limit = &limit
	}
	m.Per, m.Soft = api.MeterPeriod(strings.ReplaceAll(parts[2], " ", "_")), parts[3] != ""
	return m, nil
}
