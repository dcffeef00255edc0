package kit

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// FormatMeter formats a meter for parseMeter.
func FormatMeter(m api.Meter) string {
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

// MeterTexts returns the meters in an event as texts, by name.
func MeterTexts(v any) map[string]any {
	var meters map[string]api.Meter
	if text, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(text, &meters) // an event of another form has none
	}
	texts := map[string]any{}
	for _, p := range MeterPairs(meters) {
		texts[p.Name] = p.Value
	}
	return texts
}

// MeterPairs lists meters by name.
func MeterPairs(m map[string]api.Meter) []Pair {
	return PairsOf(m, func(m api.Meter) string { return cmp.Or(FormatMeter(m), "counted") })
}

// UsedText says how much was used of a limit; nil: there is none.
func UsedText(used int64, limit *int64) string {
	if limit == nil {
		return Thousands(used) + " used"
	}
	return Thousands(used) + " of " + Thousands(*limit) + " used"
}
