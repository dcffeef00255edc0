package dashboard

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// A refusalRow shows how often a license was refused for one reason, and what
// resolves it.
type refusalRow struct {
	Code     api.VerdictCode
	Reason   string
	Times    string
	Last     time.Time
	Text     string // what is wrong now, or that it is resolved
	Applies  bool   // the next request is refused for this reason, too
	Resolved bool
	Actions  []refusalAction
}

// A refusalAction is a link to what resolves a refusal.
type refusalAction struct {
	Label  string
	Path   string     // below the page of the license
	Field  string     // the id of an element of that page; may be empty
	Dialog bool       // the page is a confirmation, which opens as a dialog
	access kit.Access // what the page requires
}

// A refusedRow shows one request that was refused.
type refusedRow struct {
	api.RefusedCall
	Reason refusalRow
	Has    string // the product of the license, if the request asked for another; empty otherwise
}

// Does returns what the request was.
func (r refusedRow) Does() string { return kit.SentenceCase(r.Action) }

func newRefusedRow(c api.RefusedCall, reason refusalRow, l api.License) refusedRow {
	row := refusedRow{RefusedCall: c, Reason: reason}
	if c.Asked != "" && reason.Code == api.VerdictProductMismatch {
		row.Has = l.ProductID
	}
	return row
}

// A refusalDay shows the refusals of one day in UTC.
type refusalDay struct {
	Date    string
	Reasons []kit.Pair // with their numbers
	Total   int64
}

// refusalPanel shows why a license was refused.
type refusalPanel struct {
	Rows   []refusalRow
	Recent []refusedRow
	Days   []refusalDay // newest first
	Apply  bool         // a reason applies now
}

// refusalReasons are the codes of refusals that are not the words for them.
var refusalReasons = map[api.VerdictCode]string{
	api.VerdictNotFound:         "Unknown key",
	api.VerdictScheduled:        "Not started",
	api.VerdictProductMismatch:  "Wrong product",
	api.VerdictCustomerMismatch: "Wrong customer",
	api.VerdictLeaseEnded:       "Seat freed without contact",
	api.VerdictEvicted:          "Seat taken over",
	api.VerdictActivationLimit:  "No seat free",
	api.VerdictUsageLimit:       "No units left",
}

// refusalReason returns a code in words.
func refusalReason(code api.VerdictCode) string {
	return cmp.Or(refusalReasons[code], kit.SentenceCase(strings.ReplaceAll(string(code), "_", " ")))
}

// refusalPanelOf shows the refusals of a license, whose verdict is now.
func refusalPanelOf(v *kit.Visit, head licenseHead, now api.Verdict) (p refusalPanel, err error) {
	l := head.License
	rows := map[bool][]refusalRow{} // by whether they apply
	days := map[string]refusalDay{}
	for _, r := range head.refusals {
		row := refusalRowOf(v, r, l, inner.Of(v.Licenses).Refused().RefusalApplies(r.Code, l, head.Seats.Full, now.Meters), strings.TrimSuffix(head.SeatsText, "."))
		if row.Times += " times"; r.Count == 1 {
			row.Times = "Once"
		}
		rows[row.Applies] = append(rows[row.Applies], row)
		for _, c := range r.Recent {
			p.Recent = append(p.Recent, newRefusedRow(c, row, l))
		}
		for _, d := range r.Days {
			day := days[d.Date]
			day.Reasons, day.Total = append(day.Reasons, kit.Pair{Name: row.Reason, Value: kit.Thousands(d.Count)}), day.Total+d.Count
			days[d.Date] = day
		}
	}
	for _, date := range slices.Backward(slices.Sorted(maps.Keys(days))) {
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return p, err
		}
		p.Days = append(p.Days, refusalDay{at.Format("2 Jan 2006"), days[date].Reasons, days[date].Total})
	}
	p.Rows, p.Apply = append(rows[true], rows[false]...), len(rows[true]) > 0
	slices.SortStableFunc(p.Recent, func(a, b refusedRow) int { return b.At.Compare(a.At) })
	return p, nil
}

// leaveOut removes the states of a license that its page has elsewhere, as reasons.
func (p *refusalPanel) leaveOut(reasons []api.Reason) {
	p.Apply = false
	for i, row := range p.Rows {
		if slices.ContainsFunc(reasons, func(r api.Reason) bool { return r.Code == row.Code }) {
			p.Rows[i].Text = strings.TrimSpace(strings.TrimPrefix(row.Text, resolutions[row.Code].state))
		} else {
			p.Apply = p.Apply || row.Applies
		}
	}
}

// showRefusals shows the refusals of a license by reason, by day and one by one.
func showRefusals(v *kit.Visit, head licenseHead) error {
	l := head.License
	now, err := v.Licenses.Explain(v.R.Context(), api.ExplainLicenseParams{ID: l.ID})
	if err != nil {
		return err
	}
	refusals, err := refusalPanelOf(v, head, now)
	if err != nil {
		return err
	}
	return v.Render(http.StatusOK, "refusals", kit.Page{Title: "Refusals of " + l.Name, Section: "licenses", Body: struct {
		licenseHead
		Refusals refusalPanel
	}{head, refusals}})
}

// A resolution says what resolves the refusals of a reason.
type resolution struct {
	state    string // what the license is while the reason applies; empty: the reason is no state
	open     string // what follows the state; both are empty for the lack of a seat
	resolved string // afterwards
	check    string // instead of resolved, if the license does not show whether it is
	actions  []refusalAction
}

var (
	renewing  = refusalAction{Label: "Renew", Path: "/renew", Dialog: true, access: kit.Supporters}
	addSeat   = editing("Add a seat", "max_activations")
	freeSeats = []refusalAction{{Label: "Remove a device", Path: "/activations"}, addSeat}
	viewSeats = refusalAction{Label: "View activations", Path: "/activations"}
)

func editing(label, field string) refusalAction {
	return refusalAction{Label: label, Path: "/edit", Field: "f-" + field, access: kit.Admins}
}

var resolutions = map[api.VerdictCode]resolution{
	api.VerdictActivationLimit: {resolved: "a seat is free now. The program can activate again."},
	api.VerdictExpired:         {state: "The license has expired.", resolved: "the license has been renewed.", actions: []refusalAction{renewing}},
	api.VerdictSuspended: {
		state: "The license is suspended.", resolved: "the license is no longer suspended.",
		actions: []refusalAction{{Label: "Reinstate", Path: "/reinstate", Dialog: true, access: kit.Supporters}},
	},
	api.VerdictRevoked:   {state: "The license was revoked.", open: "This is final. Issue a new license if the customer should have one."},
	api.VerdictScheduled: {state: "The license has not started.", resolved: "the license has started.", actions: []refusalAction{editing("Change the start", "starts_at")}},
	api.VerdictProductMismatch: {
		check:   "The program asked for another product. Correct the product ID in the program or in the license.",
		actions: []refusalAction{editing("Change the product", "product_id")},
	},
	api.VerdictCustomerMismatch: {
		check:   "The program asked for another customer. Correct the customer ID in the program or in the license.",
		actions: []refusalAction{editing("Change the customer", "customer_id")},
	},
	api.VerdictNotActivated: {check: "The program has to activate before it validates with a fingerprint.", actions: []refusalAction{viewSeats}},
	api.VerdictLeaseEnded: {
		check:   "The program had no contact for so long that its seat was freed. It can activate again.",
		actions: []refusalAction{editing("Change when a seat is freed", "lease_seconds")},
	},
	api.VerdictEvicted: {check: "Another activation took over the seat.", actions: []refusalAction{viewSeats, addSeat}},
	api.VerdictUpdatesEnded: {
		check:   "The build of the program is newer than the updates that the license includes. Older builds keep running.",
		actions: []refusalAction{renewing},
	},
	api.VerdictUsageLimit: {
		open: "A usage limit is reached. Usage shows when counting starts again.", resolved: "units are left.",
		actions: []refusalAction{editing("Raise the limit", "meters"), {Label: "Correct the usage", Field: "usage", access: kit.Admins}},
	},
	api.VerdictMeterMissing: {
		check:   "The program counts something that the license has no usage limit for.",
		actions: []refusalAction{editing("Change the usage limits", "meters")},
	},
	api.VerdictEntitlementMissing: {
		check:   "The program requires an entitlement that the license does not include.",
		actions: []refusalAction{editing("Change the entitlements", "entitlements")},
	},
}

// refusalRowOf returns the row of a reason, which still applies to a license or not.
// Seats says that no seat is free.
func refusalRowOf(v *kit.Visit, r api.Refusal, l api.License, applies bool, seats string) refusalRow {
	row := refusalRow{Code: r.Code, Reason: refusalReason(r.Code), Times: kit.Thousands(r.Count), Last: r.LastAt, Applies: applies}
	if r.Code == api.VerdictUsageLimit && len(r.Recent) > 0 && r.Recent[0].Asked != "" {
		row.Reason = "No " + r.Recent[0].Asked + " left"
	}
	how := resolutions[r.Code]
	if r.Code == api.VerdictUpdatesEnded && l.UpdatesUntil == nil {
		how = resolution{resolved: "the license includes all updates."}
	}
	switch {
	case applies && how.state+how.open == "":
		row.Text, how.actions = seats+".", freeSeats
	case applies:
		row.Text = strings.TrimSpace(how.state + " " + how.open)
	case how.resolved != "":
		row.Text, row.Resolved, how.actions = "Resolved: "+how.resolved, true, nil
	default:
		row.Text = how.check
	}
	var others []string
	for _, a := range how.actions {
		if v.May(a.access) {
			row.Actions = append(row.Actions, a)
		} else if v.May(kit.Supporters) {
			others = append(others, strings.ToLower(a.Label))
		}
	}
	if len(others) > 0 {
		row.Text += " An admin can " + strings.Join(others, " or ") + "."
	}
	return row
}
