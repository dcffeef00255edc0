package dashboard

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/dates"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// An upcomingRow is what time will change in a license at an instant, in words.
type upcomingRow struct {
	At    time.Time
	Texts []string
}

// upcomingRows returns what time will change in a license. Days are those of the zone.
func upcomingRows(l api.License, zone *time.Location) (rows []upcomingRow) {
	for _, c := range l.Upcoming {
		var fields map[string]any
		text, _ := json.Marshal(c)        // always encodes
		_ = json.Unmarshal(text, &fields) // what was encoded
		delete(fields, "at")
		delete(fields, "reference")
		var texts, members []string
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if to, ok := fields[field].(map[string]any); ok {
				members = append(members, upcomingMembers(field, to)...)
			} else {
				texts = append(texts, kit.ChangeLabel(field)+": "+kit.DescribeValue(field, fields[field], zone))
			}
		}
		rows = append(rows, upcomingRow{c.At, append(texts, members...)})
	}
	return rows
}

// upcomingMembers describes the changed members of entitlements or meters.
func upcomingMembers(field string, to map[string]any) (texts []string) {
	values := to
	if field == "meters" {
		values = kit.MeterTexts(to)
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		switch to[name] {
		case nil:
			texts = append(texts, "without "+name)
		case true:
			texts = append(texts, "with "+name)
		default:
			texts = append(texts, name+": "+kit.FormatValue(values[name]))
		}
	}
	return texts
}

// addsOf says what a purchase allows, or adds to the bases.
func addsOf(kind api.PlanKind, t api.Terms) string {
	if kind == "" {
		return ""
	}
	label, more := "A license", ""
	if kind == api.PlanAddOn {
		label, more = "An extra", " more"
	}
	var texts []string
	amount := func(n *int64, text func(int64) string, unlimited string) {
		switch {
		case n != nil && (*n > 0 || more == ""):
			texts = append(texts, text(*n))
		case n == nil && more == "":
			texts = append(texts, unlimited)
		}
	}
	seats := func(n int64) string { return kit.Count(int(n), strings.TrimSpace(more+" activation")) }
	amount(t.MaxActivations, seats, "unlimited activations")
	for _, p := range entitlementPairs(t.Entitlements) {
		switch _, isNumber := t.Entitlements[p.Name].(float64); {
		case t.Entitlements[p.Name] == true:
			texts = append(texts, p.Name)
		case isNumber:
			texts = append(texts, p.Name+": "+p.Value+more)
		default:
			texts = append(texts, p.Name+": "+p.Value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Meters)) {
		units := func(n int64) string { return name + ": " + kit.Thousands(n) + more }
		amount(t.Meters[name].Limit, units, name+" without a limit")
	}
	if len(texts) == 0 {
		texts = []string{"nothing"}
	}
	return label + ": " + strings.Join(texts, ", ")
}

// Part says what a purchase contributes to a license.
func (r purchaseRow) Part() string {
	text := r.Named
	if n, ok := r.Fields["quantity"].Value.(int64); ok && n > 1 {
		text += " × " + strconv.FormatInt(n, 10)
	}
	if standing := r.Standing(); standing != "" {
		text += " · " + standing
	}
	return text
}

// Standing says whether a purchase counts in its license, and until when. Empty: it has no
// license, or waits.
func (r purchaseRow) Standing() string {
	const layout = "2 January 2006"
	text, last := "counts", func() string { return dates.Last(*r.EndsAt, r.zone).Format(layout) }
	switch {
	case r.Counts:
	case r.License == nil || r.Waiting != "":
		return ""
	case r.Over:
		return "ended on " + last()
	case r.StartsAt == nil:
		return "does not count"
	default:
		text += " from " + r.StartsAt.In(r.zone).Format(layout)
	}
	if r.EndsAt != nil {
		text += " until " + last()
	}
	return text
}
