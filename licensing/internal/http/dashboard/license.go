package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// licensePage is the body of the first page of a license.
type licensePage struct {
	licenseHead
	Meters       []meterBar
	Files        time.Time // when its license files end; zero: there are none
	Email        string    // of the customer
	Plan         string    // the name of its plan; empty: it has none, or the plan was deleted
	Entitlements []pair
	Metadata     []pair
	Purchases    []purchaseRow
	Expiry       string // what the end of the license is called
	Upcoming     []upcomingRow
	Verdict      verdictPanel
	Refusals     refusalPanel
	History      []historyEntry
	Older        bool // the license has older events
}

func showLicense(v *visit, head licenseHead) error {
	l := head.License
	files, err1 := inner.Of(v.licenses).Licenses().FilesUntil(v.r.Context(), l.ID)
	plan, err2 := v.planName(l.PlanID)
	purchases, err3 := v.purchasesOf(l.ID)
	now, err4 := v.licenses.Explain(v.r.Context(), api.ExplainLicenseParams{ID: l.ID})
	events, older, err5 := v.licenseEvents(l.ID, "", 5)
	if err := cmp.Or(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	verdict, err1 := v.verdictPanel(l, now)
	refusals, err2 := v.refusalPanel(head, now)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	refusals.leaveOut(now.Reasons)
	expiry := "Expires"
	switch {
	case slices.ContainsFunc(purchases, v.isBought):
		expiry = "Paid until"
	case len(purchases) > 0:
		expiry = "Trial until"
	}
	status := http.StatusOK
	if verdict.Form.HasErrors() {
		status = http.StatusUnprocessableEntity
	}
	body := licensePage{
		licenseHead: head, Meters: each(now.Meters, v.meterBar), Files: files, Email: l.Metadata[v.h.opts.EmailKey], Plan: plan,
		Entitlements: entitlementPairs(l.Entitlements), Metadata: pairsOf(l.Metadata, same), Purchases: purchases, Upcoming: upcomingRows(l),
		Expiry: expiry, Verdict: verdict, Refusals: refusals, History: events, Older: older != "",
	}
	return v.render(status, "license", page{Title: l.Name, Section: "licenses", Body: body})
}

// licenseEvents returns a page of the history of a license after a cursor, and
// the cursor of the next page, or "" if there is none.
func (v *visit) licenseEvents(id, after string, limit int) (list []historyEntry, next string, err error) {
	events, err := v.licenses.Events(v.r.Context(), api.ListEventsParams{Subject: id, NewestFirst: true, After: after, Limit: limit})
	if err != nil {
		return nil, "", err
	}
	names := actorNames{v: v}
	list = each(events.Data, func(e api.Event) historyEntry {
		return names.historyEntry(e.Type, e.Actor, e.Timestamp, readEventData(e))
	})
	return list, events.NextCursor, nil
}

// showActivity shows the history of a license.
func showActivity(v *visit, head licenseHead) error {
	events, next, err := v.licenseEvents(head.License.ID, v.r.URL.Query().Get("after"), 20)
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "activity", page{Title: "Activity of " + head.License.Name, Section: "licenses", Body: struct {
		licenseHead
		History []historyEntry
		pager
	}{head, events, v.pager(nil, "after", next)}})
}

// entitlementPairs lists entitlements by name.
func entitlementPairs(m map[string]any) []pair {
	return pairsOf(m, func(value any) string {
		if _, isBool := value.(bool); isBool {
			return "included"
		}
		return formatValue(value)
	})
}
