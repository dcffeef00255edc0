package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A refusalRow shows how often a license was refused for one reason, and what
// resolves it.
type refusalRow struct {
	Code     license.VerdictCode
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
	Path   string // below the page of the license
	Field  string // the id of an element of that page; may be empty
	Dialog bool   // the page is a confirmation, which opens as a dialog
	access access // what the page requires
}

// A refusedRow shows one request that was refused.
type refusedRow struct {
	Reason      refusalRow
	Action      string
	Fingerprint string
	Address     string
	At          time.Time
	Asked       asked
}

// asked says what a refused request asked for and what the license has.
type asked struct{ Asked, What, Has string }

// askedText returns what a request asked for, or the zero value if that is not
// known.
func askedText(code license.VerdictCode, text string, l license.License) asked {
	switch {
	case text == "":
	case code == license.VerdictProductMismatch:
		return asked{text, "license is", l.ProductID}
	case code == license.VerdictCustomerMismatch:
		return asked{text, "license is for", l.CustomerID}
	default:
		return asked{Asked: text}
	}
	return asked{}
}

// A refusalDay shows the refusals of one day in UTC.
type refusalDay struct {
	Date    string
	Reasons []pair // with their numbers
	Total   string
}

// refusalPanel shows why a license was refused.
type refusalPanel struct {
	Rows   []refusalRow
	Recent []refusedRow
	Days   []refusalDay // newest first
	Apply  bool         // a reason applies now
}

// refusalReasons are the codes of refusals in words.
var refusalReasons = map[license.VerdictCode]string{
	license.VerdictNotFound:           "Unknown key",
	license.VerdictRevoked:            "Revoked",
	license.VerdictSuspended:          "Suspended",
	license.VerdictExpired:            "Expired",
	license.VerdictScheduled:          "Not started",
	license.VerdictProductMismatch:    "Wrong product",
	license.VerdictCustomerMismatch:   "Wrong customer",
	license.VerdictNotActivated:       "Not activated",
	license.VerdictLeaseEnded:         "Lease expired",
	license.VerdictEvicted:            "Seat taken over",
	license.VerdictUpdatesEnded:       "Updates ended",
	license.VerdictActivationLimit:    "No seat free",
	license.VerdictEntitlementMissing: "Entitlement missing",
}

// refusalReason returns a code in words.
func refusalReason(code license.VerdictCode) string {
	if words, ok := refusalReasons[code]; ok {
		return words
	}
	return sentenceCase(strings.ReplaceAll(string(code), "_", " "))
}

// refusalPanel reads the refusals of a license. The seats are the
// seats in use now.
func (v *visit) refusalPanel(l license.License, seats seatMeter, seatsText string) (p refusalPanel, err error) {
	list, err := v.licenses.Refusals(v.r.Context(), license.RefusalsParams{ID: l.ID})
	if err != nil {
		return p, err
	}
	rows := map[bool][]refusalRow{} // by whether they apply
	type day struct {
		reasons []pair
		total   int64
	}
	days := map[string]*day{}
	for _, r := range list.Data {
		row := resolveRefusal(r.Code, l, inner.Of(v.licenses).RefusalApplies(r.Code, l, seats.Full), strings.TrimSuffix(seatsText, "."))
		row.Code, row.Reason, row.Times, row.Last = r.Code, refusalReason(r.Code), thousands(r.Count)+" times", r.LastAt
		if r.Count == 1 {
			row.Times = "Once"
		}
		row.Actions = slices.DeleteFunc(row.Actions, func(a refusalAction) bool { return !v.may(a.access) })
		rows[row.Applies] = append(rows[row.Applies], row)
		for _, c := range r.Recent {
			p.Recent = append(p.Recent, refusedRow{row, sentenceCase(c.Action), c.Fingerprint, c.Address, c.At, askedText(r.Code, c.Asked, l)})
		}
		for _, d := range r.Days {
			if days[d.Date] == nil {
				days[d.Date] = &day{}
			}
			days[d.Date].reasons = append(days[d.Date].reasons, pair{row.Reason, thousands(d.Count)})
			days[d.Date].total += d.Count
		}
	}
	for _, date := range slices.Backward(slices.Sorted(maps.Keys(days))) {
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return p, err
		}
		p.Days = append(p.Days, refusalDay{at.Format("2 Jan 2006"), days[date].reasons, thousands(days[date].total)})
	}
	p.Rows, p.Apply = append(rows[true], rows[false]...), len(rows[true]) > 0
	slices.SortStableFunc(p.Recent, func(a, b refusedRow) int { return b.At.Compare(a.At) })
	return p, nil
}

// showRefusals shows the refusals of a license by reason, by day and one by one.
func showRefusals(v *visit, head licenseHead) error {
	l := head.License
	seats, text, err := v.seatSummary(l)
	if err != nil {
		return err
	}
	refusals, err := v.refusalPanel(l, seats, text)
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "refusals", page{Title: "Refusals of " + l.Name, Section: "licenses", Body: struct {
		licenseHead
		Refusals refusalPanel
	}{head, refusals}})
}

// resolveRefusal says what resolves a reason, which still applies to a license or
// not.
func resolveRefusal(code license.VerdictCode, l license.License, applies bool, seats string) refusalRow {
	var (
		activations = refusalAction{Label: "View activations", Path: "/activations"}
		release     = refusalAction{Label: "Release an activation", Path: "/activations"}
		addSeat     = refusalAction{Label: "Add a seat", Path: "/edit", Field: "f-max_activations", access: admins}
		renew       = refusalAction{Label: "Renew", Path: "/renew", Dialog: true, access: supporters}
		reinstate   = refusalAction{Label: "Reinstate", Path: "/reinstate", Dialog: true, access: supporters}
		edit        = func(label, field string) refusalAction {
			return refusalAction{Label: label, Path: "/edit", Field: "f-" + field, access: admins}
		}
	)
	noSeat := refusalRow{Text: seats + ".", Applies: true, Actions: []refusalAction{release, addSeat}}
	resolved := func(text string) refusalRow { return refusalRow{Text: "Resolved: " + text, Resolved: true} }
	open := func(text string, actions ...refusalAction) refusalRow {
		return refusalRow{Text: text, Applies: true, Actions: actions}
	}
	check := func(text string, actions ...refusalAction) refusalRow {
		return refusalRow{Text: text, Actions: actions}
	}
	switch code {
	case license.VerdictActivationLimit:
		if applies {
			return noSeat
		}
		return resolved("a seat is free now. The program can activate again.")
	case license.VerdictExpired:
		if applies {
			return open("The license has expired.", renew)
		}
		return resolved("the license has been renewed.")
	case license.VerdictSuspended:
		if applies {
			return open("The license is suspended.", reinstate)
		}
		return resolved("the license is no longer suspended.")
	case license.VerdictRevoked:
		return open("The license was revoked, which is final. Issue a new license if the customer should have one.")
	case license.VerdictScheduled:
		if applies {
			return open("The license has not started.", edit("Change the start", "starts_at"))
		}
		return resolved("the license has started.")
	case license.VerdictProductMismatch:
		return check("The program asked for another product. Correct the product ID in the program or in the license.", edit("Change the product", "product_id"))
	case license.VerdictCustomerMismatch:
		return check("The program asked for another customer. Correct the customer ID in the program or in the license.", edit("Change the customer", "customer_id"))
	case license.VerdictNotActivated:
		if applies {
			return noSeat
		}
		return check("The program has to activate before it validates with a fingerprint.", activations)
	case license.VerdictLeaseEnded:
		if applies {
			return noSeat
		}
		return check("The program did not validate before its lease expired. It can activate again.", edit("Change the lease", "lease_seconds"))
	case license.VerdictEvicted:
		return check("Another activation took over the seat.", activations, addSeat)
	case license.VerdictUpdatesEnded:
		if l.UpdatesUntil == nil {
			return resolved("the license includes all updates.")
		}
		return check("The build of the program is newer than the updates that the license includes. Older builds keep running.", renew)
	case license.VerdictEntitlementMissing:
		return check("The program requires an entitlement that the license does not include.", edit("Change the entitlements", "entitlements"))
	}
	return refusalRow{}
}
