package dashboard

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// An upcomingRow is what time will change in a license at an instant, in words.
type upcomingRow struct {
	At    time.Time
	Texts []string
}

// upcomingRows returns what time will change in a license.
func upcomingRows(l api.License) (rows []upcomingRow) {
	for _, c := range l.Upcoming {
		row := upcomingRow{At: c.At}
		add := func(is bool, name, value string) {
			if is {
				row.Texts = append(row.Texts, changeLabels[name]+": "+value)
			}
		}
		instant := func(name string, t api.Change[time.Time]) {
			value := "never"
			if !t.Null {
				value = t.Value.Format("2 January 2006")
			}
			add(t.Set, name, value)
		}
		number := func(name string, n api.Change[int64], none string, format func(int64) string) {
			value := none
			if !n.Null {
				value = format(n.Value)
			}
			add(n.Set, name, value)
		}
		add(c.PlanID != "", "plan_id", c.PlanID)
		number("max_activations", c.MaxActivations, "unlimited", thousands)
		instant("expires_at", c.ExpiresAt)
		instant("updates_until", c.UpdatesUntil)
		number("lease_seconds", c.LeaseSeconds, "none", describeSeconds)
		number("offline_seconds", c.OfflineSeconds, "default of the service", describeSeconds)
		for _, name := range slices.Sorted(maps.Keys(c.Entitlements)) {
			switch v := c.Entitlements[name]; v {
			case nil:
				row.Texts = append(row.Texts, "without "+name)
			case true:
				row.Texts = append(row.Texts, "with "+name)
			default:
				row.Texts = append(row.Texts, name+": "+formatValue(v))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// addsOf says what a purchase allows, or adds to the bases.
func addsOf(kind api.PlanKind, t api.Terms) string {
	if kind == "" {
		return ""
	}
	label, more := "Base", ""
	if kind == api.PlanAddOn {
		label, more = "Add-on", " more"
	}
	var texts []string
	amount := func(n *int64, of, unlimited string) {
		switch {
		case n != nil && (*n > 0 || more == ""):
			texts = append(texts, thousands(*n)+more+" "+of)
		case n == nil && more == "":
			texts = append(texts, unlimited)
		}
	}
	amount(t.MaxActivations, "activations", "unlimited activations")
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
		amount(t.Meters[name].Limit, name, name+" without a limit")
	}
	if len(texts) == 0 {
		texts = []string{"nothing"}
	}
	return label + ": " + strings.Join(texts, ", ")
}

// Part says how a purchase of a license takes part in it.
func (r purchaseRow) Part() string {
	units := ""
	if n, ok := r.Fields["quantity"].Value.(int64); ok && n > 1 {
		units = " × " + strconv.FormatInt(n, 10)
	}
	plan := r.Plan + units
	now := " · counts"
	switch {
	case r.Waiting != "" && !r.Counts:
		return plan
	case r.Counts:
	case r.StartsAt != nil:
		now = " · counts from " + r.StartsAt.Format("2 January 2006")
	default:
		return plan + " · does not count"
	}
	if r.EndsAt == nil {
		return plan + now
	}
	return plan + now + " until " + r.EndsAt.Format("2 January 2006")
}
