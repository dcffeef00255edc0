package dashboard

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Meters are edited in rows, too: the value is a text such as "1000 per month".

// metersField returns the field for the meters of a license or a plan.
func metersField(m map[string]api.Meter) *field {
	return pairsField("meters", "Meters", "Meter", "What is counted, such as exports. The value is a limit such as “1000 per month”, “50 per day, soft” or “500”. "+
		"A period is a day, month, year, license month or license year. Use above a soft limit is not refused. Leave the value blank to only count.", m, formatMeter, func(s string) (any, error) {
		m, err := parseMeter(s)
		return api.MeterChange{Limit: changeTo(m.Limit), Soft: &m.Soft, Per: api.To(m.Per)}, err
	})
}

// formatMeter formats a meter for parseMeter.
func formatMeter(m api.Meter) string {
	var parts []string
	if m.Limit != nil {
		parts = append(parts, strconv.FormatInt(*m.Limit, 10))
	}
	if m.Per != "" {
		parts = append(parts, "per "+strings.ReplaceAll(string(m.Per), "_", " "))
	}
	text := strings.Join(parts, " ")
	if m.Soft {
		text = strings.TrimPrefix(text+", soft", ", ")
	}
	return text
}

var meterPattern = regexp.MustCompile(`^(\d*) ?(?:per (day|month|year|license month|license year))? ?(soft)?$`)

// parseMeter parses a limit, a period and the word soft, each of which may be left out.
func parseMeter(s string) (m api.Meter, err error) {
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(s, ",", " ")))
	parts := meterPattern.FindStringSubmatch(strings.Join(words, " "))
	if parts == nil {
		return m, errors.New("enter a whole number without separators and a period, such as “1000 per month”")
	}
	if parts[1] != "" {
		limit, err := parseNumber(parts[1])
		if err != nil {
			return m, err
		}
		m.Limit = &limit
	}
	m.Per, m.Soft = api.MeterPeriod(strings.ReplaceAll(parts[2], " ", "_")), parts[3] != ""
	return m, nil
}

// meterTexts returns the meters in an event as texts, by name.
func meterTexts(v any) map[string]any {
	var meters map[string]api.Meter
	if text, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(text, &meters) // an event of another form has none
	}
	texts := map[string]any{}
	for _, p := range meterPairs(meters) {
		texts[p.Name] = p.Value
	}
	return texts
}

// meterPairs lists meters by name.
func meterPairs(m map[string]api.Meter) []pair {
	return pairsOf(m, func(m api.Meter) string { return cmp.Or(formatMeter(m), "counted") })
}
