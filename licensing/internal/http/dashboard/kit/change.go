package kit

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/dates"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// changeLabels are the labels of fields in the changes of an event.
var changeLabels = map[string]string{
	"product_id": "Product", "customer_id": "Customer", "starts_at": "Starts", "expires_at": "Expires",
	"grace_seconds": "Grace period", "max_activations": "Maximum activations", "lease_seconds": "Free the seat after … without contact",
	"generation": "Generation of license files", "until_ends": "When the purchase ends, stop", "kind": "A purchase makes", "line": "Upgrade group", "starts": "The duration begins", "offline_seconds": "Offline time", "plan_id": "Plan",
	"entitlements": "Entitlement", "metadata": "Metadata", "meters": "Usage limit", "types": "Events", "url": "URL",
}

// changeBlanks are the texts for fields without a value.
var changeBlanks = map[string]string{
	"expires_at": "no expiry", "updates_until": "no end", "max_activations": "unlimited", "offline_seconds": "default of the service", "products": "all products", "types": "all events", "description": "blank",
}

// maxMapChanges is the number of changed entitlements or metadata entries that
// an event shows.
const maxMapChanges = 20

// DescribeChanges describes changes of fields, except the status and its reason,
// which are part of the text of an event, and of what comes. Days are those of the zone.
func DescribeChanges(changes map[string]api.FieldChange, zone *time.Location) (lines []string) {
	for _, field := range slices.Sorted(maps.Keys(changes)) {
		if field != "status" && field != "status_reason" && field != "upcoming" {
			lines = append(lines, describeChange(field, changes[field], zone)...)
		}
	}
	return lines
}

// describeChange describes the change of a field in one or more lines, such as
// "Expires: 31 Jan 2027 → 31 Jan 2028". A line contains both values if they are
// short enough.
func describeChange(field string, c api.FieldChange, zone *time.Location) []string {
	label := ChangeLabel(field)
	if field == "entitlements" || field == "metadata" {
		return describeMapChange(label, c)
	}
	if field == "meters" {
		return describeMapChange(label, api.FieldChange{From: MeterTexts(c.From), To: MeterTexts(c.To)})
	}
	if c.From == nil && c.To == nil || isObjectList(c.From) || isObjectList(c.To) {
		return []string{label + " changed"}
	}
	describe := func(x any) string {
		if t, ok := changedTime(x); ok && clockOf(c.From, zone) != clockOf(c.To, zone) {
			return t.Format("2 Jan 2006, 15:04:05 UTC")
		}
		return DescribeValue(field, x, zone)
	}
	return []string{changeLine(label, describe(c.From), describe(c.To))}
}

// changeLine describes a change with both values if they are short enough.
func changeLine(label, from, to string) string {
	if line := label + ": " + from + " → " + to; len(line) <= 2000 {
		return line
	}
	return label + " changed"
}

// describeMapChange describes the changed members of entitlements or metadata.
func describeMapChange(label string, c api.FieldChange) (lines []string) {
	before, _ := c.From.(map[string]any)
	after, _ := c.To.(map[string]any)
	all := map[string]any{}
	maps.Copy(all, before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		from, had := before[name]
		to, has := after[name]
		text := label + " " + name
		switch {
		case !has:
			lines = append(lines, changeLine(text, FormatValue(from), "removed"))
		case !had && to == true:
			lines = append(lines, text+" added")
		case !had:
			lines = append(lines, changeLine(text, "none", FormatValue(to)))
		case !reflect.DeepEqual(from, to):
			lines = append(lines, changeLine(text, FormatValue(from), FormatValue(to)))
		}
	}
	if more := len(lines) - maxMapChanges; more > 0 {
		lines = append(lines[:maxMapChanges], "and "+Count(more, "more change"))
	}
	return lines
}

// ChangeLabel returns the label of a field in the changes of an event, or of one of its entries,
// such as "metadata/email".
func ChangeLabel(field string) string {
	field, entry, _ := strings.Cut(field, "/")
	label := cmp.Or(changeLabels[field], SentenceCase(strings.ReplaceAll(field, "_", " ")))
	return strings.TrimSpace(label + " " + entry)
}

// endFields are the fields with an end, which is shown by its last day.
var endFields = []string{"expires_at", "updates_until", "ends_at"}

// DescribeValue formats a value of a field for a page, and a time by its day in the zone.
func DescribeValue(field string, x any, zone *time.Location) string {
	if t, ok := changedTime(x); ok {
		if t = t.In(zone); slices.Contains(endFields, field) {
			t = dates.Last(t, zone)
		}
		return t.Format("2 Jan 2006")
	}
	list, isList := x.([]any)
	if blank := changeBlanks[field]; blank != "" && (x == nil || x == "" || isList && len(list) == 0) {
		return blank
	}
	switch n, isNumber := x.(float64); {
	case isNumber && strings.HasSuffix(field, "_seconds"):
		return describeSeconds(int64(n))
	case isNumber && field == "max_activations":
		return Thousands(int64(n))
	case x == string(api.PlanAddOn):
		return "an extra for a license"
	case x == string(api.PlanBase):
		return "a license"
	case x == true:
		return "yes"
	case x == false:
		return "no"
	case isList:
		return strings.Join(Each(list, FormatValue), ", ")
	}
	return FormatValue(x)
}

// changedTime returns the value of a field if it is a time.
func changedTime(x any) (t time.Time, ok bool) {
	text, _ := x.(string)
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UTC(), err == nil
}

// clockOf returns the time of day of a value in the zone; of one that is no time, that is
// midnight.
func clockOf(x any, zone *time.Location) string {
	t, ok := changedTime(x)
	if !ok {
		return "00:00:00"
	}
	return t.In(zone).Format(time.TimeOnly)
}

// isObjectList reports whether x is a list of JSON objects, such as the secrets
// of a client.
func isObjectList(x any) bool {
	list, _ := x.([]any)
	return slices.ContainsFunc(list, func(y any) bool { _, ok := y.(map[string]any); return ok })
}

// FormatValue formats a value of an event for a page.
func FormatValue(x any) string {
	switch x := x.(type) {
	case nil:
		return "none"
	case string:
		return x
	}
	b, err := json.Marshal(x)
	if err != nil {
		return "…"
	}
	return string(b)
}
